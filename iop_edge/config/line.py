"""Renders one source line: what is hidden in it, and the column of a terminal under which a caret goes."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from iop_edge.config.keys import known_keys
from iop_edge.errors import Excerpt
from iop_edge.schema.values import REDACTED

REACH: Final = 80
"""How far a line is shown to both sides of its caret."""

_TAB: Final = "    "
_ELLIPSIS: Final = "..."
_BETWEEN: Final = re.compile(r"(?P<structure>[\s?:,\[\]{}-]+)|(?P<comment>#.*)|[^\s?:,\[\]{}#-]+")
_BEGINNING: Final = re.compile(r"[\s?{\[,-]*[\"']?([A-Za-z0-9_$-]+)[\"']?\s*:")


class Token(NamedTuple):
    """A scalar's stretch of a line, in code points, and whether it may be seen."""

    start: int
    stop: int
    is_visible: bool


class _Piece(NamedTuple):
    start: int
    text: str
    is_visible: bool

    @property
    def stop(self) -> int:
        return self.start + len(self.text)


def masked(line: str, tokens: Iterable[Token], column: int) -> Excerpt:
    """Return the part of a line around a column. Between its tokens only the marks of YAML's structure are shown."""
    low, high = max(0, column - REACH), min(len(line), column + REACH)
    text = _ELLIPSIS if low else ""
    caret: int | None = None
    for piece in _pieces(line, tokens, low, high):
        if caret is None and column < piece.stop:
            caret = _width(text + _cleaned(piece.text[: column - piece.start] if piece.is_visible else ""))
        text += _cleaned(piece.text) if piece.is_visible else REDACTED
    if caret is None:
        caret = _width(text)
    return Excerpt(text.rstrip() + (_ELLIPSIS if high < len(line) else ""), caret)


def up_to_colon(line: str, column: int) -> Excerpt | None:
    """Return the beginning of a line whose scalars nobody knows, up to its first colon, if that is a known key."""
    match = _BEGINNING.match(line[:REACH])
    if match is None or match.group(1) not in known_keys():
        return None
    return Excerpt(_cleaned(match.group()), _width(_cleaned(match.group()[:column])))


def _pieces(line: str, tokens: Iterable[Token], low: int, high: int) -> Iterator[_Piece]:
    position = low
    for token in tokens:
        start, stop = max(token.start, position), min(token.stop, high)
        if stop <= start:
            continue
        yield from _between(line, position, start)
        yield _Piece(start, line[start:stop], token.is_visible)
        position = stop
    yield from _between(line, position, high)


def _between(line: str, start: int, stop: int) -> Iterator[_Piece]:
    for match in _BETWEEN.finditer(line, start, stop):
        if match.group("comment"):
            return
        yield _Piece(match.start(), match.group(), match.group("structure") is not None)


def _cleaned(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(_TAB if char == "\t" else char if char.isprintable() else "\ufffd" for char in text)


def _width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
