import pytest

from iop_edge.config.edits import Edit, edited


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([], "abcdef"),
        ([Edit(4, 5, "E"), Edit(0, 1, "A")], "AbcdEf"),
        ([Edit(1, 3, "")], "adef"),
        ([Edit(6, 6, "g"), Edit(0, 0, "_")], "_abcdefg"),
        ([Edit(1, 2, "B"), Edit(1, 2, "B")], "aBcdef"),
        ([Edit(2, 3, "C"), Edit(2, 2, "1"), Edit(2, 2, "2")], "ab12Cdef"),
        ([Edit(0, 2, "x"), Edit(2, 3, "y")], "xydef"),
        ([Edit(1, 3, "x"), Edit(2, 4, "y")], None),
        ([Edit(1, 2, "x"), Edit(1, 2, "y")], None),
    ],
)
def test_edits_are_made_by_position_unless_they_disagree(edits: list[Edit], expected: str | None) -> None:
    assert edited("abcdef", edits) == expected
