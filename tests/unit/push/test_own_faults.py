"""Faults of the Edge's own in a session with a Node."""

import pytest

from iop_edge.ids import NodeId
from iop_edge.refresh.result import NodeOutcome
from tests.support import run
from tests.unit.push.world import Sleeper, all_desired, fleet, patient, station

A = NodeId("a")


@pytest.mark.contract("PSH-04")
@pytest.mark.contract("CFG-08")
def test_a_fault_of_our_own_is_shown_without_its_text_and_ends_no_refresh() -> None:
    token = "s3cr3tö"  # no metadata can carry it

    async def main() -> None:
        async with station() as a:
            target, pace = a.target(token=token), patient(Sleeper())
            async with fleet(target, wanted=all_desired(1, "a"), pace=pace) as (edge, _):
                await edge.settled()
                reports = await edge.check(all_desired(2, "a"))
                assert reports[A].outcome is NodeOutcome.UNREACHABLE
                assert "s3cr3t" not in f"{reports}{edge.states()}"
                assert edge.states()[A].last_error == "an internal fault of the Edge ended the session (ValueError)"

    run(main())
