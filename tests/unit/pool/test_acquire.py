"""Waiting in an asyncio program: what a caller sees."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from iop_edge.ids import NodeId, ProviderId, RouteId, RouteKey
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.pool import ProviderPool
from tests.clock import ManualClock
from tests.unit.pool.configs import catalogue, provider


def pool_of(**fields: int) -> ProviderPool:
    pool = ProviderPool(catalogue([{**provider("a"), **fields}], {"m": ["a"]}))
    pool.set_node_reachable(NodeId("n1"), reachable=True)
    return pool


def in_flight(pool: ProviderPool) -> int:
    return pool.statuses()[0].in_flight


def queued(pool: ProviderPool) -> int:
    return pool.statuses()[0].queued


async def turns_of_the_loop(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await test()

    asyncio.run(main())


@pytest.mark.contract("POL-02")
@pytest.mark.case("A5")
def test_a_burst_is_served_in_order_and_never_over_capacity() -> None:
    async def test() -> None:
        pool, order, most = pool_of(capacity=3), [], 0

        async def request(number: int) -> None:
            nonlocal most
            async with pool.acquire("m"):
                most = max(most, in_flight(pool))
                order.append(number)
                await asyncio.sleep(0)

        await asyncio.gather(*map(request, range(50)))
        assert order == list(range(50))
        assert most == 3
        assert in_flight(pool) == 0

    run(test)


@pytest.mark.contract("POL-03")
def test_a_wait_ends_in_time_by_itself() -> None:
    async def test() -> None:
        pool = pool_of(queue_timeout_ms=1)
        async with pool.acquire("m"):
            with pytest.raises(NoProviderError, match="in time") as caught:
                async with pool.acquire("m"):
                    pytest.fail("no provider was free")
        assert caught.value.reason is RefusalReason.TIMEOUT

    run(test)


@pytest.mark.contract("POL-03")
def test_the_clock_decides_when_a_wait_ends() -> None:
    async def test() -> None:
        clock = ManualClock()
        pool = ProviderPool(catalogue([provider("a", queue_timeout_ms=1)], {"m": ["a"]}), clock=clock)
        pool.set_node_reachable(NodeId("n1"), reachable=True)
        async with pool.acquire("m"):
            waiting = asyncio.ensure_future(pool.acquire("m").__aenter__())
            await asyncio.sleep(0.01)
            assert not waiting.done()
            clock.advance(0.001)
            with pytest.raises(NoProviderError, match="in time"):
                await waiting

    run(test)


@pytest.mark.contract("POL-03")
def test_a_shorter_wait_that_begins_later_ends_first() -> None:
    async def test() -> None:
        providers = [provider("slow", queue_timeout_ms=3_600_000), provider("fast", queue_timeout_ms=1)]
        pool = ProviderPool(catalogue(providers, {"slow": ["slow"], "fast": ["fast"]}))
        pool.set_node_reachable(NodeId("n1"), reachable=True)
        async with pool.acquire("slow"), pool.acquire("fast"):
            waiting = asyncio.ensure_future(pool.acquire("slow").__aenter__())
            await turns_of_the_loop()
            with pytest.raises(NoProviderError):
                await pool.acquire("fast").__aenter__()
            assert not waiting.done()
            waiting.cancel()
            await asyncio.wait([waiting])

    run(test)


@pytest.mark.contract("POL-02")
def test_a_waiting_task_that_is_cancelled_leaves_the_queue() -> None:
    async def test() -> None:
        pool = pool_of()
        async with pool.acquire("m"):
            task = asyncio.ensure_future(pool.acquire("m").__aenter__())
            await turns_of_the_loop()
            assert queued(pool) == 1
            task.cancel()
            await asyncio.wait([task])
            assert task.cancelled()
            assert queued(pool) == 0
        assert in_flight(pool) == 0

    run(test)


@pytest.mark.case("A3")
def test_a_task_that_is_cancelled_as_its_turn_comes_passes_the_lease_on() -> None:
    async def test() -> None:
        pool = pool_of()
        first = pool.acquire("m")
        await first.__aenter__()
        cancelled = asyncio.ensure_future(pool.acquire("m").__aenter__())
        follower = asyncio.ensure_future(pool.acquire("m").__aenter__())
        await turns_of_the_loop()
        await first.__aexit__(None, None, None)
        assert in_flight(pool) == 1
        cancelled.cancel()
        lease = await follower
        assert cancelled.cancelled()
        assert in_flight(pool) == 1
        lease.release()
        assert in_flight(pool) == 0

    run(test)


@pytest.mark.contract("POL-05")
def test_a_refresh_wakes_waiting_requests() -> None:
    async def test() -> None:
        pool = pool_of()
        async with pool.acquire("m"):
            task = asyncio.ensure_future(pool.acquire("m").__aenter__())
            await turns_of_the_loop()
            pool.reconfigure(catalogue([provider("a", capacity=2)], {"m": ["a"]}))
            lease = await task
            assert lease.provider_id == "a"
            lease.release()

    run(test)


def test_closing_the_pool_refuses_waiting_requests() -> None:
    async def test() -> None:
        pool = pool_of(queue_timeout_ms=3_600_000)
        async with pool.acquire("m"):
            task = asyncio.ensure_future(pool.acquire("m").__aenter__())
            await turns_of_the_loop()
            pool.close()
            with pytest.raises(NoProviderError, match="the Edge is stopping"):
                await task
        with pytest.raises(NoProviderError, match="the Edge is stopping"):
            await pool.acquire("m").__aenter__()

    run(test)


@pytest.mark.parametrize(
    ("enter", "message"),
    [
        (lambda pool: pool.acquire("nope"), "there is no model 'nope'"),
        (lambda pool: pool.acquire(RouteKey(RouteId("m"))), "there is no route 'm'"),
        (lambda pool: pool.acquire("m", avoid=["a"]), "every provider of model 'm'"),
    ],
)
def test_what_no_provider_can_serve_is_refused_at_once(enter: Callable[[ProviderPool], object], message: str) -> None:
    async def test() -> None:
        with pytest.raises(NoProviderError, match=message):
            await enter(pool_of()).__aenter__()  # type: ignore[attr-defined]

    run(test)


@pytest.mark.parametrize(
    "ask",
    [ProviderPool.acquire, ProviderPool.try_acquire],
)
def test_a_single_id_is_not_taken_for_a_collection(ask: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="avoid"):
        ask(pool_of(), "m", avoid="gpu-a")


def test_an_acquisition_may_be_entered_again_but_not_twice_at_once() -> None:
    async def test() -> None:
        request = pool_of(capacity=2).acquire("m")
        for _ in range(2):
            async with request as lease:
                assert lease.provider_id == ProviderId("a")
                with pytest.raises(RuntimeError):
                    await request.__aenter__()
            assert lease.released

    run(test)


def test_a_waiting_acquisition_cannot_be_entered_again() -> None:
    async def test() -> None:
        pool = pool_of()
        request = pool.acquire("m")
        async with pool.acquire("m"):
            waiting = asyncio.ensure_future(request.__aenter__())
            await turns_of_the_loop()
            with pytest.raises(RuntimeError):
                await request.__aenter__()
            assert queued(pool) == 1
        (await waiting).release()
        assert in_flight(pool) == 0

    run(test)


@pytest.mark.case("A3")
@pytest.mark.parametrize("served", [False, True], ids=["while it waits", "as its turn has come"])
def test_a_request_whose_coroutine_is_thrown_away_holds_nothing(served: bool) -> None:
    async def test() -> None:
        pool = pool_of()
        first = pool.acquire("m")
        await first.__aenter__()
        abandoned = pool.acquire("m").__aenter__()
        abandoned.send(None)
        assert queued(pool) == 1
        if served:
            await first.__aexit__(None, None, None)
        abandoned.close()
        await first.__aexit__(None, None, None)
        assert (in_flight(pool), queued(pool)) == (0, 0)

    run(test)


@pytest.mark.contract("POL-03")
def test_a_wait_ends_in_time_also_in_a_second_loop() -> None:
    pool = pool_of(queue_timeout_ms=1)

    async def test(*, is_given_up: bool) -> None:
        async with pool.acquire("m"):
            task = asyncio.ensure_future(pool.acquire("m").__aenter__())
            await turns_of_the_loop(2)
            if is_given_up:
                task.cancel()
            await asyncio.wait([task])

    run(partial(test, is_given_up=True))
    run(partial(test, is_given_up=False))
    assert (in_flight(pool), queued(pool)) == (0, 0)
