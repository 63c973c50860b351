"""Text for a terminal: nothing that a config holds can move the cursor, and the columns of tables line up."""

import json
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Final

from iop_edge.cli.console import Paint, Style


def printable(text: str) -> str:
    """Return the text on one line, with control characters and direction marks as escapes."""
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
    """Return a text of at most `longest` characters; the end of a longer one is cut."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def counted(count: int, thing: str) -> str:
    """Return a number and its noun: `1 warning`, `2 warnings`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name that is most like a name, or an empty text."""
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {printable(close[0])}?" if close else ""


def width(text: str) -> int:
    """Return the number of terminal cells that a text takes."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


NO_NUMBER: Final = "-"
"""Stands for an unknown number."""

Cell = str | tuple[str, Paint]
"""The text of a table's cell, and its colour."""


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]], style: Style) -> list[str]:
    """Return the lines of a table; columns of numbers are aligned to the right."""
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
