import pytest

from iop_edge.config.edits import documented
from iop_edge.schema import table

CONFIG = table.root().fields
PROVIDER = table.message("Provider").fields


def test_comment_stands_above_the_key_at_its_column() -> None:
    text = "edge: {id: e}\nnodes:\n  - providers:\n      - capacity: 1\n"
    lines = documented(text).splitlines()
    assert lines[0] == f"# {CONFIG['edge'].doc}"
    assert lines[lines.index("      - capacity: 1") - 1] == f"      # {PROVIDER['capacity'].doc}"


def test_words_of_an_enum_are_listed() -> None:
    assert "One of: debug, info, warning, error." in documented("logging:\n  level: info\n")


def test_field_is_explained_once() -> None:
    text = documented("edge:\n  id: e\nmodels:\n  - id: a\n  - id: b\n")
    assert text.count("Id that callers send") == 1


@pytest.mark.parametrize("text", ["edge: {id: e}\n# last\n", "edge: {id: e}"])
def test_what_is_written_stays(text: str) -> None:
    assert [line for line in documented(text).splitlines() if "identity of this" not in line] == text.splitlines()
