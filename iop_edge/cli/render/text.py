"""Text for a terminal: nothing that a config holds can move its cursor, and columns stand under each other."""

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from iop_edge.cli.style import Paint, Style

_UNLIKE_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What may stand in a text of JSON as it is, but not in one of YAML, or as something else."""


def printable(text: str) -> str:
    """Return the text on one line, with what a terminal would act on (controls, direction marks) as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return character


def value_text(value: Any) -> str:
    """Return a JSON value on one line."""
    return printable(json.dumps(value, ensure_ascii=False))


def shortened(text: str, longest: int) -> str:
    """Return the text, cut where it is longer than it may be."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def counted(count: int, thing: str) -> str:
    """Return how many things there are: `1 warning`, `2 warnings`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def json_text(value: Any) -> str:
    """Return a JSON document for programs, which people can read too; a reader of YAML finds the same in it."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _UNLIKE_IN_YAML.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def width(text: str) -> int:
    """Return the number of terminal cells that a text takes."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


NO_NUMBER: Final = "-"
"""Stands for a number that is not known."""

Cell = str | tuple[str, Paint]
"""The text of a table's cell, and how it is painted."""


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]], style: Style) -> list[str]:
    """Return the lines of a table; numbers stand to the right."""
    shown = [
        [(printable(cell), None) if isinstance(cell, str) else (printable(cell[0]), cell[1]) for cell in row]
        for row in rows
    ]
    widths = [max([width(title), *(width(row[column][0]) for row in shown)]) for column, title in enumerate(header)]
    numeric = [bool(shown) and all(_is_numeric(row[column][0]) for row in shown) for column in range(len(header))]

    def line(cells: Sequence[tuple[str, Paint | None]]) -> str:
        parts = []
        for (text, paint), wide, is_number in zip(cells, widths, numeric, strict=True):
            gap = " " * (wide - width(text))
            painted = style.paint(text, paint) if paint else text
            parts.append(gap + painted if is_number else painted + gap)
        return "  ".join(parts).rstrip()

    return [line([(title, Paint.FAINT) for title in header]), *(line(row) for row in shown)]


def _is_numeric(text: str) -> bool:
    return text.isdecimal() or text == NO_NUMBER
