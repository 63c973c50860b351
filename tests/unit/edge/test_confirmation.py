import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from iop_edge.client.status import Confirmed
from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.edge.edge import Edge
from iop_edge.errors import EdgeError
from iop_edge.refresh.result import Attempt, Mode, RefreshResult, Status, Trigger
from iop_edge.store.history import Applied, MemoryStore
from tests.clock import ManualClock
from tests.support import run
from tests.unit.edge.house import EAGER, House
from tests.unit.serve.test_admin import served

MINUTE = 60_000


def config(threshold: int, name: str = "one") -> Snapshot:
    """A config without Nodes: the threshold is live, the name needs a restart."""
    text = f"edge: {{id: e, name: {name}}}\nlong_context_threshold_tokens: {threshold}\n"
    return load_sources([Source("edge.yaml", text.encode())], None)


class Journal(MemoryStore):
    """A history that can be waited for, and that refuses to write as often as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals = 0
        self._loop = asyncio.get_running_loop()
        self._entries: asyncio.Queue[Attempt] = asyncio.Queue()

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        if applied is not None and self.refusals:
            self.refusals -= 1
            raise EdgeError("the disk is full")
        entry = super().record(attempt, applied)
        self._loop.call_soon_threadsafe(self._entries.put_nowait, entry)
        return entry

    async def next(self, trigger: Trigger) -> Attempt:
        """Wait for the next entry of a trigger."""
        while True:
            entry = await self._entries.get()
            if entry.trigger is trigger:
                return entry


class World:
    """An Edge with a clock and a history of the test's."""

    def __init__(self, edge: Edge, clock: ManualClock, journal: Journal) -> None:
        self.edge, self.clock, self.journal = edge, clock, journal

    async def apply(self, threshold: int, within: int = MINUTE) -> RefreshResult:
        return await self.edge.refresh(config(threshold), confirm_within_ms=within)

    @property
    def threshold(self) -> int:
        return int(self.edge.snapshot.tree["long_context_threshold_tokens"])

    async def awaited(self) -> tuple[bool, int]:
        """Whether something has to be confirmed, and the revision that comes back otherwise."""
        status = await self.edge.status()
        return status.confirm_until_ms > status.started_at_ms, status.reverts_to


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    clock, journal, before = ManualClock(), Journal(), asyncio.all_tasks()
    first = config(1)
    async with Edge.start(first, store=journal, settings=EAGER, clock=clock) as edge:
        yield World(edge, clock, journal)
    assert asyncio.all_tasks() == before


def test_what_nobody_confirms_is_reverted_as_a_revision_of_its_own() -> None:
    async def scenario() -> None:
        async with world() as here:
            assert (await here.apply(2)).revision_after == 2
            assert await here.awaited() == (True, 1)
            assert await here.clock.end_next_sleep() == 60
            entry = await here.journal.next(Trigger.REVERT)
            assert (entry.status, entry.revision_after, entry.actor) == (Status.APPLIED, 3, "revert")
            await here.edge.reload()  # its turn comes when the revert has ended
            assert (here.threshold, await here.awaited()) == (1, (False, 0))
            assert not await here.edge.confirm()

    run(scenario())


def test_what_is_confirmed_stays_and_may_be_confirmed_again() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
            _, over = await here.clock.next_sleep()
            assert not await here.edge.confirm(1), "another revision than the expected one is not confirmed"
            assert await here.edge.confirm(2)
            assert await here.edge.confirm()
            assert await here.awaited() == (False, 0)
            assert (here.threshold, here.edge.revision) == (2, 2)
            assert over.cancelled()

    run(scenario())


def test_nothing_that_waits_is_nothing_confirmed() -> None:
    async def scenario() -> None:
        async with world() as here:
            assert not await here.edge.confirm()
            await here.apply(2, within=0)
            assert not await here.edge.confirm()
            await here.edge.refresh(config(3), Mode.DRY_RUN, confirm_within_ms=MINUTE)
            await here.apply(2)
            assert await here.awaited() == (False, 0), "an apply that changes nothing has nothing to go back from"

    run(scenario())


@pytest.mark.parametrize(("second", "revision"), [(2, 2), (3, 3)], ids=["the same config", "another config"])
def test_asked_twice_the_wait_begins_anew_and_goes_back_to_what_was_confirmed_last(second: int, revision: int) -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
            _, first = await here.clock.next_sleep()
            await here.apply(second, within=2 * MINUTE)
            assert (here.edge.revision, await here.awaited()) == (revision, (True, 1))
            assert await here.clock.end_next_sleep() == 120
            await here.journal.next(Trigger.REVERT)
            await here.edge.reload()
            assert (first.cancelled(), here.threshold, here.edge.revision) == (True, 1, revision + 1)

    run(scenario())


def test_an_apply_that_wants_no_confirmation_ends_the_wait() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
            _, over = await here.clock.next_sleep()
            await here.apply(3, within=0)
            assert await here.awaited() == (False, 0)
            await asyncio.wait([over])
            assert (over.cancelled(), here.threshold) == (True, 3)

    run(scenario())


def test_a_way_back_to_what_runs_already_ends_the_wait() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
            await here.apply(1)
            await here.clock.end_next_sleep()
            entry = await here.journal.next(Trigger.REVERT)
            await here.edge.reload()
            assert (entry.committed, here.edge.revision, await here.awaited()) == (False, 3, (False, 0))

    run(scenario())


def test_a_rejected_apply_leaves_the_wait_as_it_is() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
            here.journal.refusals = 1
            assert (await here.apply(3)).status is Status.REJECTED
            restart = await here.edge.refresh(config(2, "two"), confirm_within_ms=MINUTE)
            assert restart.status is Status.RESTART_REQUIRED
            assert await here.awaited() == (True, 1)
            await here.clock.end_next_sleep()
            await here.journal.next(Trigger.REVERT)

    run(scenario())


def test_a_revert_that_is_rejected_is_tried_again() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
            here.journal.refusals = 1
            await here.clock.end_next_sleep()
            assert (await here.journal.next(Trigger.REVERT)).status is Status.REJECTED
            assert await here.clock.end_next_sleep() == 60
            assert (await here.journal.next(Trigger.REVERT)).status is Status.APPLIED
            await here.edge.reload()
            assert here.threshold == 1

    run(scenario())


def test_a_confirmation_that_comes_before_the_turn_of_the_revert_wins() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
            _, over = await here.clock.next_sleep()
            over.set_result(None)
            assert await here.edge.confirm(2)
            await here.edge.reload()
            assert (here.threshold, here.edge.revision) == (2, 2)

    run(scenario())


def test_an_edge_that_stops_while_it_waits_reverts_nothing() -> None:
    async def scenario() -> None:
        async with world() as here:
            await here.apply(2)
        newest = here.journal.newest()
        assert newest is not None
        assert newest.revision == 2

    run(scenario())


def test_a_client_confirms(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with served(house) as client:
            assert await client.confirm() == Confirmed(1, confirmed=False)

    run(scenario())
