"""What a report may show of a file: its source lines, masked, and the keys in its findings (CFG-04, CFG-08).

A scalar is shown only if the schema vouches for it: some field reads it, and none that may hold a secret. All other
scalars stay hidden, and so do comments, tags and anchors.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from iop_edge.config.events import MERGE_KEY
from iop_edge.config.findings import Finding
from iop_edge.config.mappings import is_ignored, is_one_word, known_keys, may_hold_value, names_secret
from iop_edge.config.nodes import ALIAS, ANCHORED, KEY, MAPPING, SCALAR, SEQUENCE, TAGGED, Document
from iop_edge.config.roles import Roles
from iop_edge.errors import Excerpt, Span
from iop_edge.rules import Rule
from iop_edge.schema.redact import is_misplaced, is_secret, reveals
from iop_edge.schema.references import holds_reference
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import REDACTED

REACH: Final = 80
"""How far a line is shown to both sides of its caret."""

_TAB: Final = "    "
_ELLIPSIS: Final = "..."
_BETWEEN: Final = re.compile(r"(?P<structure>[\s?:,\[\]{}-]+)|(?P<comment>#.*)|[^\s?:,\[\]{}#-]+")
_BEGINNING: Final = re.compile(r"[\s?{\[,-]*[\"']?([A-Za-z0-9_$-]+)[\"']?\s*:")

_NAMES_KEY: Final = frozenset({Rule.FIELD_UNKNOWN, Rule.YAML_DUPLICATE_KEY})
"""The rules whose findings name a key that the schema does not know."""

_LEFT_OVER: Final = "there is no such field here; it may be left over from the secret before it, and is not shown"
_NO_VALUE: Final = "there is no such field here, and it has no value"


class Disclosure:
    """Decides what may be shown of one file."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._roles = Roles(document)
        self._spill = SecretSpill(document, self._roles)

    def findings(self, findings: Collection[Finding]) -> list[Finding]:
        """Return findings with those keys withheld that may be parts of a secret."""
        hidden: dict[Finding, str] = {}
        for finding in findings:
            message = self._hidden_key(finding) if finding.rule in _NAMES_KEY else ""
            if message:
                hidden[finding] = message
        paths = {finding.path for finding in hidden}
        return [
            finding._replace(
                rule=Rule.FIELD_UNKNOWN if finding in hidden else finding.rule,
                path=finding.path.parent or finding.path if finding.path in paths else finding.path,
                message=hidden.get(finding, finding.message),
            )
            for finding in findings
        ]

    def _hidden_key(self, finding: Finding) -> str:
        """Return what to say instead where the key of a finding must not be named, else an empty text."""
        key = self._document.key_at(finding.line - 1, finding.column - 1)
        if key is not None and not self._spill.holds(key):
            return ""
        return _LEFT_OVER if key is None or self._spill.is_behind_secret(key) else _NO_VALUE

    def excerpts(self, spans: Iterable[Span]) -> dict[Span, Excerpt]:
        """Return the masked source lines of spans; spans of lines of which nothing may be shown are left out."""
        shown: dict[Span, Excerpt | None] = {}
        for number, wanted in groupby(sorted(spans), lambda span: span.line - 1):
            if 0 <= number < len(self._document.lines):
                shown |= self._excerpts_of_line(number, wanted)
        return {span: excerpt for span, excerpt in shown.items() if excerpt is not None}

    def _excerpts_of_line(self, number: int, spans: Iterable[Span]) -> dict[Span, Excerpt | None]:
        """Return the excerpts of one line, which may be a whole file: it is cut out once."""
        document = self._document
        start = document.lines[number]
        line = document.text[start : document.line_stop(start)]
        if document.read_to is not None and number >= document.line(document.read_to):
            return {span: _up_to_colon(line, span.column - 1) for span in spans}
        near = ((span, self._tokens(start, len(line), span.column - 1)) for span in spans)
        return {span: _masked(line, tokens, span.column - 1) for span, tokens in near}

    def _tokens(self, line: int, length: int, column: int) -> "Iterator[_Token]":
        """Yield the scalars and aliases of a line near a column, by the offset and the length of the line."""
        document = self._document
        starts, stops = document.starts, document.stops
        number = bisect_left(starts, line + max(0, column - REACH))
        # One that reaches into the part may be the last one that begins before it.
        while number and not document.has(number - 1, SCALAR | ALIAS):
            number -= 1
        number = max(0, number - 1)
        stop = line + min(length, column + REACH)
        while number < len(starts) and starts[number] < stop:
            if document.has(number, SCALAR | ALIAS) and stops[number] > line:
                start = max(0, starts[number] - line)
                yield _Token(start, min(length, stops[number] - line), is_visible=self._is_visible(number))
            number += 1

    def _is_visible(self, number: int) -> bool:
        document, value = self._document, self._document.values[number]
        if document.has(number, ALIAS):
            target = document.anchors.get(number)
            return target is not None and document.has(target, MAPPING | SEQUENCE)
        is_bare = not document.has(number, ANCHORED | TAGGED)
        if document.is_null(number):
            return is_bare
        reads = self._roles.reads(number)
        if any(
            field.masked or is_secret(field, value, map_key) or is_misplaced(field, value) for field, map_key in reads
        ):
            return False
        if is_bare and (value == MERGE_KEY or value in known_keys()):
            return True
        if not document.has(number, KEY):
            return bool(reads)
        is_read = not document.has(number, TAGGED) and self._roles.take_keys(document.parents[number])
        return is_read and is_one_word(value) and not self._spill.holds(number)


class SecretSpill:
    """Tells which unknown keys may be secrets that have spilled over.

    A secret of several lines that is quoted or indented wrongly ends early, and the rest of it may read as keys. An
    unknown key is taken for that where no other key has come since the secret, or where it has no value.
    """

    def __init__(self, document: Document, roles: Roles) -> None:
        self._document = document
        self._roles = roles
        self._behind: dict[int, bool] = {}

    def holds(self, key: int) -> bool:
        """Tell whether a key may be a part of a secret, so that it must not be shown."""
        document, name = self._document, self._document.values[key]
        unknown = self._unknown_to(key)
        if not unknown or (not document.parents[key] and is_ignored(name)):
            return False
        value = document.value_of(key)
        has_nothing = value is not None and document.is_null(value) and not document.values[value]
        return (has_nothing or self.is_behind_secret(key)) and any(may_hold_value(each, name) for each in unknown)

    def is_behind_secret(self, key: int) -> bool:
        """Tell whether no key has come between a secret and a key."""
        passed: list[int] = []
        behind: bool | None = None
        number: int | None = key
        while behind is None and number is not None:
            behind = self._behind.get(number)
            if behind is None:
                passed.append(number)
                number = self._key_before(number)
                behind = False if number is None else self._is_secret(number)
        self._behind.update(dict.fromkeys(passed, bool(behind)))
        return bool(behind)

    def _is_secret(self, key: int) -> bool | None:
        """Tell whether the value of a key is a secret; None for an unknown key, which may be part of one."""
        name = self._document.values[key]
        messages = self._roles.messages(self._document.parents[key])
        fields = [message.keys[name] for message in messages if name in message.keys]
        value = self._document.value_of(key)
        if fields:
            return any(self._tells(field, value) for field in fields)
        is_text = value is not None and self._document.has(value, SCALAR)
        is_raw = is_text and value is not None and not holds_reference(self._document.values[value])
        if is_raw and any(names_secret(message, name) for message in messages):
            return True
        return None if messages else False

    def _key_before(self, key: int) -> int | None:
        """Return the key before a key in the order of the text, keys of maps and of unread values left aside."""
        document = self._document
        for number in range(key - 1, 0, -1):
            is_name = document.has(number, KEY) and document.has(number, SCALAR) and not document.is_merge_key(number)
            if is_name and self._roles.name_fields(document.parents[number]):
                return number
        return None

    def _unknown_to(self, key: int) -> list[Message]:
        name = self._document.values[key]
        messages = self._roles.messages(self._document.parents[key])
        return [message for message in messages if name not in message.keys and name not in message.legacy]

    def _tells(self, field: Field, number: int | None, map_key: str = "") -> bool:
        """Tell whether a value is a secret, or holds one; one that is not read, or stands in another line, may be."""
        document = self._document
        number = None if number is None else document.target(number)
        if number is None or document.is_null(number):
            return field.sensitive or field.masked
        if document.has(number, SCALAR):
            text = document.values[number]
            return field.masked or (reveals if holds_reference(text) else is_secret)(field, text, map_key)
        if field.kind is not Kind.MAP or not document.has(number, MAPPING):
            return field.sensitive or field.masked
        return any(self._tells(field, value, document.values[key]) for key, value in document.pairs(number))


class _Token(NamedTuple):
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


def _masked(line: str, tokens: Iterable[_Token], column: int) -> Excerpt | None:
    """Return the part of a line around a column, unless nothing is left of it, as of a comment.

    Between its tokens only the marks of YAML's structure are shown.
    """
    low, high = max(0, column - REACH), min(len(line), column + REACH)
    text = _ELLIPSIS if low else ""
    caret: int | None = None
    for piece in _pieces(line, tokens, low, high):
        if caret is None and column < piece.stop:
            caret = _width(text + _cleaned(piece.text[: column - piece.start] if piece.is_visible else ""))
        text += _cleaned(piece.text) if piece.is_visible else REDACTED
    if caret is None:
        caret = _width(text)
    text = text.rstrip() + (_ELLIPSIS if high < len(line) else "")
    return Excerpt(text, caret) if text else None


def _up_to_colon(line: str, column: int) -> Excerpt | None:
    """Return the beginning of a line whose scalars nobody knows, up to its first colon, if that is a known key."""
    match = _BEGINNING.match(line[:REACH])
    if match is None or match.group(1) not in known_keys():
        return None
    return Excerpt(_cleaned(match.group()), _width(_cleaned(match.group()[:column])))


def _pieces(line: str, tokens: Iterable[_Token], low: int, high: int) -> Iterator[_Piece]:
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
