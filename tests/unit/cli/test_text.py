import pytest

from iop_edge.cli.console import PLAIN, Paint, Style
from iop_edge.cli.render.text import counted, printable, table, value_text, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("서울 café", "서울 café"),
        ("red \x1b[31m", "red \\x1b[31m"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("turned \u202e round", "turned \\u202e round"),
        ("line\u2028break", "line\\u2028break"),
        ("bad byte \udcff", "bad byte \\udcff"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
    ],
)
def test_nothing_printable_can_move_the_cursor(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(4, "4"), ("4", '"4"'), (True, "true"), (["a", 1], '["a", 1]'), ({"k": "é"}, '{"k": "é"}'), ("\x9b", '"\\x9b"')],
)
def test_value_is_shown_as_json_on_one_line(value: object, shown: str) -> None:
    assert value_text(value) == shown


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("서울", 4), ("e\u0301", 1), ("", 0)])
def test_width_counts_cells_of_the_terminal(text: str, cells: int) -> None:
    assert width(text) == cells


@pytest.mark.parametrize(("count", "shown"), [(0, "0 things"), (1, "1 thing"), (2, "2 things")])
def test_number_and_noun_agree(count: int, shown: str) -> None:
    assert counted(count, "thing") == shown


def test_table_aligns_text_left_and_numbers_right_under_wide_characters() -> None:
    lines = table(("NAME", "N", "LAST"), [("서울", "7", "a"), ("b", "1024", "")], PLAIN)
    assert lines == ["NAME     N  LAST", "서울     7  a", "b     1024"]


def test_table_pads_outside_of_the_paint() -> None:
    lines = table(("STATE", "X"), [(("up", Paint.GOOD), "y")], Style(coloured=True))
    assert lines[1] == "\x1b[32mup\x1b[0m     y"


def test_table_without_rows_has_its_header() -> None:
    assert table(("NODE", "STATE"), [], PLAIN) == ["NODE  STATE"]
