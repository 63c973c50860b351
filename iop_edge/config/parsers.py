"""The two YAML parsers, and the bytes that they are given.

The parser in C does the work; the one in Python is what there is where PyYAML was built without libyaml. Both give the
same events, and both are held to the same tables of tests; where one is laxer than the other, or than Go's yaml.v3, it
is made as strict.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final, Protocol

from yaml.events import (
    Event,
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

try:
    from yaml._yaml import CParser
except ImportError:
    CParser = None  # type: ignore[assignment, misc]

_SLASH_ESCAPE: Final = rb"\/"
_ESCAPED_SLASH: Final = re.compile(r"(?:[^\\]|\\[^/])*\\/", re.DOTALL)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class EventStream(Protocol):
    """What both parsers are to the loader."""

    def get_event(self) -> Event | None:
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

    def get_event(self) -> Event | None:
        """Return the next event.

        Raises:
            YAMLError: the text is no YAML.
        """
        try:
            event: Event | None = super().get_event()  # type: ignore[no-untyped-call]
        except (ValueError, OverflowError) as error:
            raise ScannerError(None, None, "found an escape of no character", self.get_mark()) from error
        if isinstance(event, ScalarEvent) and _SURROGATE.search(event.value):
            raise ScannerError(None, None, "found an escape of half a character", self.get_mark())
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

    def get_event(self) -> Event | None:
        """Return the next event.

        Raises:
            YAMLError: the text is no YAML.
        """
        event: Event | None = self._next()
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
