"""How many pushes are sent at once."""

import asyncio

import pytest

from iop_edge.push.gate import SendGate
from tests.support import run

pytestmark = pytest.mark.contract("PSH-04")

FOR_EVER = 1e6


async def is_free(gate: SendGate) -> bool:
    """Tell whether one more may send now."""

    async def pass_through() -> None:
        async with gate.place():
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
        gate = SendGate(2, FOR_EVER)
        async with gate.place():
            assert await is_free(gate)
            async with gate.place():
                assert not await is_free(gate)
            assert await is_free(gate)

    run(scenario())


def test_place_is_free_once_the_request_is_sent_and_only_once() -> None:
    async def scenario() -> None:
        gate = SendGate(1, FOR_EVER)
        async with gate.place() as leave:
            leave()
            leave()
            async with gate.place():
                assert not await is_free(gate)

    run(scenario())


def test_place_is_free_after_a_failure() -> None:
    async def scenario() -> None:
        gate = SendGate(1, FOR_EVER)
        with pytest.raises(OSError, match="lost"):
            async with gate.place():
                raise OSError("lost")
        assert await is_free(gate)

    run(scenario())


def test_place_is_held_no_longer_than_the_hold() -> None:
    async def scenario() -> None:
        gate = SendGate(1, 0.01)
        async with gate.place(), gate.place():
            pass  # the second got in while the first was still sending

    run(scenario())
