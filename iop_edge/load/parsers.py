"""The two YAML parsers, and the bytes that they are given.

The parser in C does the work; the one in Python is what there is where PyYAML was built without libyaml. Both give the
same events, and both are held to the same tables of tests.
"""

import codecs
import re
from collections.abc import Callable
from typing import Final, Protocol

from yaml.events import Event, ScalarEvent
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner, ScannerError
from yaml.tokens import DirectiveToken

try:
    from yaml._yaml import CParser
except ImportError:
    CParser = None  # type: ignore[assignment, misc]

BOM: Final = codecs.BOM_UTF8
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class EventStream(Protocol):
    """What both parsers are to the loader."""

    def get_event(self) -> Event | None:
        """Return the next event."""


ParserFactory = Callable[[bytes], EventStream]


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's parser in Python, where it is laxer than libyaml made as strict."""

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


C_PARSER: Final[ParserFactory | None] = CParser
PYTHON_PARSER: Final[ParserFactory] = PythonParser
DEFAULT_PARSER: Final[ParserFactory] = C_PARSER or PYTHON_PARSER
