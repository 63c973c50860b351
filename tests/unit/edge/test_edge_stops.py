"""How an Edge ends."""

import asyncio
import threading
from contextlib import AsyncExitStack

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.ids import ModelId
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.refresh.result import Mode, RefreshResult
from tests.support import run
from tests.unit.edge.house import House, candidate, started


@pytest.mark.contract("POL-02")
def test_an_edge_that_stops_refuses_who_waits_for_a_provider(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.nodes("a"), AsyncExitStack() as held:
            async with started(house) as edge:
                await held.enter_async_context(edge.pool.acquire(ModelId("m")))

                async def wait() -> None:
                    async with edge.pool.acquire(ModelId("m")):
                        raise AssertionError("there is one place alone")

                waiting = asyncio.create_task(wait())
                while not (await edge.status()).providers[0].queued:
                    assert not waiting.done()
            with pytest.raises(NoProviderError) as caught:
                await waiting
            assert caught.value.reason is RefusalReason.CLOSED

    run(scenario())


@pytest.mark.case("A13")
def test_an_edge_that_has_stopped_leaves_no_task(house: House) -> None:
    house.write("a", "b")

    async def scenario() -> None:
        async with house.nodes("a"):
            before = asyncio.all_tasks()
            async with started(house) as edge:
                await edge.refresh(candidate(house, "a", "b", concurrency=2))
            served = {task for task in asyncio.all_tasks() - before if not task.done()}
            own = [task for task in served if "node" in task.get_name() or "edge" in repr(task.get_coro())]
            assert own == []

    run(scenario())


@pytest.mark.case("A13")
def test_an_edge_whose_stop_is_cancelled_leaves_no_task(house: House) -> None:
    house.write("a")
    go_on = threading.Event()

    async def scenario() -> None:
        before, loop = asyncio.all_tasks(), asyncio.get_running_loop()
        begun, leaving = asyncio.Event(), asyncio.Event()

        def load() -> Snapshot:
            loop.call_soon_threadsafe(begun.set)
            go_on.wait()
            return house.files.load()

        async def live() -> None:
            async with started(house) as edge:
                asked.append(asyncio.create_task(edge.refresh(load, Mode.DRY_RUN)))
                await begun.wait()
                leaving.set()

        asked: list[asyncio.Task[RefreshResult]] = []
        life = asyncio.create_task(live())
        await leaving.wait()
        life.cancel()
        try:
            results = await asyncio.gather(life, *asked, return_exceptions=True)
        finally:
            go_on.set()
        assert [type(result) for result in results] == [asyncio.CancelledError] * 2
        assert asyncio.all_tasks() == before

    run(scenario())
