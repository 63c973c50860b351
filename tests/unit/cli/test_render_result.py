import pytest

from iop_edge.cli.console import PLAIN
from iop_edge.cli.render.result import change_lines
from iop_edge.refresh.result import Change, ChangeKind
from iop_edge.schema.table import RefreshClass


@pytest.mark.case("R13")
def test_a_reference_to_another_value_now_is_not_shown_as_a_change_from_itself_to_itself() -> None:
    reference = "${file:auth.txt}"
    path = "nodes[n].adapters[v].headers[Authorization]"
    change = Change(path, ChangeKind.MODIFIED, reference, reference, RefreshClass.RESTART)
    (line,) = change_lines([change], PLAIN)
    assert line.endswith(f'{path}: "{reference}", whose value has changed')
