"""Lines and characters of a source text, counted as libyaml counts them."""

import re
from collections.abc import Collection
from typing import Final, NamedTuple

LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


class TextPosition(NamedTuple):
    """A place in a text, from 0; columns are code points."""

    line: int
    column: int


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
