"""Colour, where it is wanted."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple, TextIO


class Paint(Enum):
    """What a piece of text means; the value is its ANSI code."""

    GOOD = "32"
    BAD = "1;31"
    CAUTION = "33"
    PLACE = "1"
    FAINT = "2"


class Style(NamedTuple):
    """Paints text, or leaves it as it is."""

    coloured: bool

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str]) -> "Style":
        """Return the style for a stream: coloured only on a terminal, and never where `NO_COLOR` is set."""
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        return cls(stream.isatty() and not plain)

    def paint(self, text: str, paint: Paint) -> str:
        """Return the text as it is written to the terminal."""
        return f"\x1b[{paint.value}m{text}\x1b[0m" if self.coloured and text else text


PLAIN = Style(coloured=False)
