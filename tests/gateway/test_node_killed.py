"""A Node that is killed while streams run: they go on, and its providers leave dispatch until it is back."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from tests.e2e.processes import running, said
from tests.gateway.rig import NODE_TOKEN, rig
from tests.support import run


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - the pool has no event for it
        await asyncio.sleep(0.01)


def start_node(stack: ExitStack, address: str) -> tuple[Any, str]:
    arguments = ("node", "run", "--id", "n1", "--listen", address)
    process = stack.enter_context(running(*arguments, environ={"IOP_NODE_TOKEN": NODE_TOKEN}))
    return process, said(process, "node n1 listens on ")


@pytest.mark.contract("POL-01")
@pytest.mark.contract("REF-08")
def test_killed_node_cuts_no_stream_and_its_provider_comes_back_with_it() -> None:
    with ExitStack() as stack:
        process, address = start_node(stack, "127.0.0.1:0")

        def change(config: dict[str, Any]) -> None:
            config["nodes"][1]["address"] = address

        async def test() -> None:
            async with rig(1, 1, change=change) as gateway:

                def states() -> list[str]:
                    return [status.status.value for status in gateway.edge.pool.statuses()]

                gateway.gate.let(1)
                streams = [asyncio.create_task(gateway.streamed(max_tokens=3)) for _ in range(2)]
                await gateway.gate.until_waiting(2)
                process.kill()
                await until(lambda: states() == ["busy", "unreachable"])
                streams.append(asyncio.create_task(gateway.streamed(max_tokens=3)))
                await until(lambda: [each.queued for each in gateway.edge.pool.statuses()] == [1, 0])
                gateway.gate.let(3)
                assert await asyncio.gather(*streams) == ["0 1 2 "] * 3
                assert [len(backend.seen) for backend in gateway.backends.values()] == [2, 1]

                await asyncio.to_thread(start_node, stack, address)
                await until(lambda: states() == ["available", "available"])
                for _ in range(2):
                    await gateway.streamed(max_tokens=3)
                assert [len(backend.seen) for backend in gateway.backends.values()] == [3, 2]

        run(test())
