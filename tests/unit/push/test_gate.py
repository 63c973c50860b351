"""How many pushes are sent at once."""

import asyncio

import pytest

from iop_edge.push.gate import SendGate
from tests.support import run

pytestmark = pytest.mark.contract("PSH-04")

FOR_EVER = 1e6
BUDGET = 1000


async def is_free(gate: SendGate, size: int = 1) -> bool:
    """Tell whether one more may send now."""

    async def pass_through() -> None:
        async with gate.slot(size):
            pass

    passing = asyncio.create_task(pass_through())
    for _ in range(5):
        await asyncio.sleep(0)
    was_free = passing.done()
    passing.cancel()
    await asyncio.gather(passing, return_exceptions=True)
    return was_free


def test_as_many_send_as_the_gate_is_wide() -> None:
    async def scenario() -> None:
        gate = SendGate(2, FOR_EVER, BUDGET)
        async with gate.slot(1):
            assert await is_free(gate)
            async with gate.slot(1):
                assert not await is_free(gate)
            assert await is_free(gate)

    run(scenario())


def test_place_is_free_once_the_request_is_sent_and_only_once() -> None:
    async def scenario() -> None:
        gate = SendGate(1, FOR_EVER, BUDGET)
        async with gate.slot(1) as leave:
            leave()
            leave()
            async with gate.slot(1):
                assert not await is_free(gate)

    run(scenario())


def test_place_is_free_after_a_failure() -> None:
    async def scenario() -> None:
        gate = SendGate(1, FOR_EVER, BUDGET)
        with pytest.raises(OSError, match="lost"):
            async with gate.slot(1):
                raise OSError("lost")
        assert await is_free(gate)

    run(scenario())


def test_place_is_held_no_longer_than_the_hold() -> None:
    async def scenario() -> None:
        gate = SendGate(1, 0.01, BUDGET)
        async with gate.slot(1), gate.slot(1):
            pass  # the second got in while the first was still sending

    run(scenario())


def test_bytes_that_are_sent_at_once_are_bounded() -> None:
    async def scenario() -> None:
        gate = SendGate(10, FOR_EVER, BUDGET)
        async with gate.slot(600) as sent:
            assert await is_free(gate, 400)
            assert not await is_free(gate, 401)
            sent()
            assert await is_free(gate, BUDGET)
        assert await is_free(gate, BUDGET)

    run(scenario())


def test_push_that_is_larger_than_the_budget_is_sent_alone() -> None:
    async def scenario() -> None:
        gate = SendGate(10, FOR_EVER, BUDGET)
        async with gate.slot(BUDGET * 5):
            assert not await is_free(gate)
        async with gate.slot(1):
            assert not await is_free(gate, BUDGET * 5)

    run(scenario())


def test_bytes_count_until_they_are_sent_whatever_the_hold() -> None:
    async def scenario() -> None:
        gate = SendGate(1, 0.01, BUDGET)
        async with gate.slot(600), gate.slot(400):  # in after the hold
            assert not await is_free(gate)

    run(scenario())


def test_large_push_is_not_overtaken_for_ever() -> None:
    async def scenario() -> None:
        gate = SendGate(10, FOR_EVER, BUDGET)
        order = []

        async def send(size: int) -> None:
            async with gate.slot(size):
                order.append(size)

        async with gate.slot(600):
            waiting = [asyncio.create_task(send(size)) for size in (900, 1, 2)]
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        assert order == [900, 1, 2]

    run(scenario())


def test_push_that_is_given_up_while_it_waits_keeps_nobody_waiting() -> None:
    async def scenario() -> None:
        gate = SendGate(10, FOR_EVER, BUDGET)

        async def send(size: int) -> None:
            async with gate.slot(size):
                pass

        async with gate.slot(600):
            large, small = asyncio.create_task(send(900)), asyncio.create_task(send(300))
            await asyncio.sleep(0)
            large.cancel()
            await small
            assert large.cancelled()

    run(scenario())


def test_push_that_is_given_up_in_the_moment_it_gets_in_leaves_its_place() -> None:
    async def scenario() -> None:
        gate = SendGate(1, FOR_EVER, BUDGET)

        async def send() -> None:
            async with gate.slot(1):
                raise AssertionError

        async with gate.slot(1):
            waiting = asyncio.create_task(send())
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        assert await is_free(gate)

    run(scenario())
