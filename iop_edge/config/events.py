"""The YAML parsers, their events, and what aliases need of those, within bounds (CFG-10).

The parser in C does the work; the one in Python is the fallback where PyYAML was built without libyaml. Both give the
same events, and both are held to the same tables of tests; where one is laxer than the other, or than Go's yaml.v3, it
is made as strict.

An anchored node is recorded as it passes, its aliases bound at once to what they stand for there; what an alias stands
for is replayed from the recording. So no node graph is ever built, and an anchor that is defined again later changes
nothing that was read before.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner, ScannerError
from yaml.tokens import DirectiveToken

from iop_edge.config.findings import Findings, Position, StopReading, Trail, depth
from iop_edge.config.source import Limits
from iop_edge.rules import Rule

try:
    from yaml._yaml import CParser
except ImportError:
    CParser = None  # type: ignore[assignment, misc]

Event = Any
"""A parser event. They are told apart by their exact class, which costs a quarter of `isinstance`."""

# The rule of Go's yaml.v3: the part of a document's nodes that may come from aliases shrinks as the document grows.
_FREE_NODES: Final = 1_000
_FREE_ALIASED: Final = 100
_SMALL: Final = 400_000
_LARGE: Final = 4_000_000
_SMALL_PART: Final = 0.99
_LARGE_PART: Final = 0.10

# Ours: what an override hides below an alias is not read, so it does not count there, but it is passed over.
_FREE_PASSED: Final = 100_000
_PASSED_TO_READ: Final = 10

MERGE_KEY: Final = "<<"
STARTS: Final[frozenset[Any]] = frozenset({MappingStartEvent, SequenceStartEvent})
ENDS: Final[frozenset[Any]] = frozenset({MappingEndEvent, SequenceEndEvent})

_SLASH_ESCAPE: Final = rb"\/"
_ESCAPED_SLASH: Final = re.compile(r"(?:[^\\]|\\[^/])*\\/", re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class EventStream(Protocol):
    """What both parsers are to the loader."""

    def get_event(self) -> Event:
        """Return the next event."""


ParserFactory = Callable[[bytes], EventStream]


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's parser in Python, where it is laxer than libyaml or Go made as strict."""

    ESCAPE_REPLACEMENTS: ClassVar = {  # type: ignore[misc]  # declared final, and read through the instance
        escape: text for escape, text in Scanner.ESCAPE_REPLACEMENTS.items() if escape != "/"
    }

    def __init__(self, data: bytes) -> None:
        Reader.__init__(self, data)
        Scanner.__init__(self)
        Parser.__init__(self)

    def get_event(self) -> Event:
        """Return the next event.

        Raises:
            YAMLError: the text is no YAML.
        """
        try:
            event: Event = super().get_event()  # type: ignore[no-untyped-call]
        except (ValueError, OverflowError) as error:
            raise ScannerError(None, None, "found an escape that is not a character", self.get_mark()) from error
        if isinstance(event, ScalarEvent) and _SURROGATE.search(event.value):
            raise ScannerError(None, None, "found an escape of a lone surrogate", self.get_mark())
        return event

    def scan_directive(self) -> DirectiveToken:
        """Return a directive; libyaml knows none but these two.

        Raises:
            ScannerError: the directive is another one.
        """
        token = super().scan_directive()
        if token.name not in ("YAML", "TAG"):
            raise ScannerError(None, None, "found unknown directive name", token.start_mark)
        return token


class _CheckedCParser:
    """libyaml's parser, made as strict as Go's yaml.v3.

    Within { } or [ ] libyaml takes a question mark as part of a plain scalar; for Go, and for PyYAML in Python, the
    scalar ends there. And it knows the escape of a slash, which Go refuses.
    """

    def __init__(self, data: bytes) -> None:
        self._next = CParser(data).get_event
        self._escaped = data.decode() if _SLASH_ESCAPE in data else ""
        self._depth = 0

    def get_event(self) -> Event:
        """Return the next event.

        Raises:
            YAMLError: the text is no YAML.
        """
        event: Event = self._next()
        if isinstance(event, ScalarEvent):
            self._check(event)
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._depth += bool(self._depth or event.flow_style)
        elif self._depth and isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._depth -= 1
        return event

    def _check(self, scalar: Any) -> None:
        if not scalar.style:
            if self._depth and "?" in scalar.value:
                raise ScannerError(None, None, "found a question mark in unquoted text", scalar.start_mark)
        elif self._escaped and scalar.style == '"':
            written = self._escaped[scalar.start_mark.index : scalar.end_mark.index]
            if _ESCAPED_SLASH.match(written):
                raise ScannerError(None, None, "found unknown escape character", scalar.start_mark)


def _c_parser(data: bytes) -> EventStream:
    return _CheckedCParser(data) if b"?" in data or _SLASH_ESCAPE in data else CParser(data)


C_PARSER: Final[ParserFactory | None] = None if CParser is None else _c_parser
PYTHON_PARSER: Final[ParserFactory] = PythonParser
DEFAULT_PARSER: Final[ParserFactory] = C_PARSER or PYTHON_PARSER


@dataclass(slots=True)
class Recording:
    """The events of an anchored node, a stretch of what was recorded; without a `stop` as long as the node goes on."""

    events: list[Event]
    start: int
    stop: int | None = None


@dataclass(slots=True)
class BoundAlias:
    """An alias together with what it stands for; None where that is nothing, which has been reported."""

    start_mark: Position
    recording: Recording | None
    anchor: ClassVar = None
    tag: ClassVar = None


ALIASES: Final[frozenset[Any]] = frozenset({AliasEvent, BoundAlias})


class EventReader:
    """The events of one file, with its anchors.

    `next` gives the next event, be it of the file or of a recording that is being replayed.
    """

    def __init__(self, get_event: Callable[[], Event], findings: Findings, limits: Limits) -> None:
        self.next = get_event
        self._findings = findings
        self._limits = limits
        self._anchors: dict[str, Recording] = {}
        self._recorded = 0
        self._nodes = 0
        self._aliased = 0
        self._passed = 0
        self._expanding: list[Position] = []

    def skip(self, event: Event, trail: Trail) -> None:
        """Pass over the node that an event begins. Anchors in it can be used all the same."""
        base = level = depth(trail)
        passed = 0
        while True:
            passed += 1
            kind = event.__class__
            if kind is AliasEvent:
                self.bind(event, trail)
            elif kind in ENDS:
                level -= 1
            elif event.anchor is not None:
                self.record(event, trail)
            elif kind in STARTS:
                level += 1
                self._check_depth(level, event, trail)
            if level == base:
                break
            event = self.next()
        if self._expanding:
            self._count_passed(passed)

    def record(self, event: Event, trail: Trail) -> Recording:
        """Take in the whole node that an event begins, and remember it and all in it by their anchors."""
        events: list[Event] = []
        whole = Recording(events, 0)
        unfinished: list[tuple[int, Recording]] = [(depth(trail), whole)]
        level = depth(trail)
        while unfinished:
            kind = event.__class__
            if kind in ENDS:
                level -= 1
            elif kind is AliasEvent:
                event = self.bind(event, trail)
            else:
                if event.anchor is not None:
                    unfinished.append((level, self._define(event, Recording(events, len(events)))))
                if kind in STARTS:
                    level += 1
                    self._check_depth(level, event, trail)
            events.append(event)
            while unfinished and unfinished[-1][0] == level:
                unfinished.pop()[1].stop = len(events)
            if unfinished:
                event = self.next()
        self._recorded += len(events)
        return whole

    @contextmanager
    def replaying(self, recording: Recording) -> Iterator[Event]:
        """Give the first event of a recorded node; within the context the next ones are the node's too."""
        outer = self.next
        self.next = iter(recording.events[recording.start : recording.stop]).__next__
        try:
            yield self.next()
        finally:
            self.next = outer

    @contextmanager
    def expanding(self, alias: Event, trail: Trail) -> Iterator[Event | None]:
        """Give the first event of the node that an alias stands for, or None; the next ones are the node's too."""
        recording = self.bind(alias, trail).recording
        if recording is None:
            yield None
            return
        if len(self._expanding) >= self._limits.max_depth:
            message = f"aliases go more than {self._limits.max_depth} levels deep"
            raise self._findings.stop(Rule.YAML_DEPTH, trail, self._expanding[0], message)
        self._expanding.append(alias.start_mark)
        self.charge(1)
        with self.replaying(recording) as first:
            yield first
        self._expanding.pop()

    def bind(self, alias: Event, trail: Trail) -> BoundAlias:
        """Return an alias with what it stands for here; report it where that is nothing, or something around it."""
        if alias.__class__ is BoundAlias:
            bound: BoundAlias = alias
            return bound
        recording = self._anchors.get(alias.anchor)
        if recording is None:
            self._findings.add(
                Rule.YAML_ALIAS, trail, alias.start_mark, "no anchor with this name is defined before this alias"
            )
        elif recording.stop is None:
            self._findings.add(Rule.YAML_ALIAS, trail, alias.start_mark, "this alias refers to a node that contains it")
            recording = None
        return BoundAlias(alias.start_mark, recording)

    @contextmanager
    def opened(self, event: Event, trail: Trail) -> Iterator[Event | None]:
        """Give the first event of a node without its anchor, or of what it is an alias of, or None."""
        if event.__class__ in ALIASES:
            with self.expanding(event, trail) as first:
                yield first
        elif event.anchor is not None:
            with self.replaying(self.record(event, trail)) as first:
                yield first
        else:
            yield event

    def charge(self, nodes: int) -> None:
        """Count nodes that were read, and stop when too large a part of all came from aliases."""
        self._nodes += nodes
        if not self._expanding:
            return
        self._aliased += nodes
        if self._nodes <= _FREE_NODES or self._aliased <= _FREE_ALIASED:
            return
        if self._aliased > self._nodes * _allowed_part(self._nodes):
            raise self._too_much()

    def _count_passed(self, events: int) -> None:
        self._passed += events
        if self._passed > max(_FREE_PASSED, self._nodes * _PASSED_TO_READ):
            raise self._too_much()

    def _too_much(self) -> StopReading:
        return self._findings.stop(
            Rule.YAML_ALIASING,
            None,
            self._expanding[0],
            "aliases make up too large a part of this file",
            "write out some of what they refer to",
        )

    def _define(self, event: Event, recording: Recording) -> Recording:
        self._anchors[event.anchor] = recording
        event.anchor = None
        if self._recorded + len(recording.events) > self._limits.max_recorded:
            raise self._findings.stop(Rule.YAML_ALIASING, None, event.start_mark, "too much of this file is anchored")
        return recording

    def _check_depth(self, level: int, event: Event, trail: Trail) -> None:
        if level > self._limits.max_depth:
            message = f"mappings and lists nest more than {self._limits.max_depth} levels deep"
            raise self._findings.stop(Rule.YAML_DEPTH, trail, event.start_mark, message)


def _allowed_part(nodes: int) -> float:
    if nodes <= _SMALL:
        return _SMALL_PART
    if nodes >= _LARGE:
        return _LARGE_PART
    return _SMALL_PART - (_SMALL_PART - _LARGE_PART) * (nodes - _SMALL) / (_LARGE - _SMALL)
