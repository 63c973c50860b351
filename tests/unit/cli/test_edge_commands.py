import argparse
import io
from unittest.mock import create_autospec

import pytest

from iop_edge.cli.commands.edge import duration_ms, refreshed
from iop_edge.cli.console import Console
from iop_edge.client.admin import AdminClient
from iop_edge.client.status import StatusSnapshot
from iop_edge.ids import EdgeId
from iop_edge.refresh.result import Mode, RefreshResult, Status
from tests.support import run

RESULT = RefreshResult(Status.APPLIED, Mode.APPLY, committed=True, revision_after=4)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("1ms", 1), ("90s", 90_000), ("5m", 300_000), ("168h", 604_800_000), ("007s", 7000)],
)
def test_duration_is_read_in_milliseconds(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "5", "s", "0s", "-1s", "1.5s", "1 s", "5d", "1sm", "169h", "٣s", "9" * 5000 + "s"]
)
def test_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        duration_ms(text)


def test_how_to_confirm_is_said_before_providers_are_waited_for() -> None:
    err = io.StringIO()
    said: list[str] = []

    async def status() -> StatusSnapshot:
        said.append(err.getvalue())
        return StatusSnapshot(EdgeId("e"), 4, "ab", 0, False, "", (), (), ())

    async def result() -> RefreshResult:
        return RESULT

    client = create_autospec(AdminClient, instance=True)
    client.status = status
    arguments = argparse.Namespace(wait_drained=60_000, confirm_within=60_000)
    assert run(refreshed(client, result(), arguments, Console(io.StringIO(), io.StringIO(), err, {}))) == RESULT
    assert said == ["keep it with: iop-edge config confirm 4\n"]
