"""The time of a push to a fleet on warm connections, as a multiple of what grpc.aio takes to as many Nodes.

The Nodes are grpc-go servers in a process of their own, so Go must be on PATH. With --hung, the time until the last
healthy Node is done is also compared with that of a fleet without the hung ones.
"""

import argparse
import asyncio
import gc
import logging
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import grpc.aio

from bench.measure import Compared, comparisons, show_compared
from iop_edge.ids import EdgeId, EdgeInstanceId, NodeId, Revision
from iop_edge.payload import EncodedPayload, encode
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import DEFAULT_SETTINGS, Caller, Desired, NodeState, Target
from iop_pb import trees
from iop_pb.iop.runtime.v1 import (
    NodeConfigPayload,
    NodeConfigRefreshMode,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
)

_GO_MODULE: Final = Path(__file__).parent.parent / "tests" / "interop" / "go"
_PUSH: Final = "/iop.runtime.v1.NodeConfigService/NodeConfigRefresh"
_TOKEN: Final = "made-up-token"
_METADATA: Final = (("authorization", f"Bearer {_TOKEN}"),)
_EDGE_ID: Final = EdgeId("bench")
_SIZES: Final = {"1k": 1 << 10, "50k": 50 << 10, "1m": 1 << 20}
_YARDSTICK: Final = "grpc.aio"
_YARDSTICK_ID: Final = EdgeInstanceId("yardstick")
_PUSHES_A_ROUND: Final = 100
_PATIENT: Final = replace(DEFAULT_SETTINGS, push_deadline=60.0, handshake_deadline=60.0)
_HUNG_DEADLINE: Final = 5.0

Push = Callable[[int], Awaitable[float]]
"""Pushes the content of a number to the fleet, and returns how many seconds the healthy Nodes took."""


@dataclass(frozen=True)
class Nodes:
    """Where the Nodes of a running fleet are, the hung ones first."""

    addresses: tuple[str, ...]
    hung: int

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """Their ids."""
        return tuple(NodeId(f"node-{index}") for index in range(len(self.addresses)))


@asynccontextmanager
async def go_nodes(program: Path, count: int, hung: int = 0) -> AsyncIterator[Nodes]:
    """Have grpc-go Nodes serve for as long as the block runs."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program, "fleet", str(count), str(hung), _TOKEN, stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        lines = [await process.stdout.readline() for _ in range(count)]
        yield Nodes(tuple(line.decode().strip() for line in lines), hung)
    finally:
        process.stdin.close()
        await process.wait()


def content(size: int, number: int) -> Desired:
    """Return a payload of about this size, encoded. Another number is another content."""
    payload: trees.NodeConfigPayload = {"node_id": "node", "resources": [{"provider_id": "p", "models": ["m" * size]}]}
    data = encode(payload, b"").data
    return Desired(EncodedPayload(NodeId("node"), data, number.to_bytes(32)), Revision(number))


def whole_request(desired: Desired) -> bytes:
    """Return a request, encoded before anything is measured."""
    return bytes(
        NodeConfigRefreshRequest(
            edge_id=_EDGE_ID,
            edge_instance_id=_YARDSTICK_ID,
            mode=NodeConfigRefreshMode.COMMIT,
            generation=desired.revision,
            revision=desired.revision,
            payload_hash=desired.encoded.tag,
            payload=NodeConfigPayload.parse(desired.encoded.data),
        )
    )


class _Finish:
    """Waits until every healthy Node runs a revision."""

    def __init__(self, healthy: frozenset[NodeId]) -> None:
        self._healthy = healthy
        self._waiting: set[NodeId] = set()
        self._revision = 0
        self._done = asyncio.Event()

    def expect(self, revision: int) -> None:
        self._waiting, self._revision = set(self._healthy), revision
        self._done.clear()

    def take_state(self, node_id: NodeId, state: NodeState) -> None:
        if state.in_sync and state.revision == self._revision:
            self._waiting.discard(node_id)
            if not self._waiting:
                self._done.set()

    async def reached(self) -> None:
        await self._done.wait()


@asynccontextmanager
async def library(nodes: Nodes, size: int) -> AsyncIterator[Push]:
    """Push with the library's own fleet."""
    finish = _Finish(frozenset(nodes.ids[nodes.hung :]))
    settings = replace(_PATIENT, push_deadline=_HUNG_DEADLINE) if nodes.hung else _PATIENT
    fleet = Fleet(Caller(_EDGE_ID, EdgeInstanceId("library")), settings=settings, on_state_change=finish.take_state)
    fleet.start([Target(*each, _TOKEN) for each in zip(nodes.ids, nodes.addresses, strict=True)], {})

    async def push(number: int) -> float:
        desired = dict.fromkeys(nodes.ids, content(size, number))
        finish.expect(number)
        gc.collect()
        begin = time.perf_counter()
        committing = asyncio.create_task(fleet.commit(desired))
        await finish.reached()
        taken = time.perf_counter() - begin
        await committing
        return taken

    await fleet.settled()
    try:
        yield push
    finally:
        await fleet.close()


@asynccontextmanager
async def grpc_aio(nodes: Nodes, size: int) -> AsyncIterator[Push]:
    """Push with grpc.aio, which is handed whole requests as bytes and hands back bytes."""
    channels = [grpc.aio.insecure_channel(address) for address in nodes.addresses]
    calls = [channel.unary_unary(_PUSH) for channel in channels]

    async def push(number: int) -> float:
        request = whole_request(content(size, number))
        gc.collect()
        begin = time.perf_counter()
        replies = await asyncio.gather(*(call(request, timeout=60, metadata=_METADATA) for call in calls))
        taken = time.perf_counter() - begin
        assert NodeConfigRefreshResponse.parse(replies[0]).outcome is NodeConfigRefreshOutcome.COMMITTED
        return taken

    await push(1)
    try:
        yield push
    finally:
        await asyncio.gather(*(channel.close() for channel in channels))


async def against_grpc(program: Path, count: int, size: int, rounds: int) -> dict[str, Compared]:
    """Compare pushes of the library with those of grpc.aio; they take turns.

    Each has Nodes of its own: to an Edge, a Node that somebody else pushes to has lost its session.
    """
    async with (
        go_nodes(program, count) as their_nodes,
        go_nodes(program, count) as our_nodes,
        grpc_aio(their_nodes, size) as theirs,
        library(our_nodes, size) as ours,
    ):
        return await _compared({_YARDSTICK: theirs, "library": ours}, max(1, _PUSHES_A_ROUND // count), rounds)


async def against_healthy(program: Path, count: int, hung: int, size: int, rounds: int) -> dict[str, Compared]:
    """Compare the time until the last healthy Node is done, with hung Nodes beside them and without."""
    async with AsyncExitStack() as stack:
        pushes = {
            name: await stack.enter_async_context(library(await stack.enter_async_context(nodes), size))
            for name, nodes in (
                ("without hung nodes", go_nodes(program, count - hung)),
                ("with hung nodes", go_nodes(program, count, hung)),
            )
        }
        return await _compared(pushes, 1, rounds)


async def _compared(pushes: Mapping[str, Push], repeats: int, rounds: int) -> dict[str, Compared]:
    """Compare with the first of them, round by round; each warms up once."""
    taken: dict[str, list[float]] = {name: [] for name in pushes}
    number = 1
    for _ in range(max(rounds, 2) + 1):
        for name, push in pushes.items():
            numbers = range(number + 1, number + 1 + repeats)
            number = numbers[-1]
            taken[name].append(sum([await push(each) for each in numbers]) / repeats)
    return comparisons({name: times[1:] for name, times in taken.items()}, next(iter(pushes)))


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.push", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 100], help="sizes of the fleet (1 100)")
    parser.add_argument("--size", choices=_SIZES, nargs="+", default=["1k", "50k"], help="sizes of a payload (1k 50k)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each, after one to warm up (5)")
    parser.add_argument("--hung", type=int, default=5, metavar="PERCENT", help="nodes that answer no push (5)")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # hung Nodes are expected here
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["go", "build", "-o", f"{place}/", "./calls"], cwd=_GO_MODULE, check=True)
        program = Path(place) / "calls"
        for count in options.nodes:
            for size in options.size:
                found = asyncio.run(against_grpc(program, count, _SIZES[size], options.rounds))
                show_compared(f"{count} nodes, {size}", found)
        most = max(options.nodes)
        if hung := most * options.hung // 100:
            size = options.size[0]
            found = asyncio.run(against_healthy(program, most, hung, _SIZES[size], options.rounds))
            show_compared(f"last healthy node of {most}, {hung} hung, {size}", found)


if __name__ == "__main__":
    main()
