"""Source lines as a report may show them (CFG-04, CFG-08).

Nothing of a line is shown unless somebody vouches for it: the decoder, which knows the field that a scalar was read
for. What it passed over stays hidden, and so do comments, tags and anchors.
"""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

from yaml.events import AliasEvent, ScalarEvent, StreamEndEvent

from iop_edge.config.decode import Decoder, read_document
from iop_edge.config.events import STARTS, Event, EventReader
from iop_edge.config.findings import Findings, Position, Trail
from iop_edge.config.keys import is_one_word, known_keys
from iop_edge.config.line import REACH, Token, masked, up_to_colon
from iop_edge.config.mappings import MERGE_KEY, Seen
from iop_edge.config.parsers import DEFAULT_PARSER
from iop_edge.config.plans import Slot, unhurried_plan_of
from iop_edge.config.scalars import is_null
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.config.texts import TextPosition, lines_of, without_bom
from iop_edge.errors import Excerpt, Span
from iop_edge.schema.redact import is_secret


def excerpts(source: Source, spans: Collection[Span], limits: Limits = DEFAULT_LIMITS) -> dict[Span, Excerpt]:
    """Return the masked source lines of spans of one file; a span whose line is better not shown is left out."""
    if len(source.data) > limits.max_bytes:
        return {}
    notes = _Notes(spans)
    read_document(source, Findings(), limits, DEFAULT_PARSER, partial(_Watcher, notes=notes))
    lines = lines_of(without_bom(source.data).decode(errors="replace"), notes.lines)
    shown = {span: _excerpt(span, lines[span.line - 1], notes) for span in spans if span.line - 1 in lines}
    return {span: excerpt for span, excerpt in shown.items() if excerpt is not None}


class _Stretch(NamedTuple):
    """A scalar or alias of the file: where it begins and ends."""

    start: TextPosition
    stop: TextPosition
    is_plain_sight: bool

    def on(self, line: int, length: int) -> tuple[int, int]:
        """Return the columns that it takes up on one of its lines."""
        return (
            self.start.column if line == self.start.line else 0,
            self.stop.column if line == self.stop.line else length,
        )


class _Line:
    """What was seen of a wanted line: the scalars near the wanted columns, in their order."""

    __slots__ = ("columns", "starts", "stretches")

    def __init__(self, columns: list[int]) -> None:
        self.columns = columns
        self.starts: list[int] = []
        self.stretches: list[_Stretch] = []

    def wants(self, start: int, stop: int) -> bool:
        """Tell whether a scalar between these columns is near a wanted one."""
        nearest = bisect_left(self.columns, start - REACH)
        return nearest < len(self.columns) and self.columns[nearest] <= stop + REACH

    def near(self, column: int) -> list[_Stretch]:
        """Return the scalars near a column. One that ends there may be the last one that begins before."""
        first = max(0, bisect_left(self.starts, column - REACH) - 1)
        return self.stretches[first : bisect_right(self.starts, column + REACH)]


class _Notes:
    """What was seen of the wanted lines."""

    def __init__(self, spans: Collection[Span]) -> None:
        columns: dict[int, list[int]] = {}
        for span in sorted(spans):
            if span.line:
                columns.setdefault(span.line - 1, []).append(span.column - 1)
        self.lines = {line: _Line(wanted) for line, wanted in columns.items()}
        self.noted: set[TextPosition] = set()
        self.begun: set[int] = set()
        """The lines on which something begins that was noted."""
        self.vouched: set[TextPosition] = set()
        self.secret: set[TextPosition] = set()
        self.read_to = 0
        self._numbers = sorted(columns)

    def add(self, stretch: _Stretch) -> None:
        """Note a scalar, if it stands on a wanted line near a wanted column."""
        first = bisect_left(self._numbers, stretch.start.line)
        last = bisect_right(self._numbers, stretch.stop.line, first)
        for number in self._numbers[first:last]:
            line = self.lines[number]
            start, stop = stretch.on(number, line.columns[-1] + REACH)
            if line.wants(start, stop):
                line.starts.append(start)
                line.stretches.append(stretch)
                self.noted.add(stretch.start)
                self.begun.add(stretch.start.line)

    def tokens(self, number: int, column: int, length: int) -> Iterator[Token]:
        """Yield what was noted on a line near a column."""
        for stretch in self.lines[number].near(column):
            place = stretch.start
            is_vouched = stretch.is_plain_sight or place in self.vouched
            yield Token(*stretch.on(number, length), is_visible=is_vouched and place not in self.secret)


class _Watcher(Decoder):
    """Notes, while it decodes, which scalars of the wanted lines may be seen."""

    plan_of = staticmethod(unhurried_plan_of)

    def __init__(self, source: Source, events: EventReader, findings: Findings, *, notes: _Notes) -> None:
        super().__init__(source, events, findings)
        self._notes = notes
        self._anchors: set[str] = set()
        self._read = events.next
        events.next = self._next

    def keys_of(self, trail: Trail, seen: Seen) -> None:  # noqa: ARG002 - a hook
        for key in seen.values():
            self._vouch_for_key(key)

    def refuse_duplicate(self, first: Event, key: Event, trail: Trail) -> None:
        self._vouch_for_key(key)
        super().refuse_duplicate(first, key, trail)

    def scalar_value(self, event: Event, slot: Slot, trail: Trail, *, plain: bool) -> Any:
        if event.start_mark.line in self._notes.begun:
            map_key = str(trail[1]) if trail is not None and trail[2] else ""
            if slot.field.masked or is_secret(slot.field, event.value, map_key):
                self._notes.secret.update({_place(event.start_mark)} & self._notes.noted)
            else:
                self._vouch(event)
        return super().scalar_value(event, slot, trail, plain=plain)

    def _vouch_for_key(self, key: Event) -> None:
        if key.start_mark.line in self._notes.begun and is_one_word(key.value):
            self._vouch(key)

    def _vouch(self, event: Event) -> None:
        place = _place(event.start_mark)
        if place in self._notes.noted:
            self._notes.vouched.add(place)

    def _next(self) -> Event:
        event = self._read()
        kind = event.__class__
        if kind is ScalarEvent:
            if self._is_wanted(event):
                self._note(event, is_plain_sight=_is_word_of_ours(event))
        elif kind is AliasEvent:
            if self._is_wanted(event):
                self._note(event, is_plain_sight=event.anchor in self._anchors)
        elif kind in STARTS and event.anchor is not None:
            self._anchors.add(event.anchor)
        self._notes.read_to = sys.maxsize if kind is StreamEndEvent else event.end_mark.line
        return event

    def _is_wanted(self, event: Event) -> bool:
        """Tell whether an event may stand on a wanted line: most stand on one line, and few lines are wanted."""
        line = event.start_mark.line
        return line in self._notes.lines or line != event.end_mark.line

    def _note(self, event: Event, *, is_plain_sight: bool) -> None:
        self._notes.add(_Stretch(_place(event.start_mark), _place(event.end_mark), is_plain_sight))


def _place(mark: Position) -> TextPosition:
    return TextPosition(mark.line, mark.column)


def _is_word_of_ours(event: Event) -> bool:
    if event.anchor is not None or event.tag is not None:
        return False
    return event.value == MERGE_KEY or event.value in known_keys() or is_null(event.value, event.style)


def _excerpt(span: Span, line: str, notes: _Notes) -> Excerpt | None:
    if span.line - 1 >= notes.read_to:
        return up_to_colon(line, span.column - 1)
    return masked(line, notes.tokens(span.line - 1, span.column - 1, len(line)), span.column - 1)
