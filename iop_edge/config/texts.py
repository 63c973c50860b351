"""Lines and characters of a source text, counted as libyaml counts them."""

import codecs
import re
from collections.abc import Collection
from functools import cache
from typing import Final, NamedTuple

BOM: Final = codecs.BOM_UTF8
_PRINTABLE_ASCII: Final = bytes((0x09, 0x0A, 0x0D, *range(0x20, 0x7F)))
LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


class TextPosition(NamedTuple):
    """A place in a text, from 0; columns are code points."""

    line: int
    column: int


def without_bom(data: bytes) -> bytes:
    """Return the bytes without the byte order mark that they may begin with."""
    return data.removeprefix(BOM)


def is_printable_ascii(data: bytes) -> bool:
    """Tell whether bytes are ASCII text that YAML allows, as nearly all configs are, at the cost of one quick scan."""
    return not data.translate(None, _PRINTABLE_ASCII)


def forbidden_in(text: str) -> re.Match[str] | None:
    """Return the first character that YAML does not allow, if there is one."""
    return _forbidden().search(text)


@cache
def _forbidden() -> re.Pattern[str]:
    """What YAML does not call printable, and the byte order mark: libyaml takes one at the start only.

    Compiled when there is a text that may hold one, since that takes long.
    """
    return re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def position_of(text: str, index: int) -> TextPosition:
    """Return where the character with this index stands."""
    line, start = 0, 0
    for match in LINE_BREAK.finditer(text, 0, index):
        line, start = line + 1, match.end()
    return TextPosition(line, index - start)


def lines_of(text: str, wanted: Collection[int]) -> dict[int, str]:
    """Return the lines with these numbers, from 0, without their breaks; what the text does not have is left out."""
    lines: dict[int, str] = {}
    last = max(wanted, default=-1)
    line, start = 0, 0
    for match in LINE_BREAK.finditer(text):
        if line in wanted:
            lines[line] = text[start : match.start()]
        line, start = line + 1, match.end()
        if line > last:
            return lines
    if line in wanted:
        lines[line] = text[start:]
    return lines
