"""An Edge that is killed or stopped while it applies a config, and starts again: every Node ends on the right one.

The Nodes run in the test and signal the Edge when a check or a commit reaches one of them.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

import pytest

from iop_edge.client.admin import AdminClient
from iop_edge.client.status import StatusSnapshot
from iop_edge.config.source import Source
from iop_edge.errors import EdgeError
from iop_edge.ids import NodeId
from iop_edge.net import parse_address
from iop_edge.node.node import Node
from iop_edge.refresh.result import Mode, NodeOutcome, Trigger
from iop_edge.transport.server import BoundedServer
from iop_pb.iop.runtime.v1 import NodeConfigRefreshMode, NodeConfigRefreshRequest, NodeConfigRefreshResponse
from tests.e2e.processes import clean_environ
from tests.support import COMMAND, run
from tests.unit.edge.house import TOKEN, House, made

NAMES = ("a", "b")
OLD, NEW = 1, 2
_READY = b"iop-edge: ready"
CHECK, COMMIT = NodeConfigRefreshMode.DRY_RUN, NodeConfigRefreshMode.COMMIT


class TrappedNode(Node):
    """A Node that springs a trap when a request of a mode comes, before it is carried out or before it is answered."""

    def __init__(self, name: str) -> None:
        super().__init__(NodeId(name))
        self.applied: list[int] = []
        self._trap: tuple[NodeConfigRefreshMode, bool, Callable[[], None]] | None = None

    def set_trap(self, mode: NodeConfigRefreshMode, spring: Callable[[], None], *, carried_out: bool) -> None:
        self._trap = (mode, carried_out, spring)

    async def node_config_refresh(self, message: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        mode, carried_out, spring = self._trap or (None, False, print)
        is_it = message.mode == mode
        if is_it:
            self._trap = None
            if not carried_out:
                spring()
        answer = await super().node_config_refresh(message)
        if is_it and carried_out:
            spring()
        if message.mode == COMMIT and message.payload and message.payload.runtime:
            self.applied.append(message.payload.runtime.concurrency)
        return answer


class Edge:
    """A serving Edge as a process."""

    def __init__(self, house: House, process: asyncio.subprocess.Process) -> None:
        self._house, self._process = house, process

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def ended(self) -> int:
        assert self._process.stderr is not None
        await self._process.stderr.read()
        return await self._process.wait()

    async def in_sync(self) -> StatusSnapshot:
        """Ask until every Node runs what it should."""
        async with AdminClient(self._house.admin) as client:
            while True:
                status = await client.status()
                if all(node.in_sync for node in status.nodes):
                    return status


async def _until_ready(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    async for line in stream:
        yield line
        if _READY in line:
            return


@asynccontextmanager
async def serving(house: House) -> AsyncIterator[Edge]:
    process = await asyncio.create_subprocess_exec(
        str(COMMAND),
        *("serve", str(house.tracked), "--private", str(house.private), "--state-dir", str(house.state_dir)),
        stderr=asyncio.subprocess.PIPE,
        env=clean_environ(),
    )
    edge = Edge(house, process)
    try:
        assert process.stderr is not None
        said = [line async for line in _until_ready(process.stderr)]
        assert _READY in said[-1], said
        yield edge
    finally:
        edge.kill()
        await edge.ended()


@asynccontextmanager
async def listening(house: House) -> AsyncIterator[dict[str, TrappedNode]]:
    nodes = {name: TrappedNode(name) for name in NAMES}
    async with AsyncExitStack() as stack:
        for name, node in nodes.items():
            server = BoundedServer([node], tokens=[TOKEN])
            await server.start(parse_address(house.address(name)))
            stack.push_async_callback(server.drain, 0)
            stack.push_async_callback(node.close)
        yield nodes


@pytest.fixture
def house() -> Iterator[House]:
    with made() as house:
        yield house


async def apply(house: House, text: str) -> bool:
    """Send a candidate, and return whether an answer came that it was committed."""
    layers = [Source("edge.yaml", text.encode()), Source("private.yaml", house.private.read_bytes(), private=True)]
    async with AdminClient(house.admin) as client:
        try:
            result = await client.refresh(layers, Mode.APPLY)
        except EdgeError:
            return False
    assert {report.outcome for report in result.reports} == {NodeOutcome.COMMITTED}
    return result.committed


def concurrencies(nodes: dict[str, TrappedNode]) -> set[int]:
    """What the Nodes run, by the payload that they took last."""
    return {node.applied[-1] for node in nodes.values()}


@pytest.mark.contract("PSH-03", "REF-10")
@pytest.mark.parametrize(
    ("mode", "carried_out", "files_say"),
    [
        pytest.param(CHECK, False, OLD, id="at a check, files are old"),
        pytest.param(CHECK, True, NEW, id="after a check, files are new"),
        pytest.param(COMMIT, False, OLD, id="at a commit, files are old"),
        pytest.param(COMMIT, False, NEW, id="at a commit, files are new"),
        pytest.param(COMMIT, True, OLD, id="after a commit, files are old"),
        pytest.param(None, True, OLD, id="after the answer, files are old"),
        pytest.param(None, True, NEW, id="after the answer, files are new"),
    ],
)
def test_after_a_kill_and_a_start_every_node_runs_what_the_files_say(
    house: House, mode: NodeConfigRefreshMode | None, carried_out: bool, files_say: int
) -> None:
    house.write(*NAMES, concurrency=OLD)

    async def scenario() -> None:
        async with listening(house) as nodes:
            async with serving(house) as edge:
                await edge.in_sync()
                if mode is not None:
                    nodes["b"].set_trap(mode, edge.kill, carried_out=carried_out)
                answered = await apply(house, house.config(*NAMES, concurrency=NEW))
                assert answered == (mode is None)
                edge.kill()
                await edge.ended()
            house.write(*NAMES, concurrency=files_say)
            async with serving(house) as edge:
                status = await edge.in_sync()
                # Revision 2 is in the history where the answer came; the files are then the same, or the next one.
                expected = {OLD: 3, NEW: 2}[files_say] if mode is None else files_say
                assert (status.revision, status.drift) == (expected, False)
                assert concurrencies(nodes) == {files_say}
                assert {node.revision for node in status.nodes} == {expected}

    run(scenario())


@pytest.mark.contract("REF-08")
@pytest.mark.parametrize("mode", [CHECK, COMMIT])
def test_an_edge_that_is_stopped_while_it_applies_answers_and_ends_when_it_has_applied(
    house: House, mode: NodeConfigRefreshMode
) -> None:
    house.write(*NAMES, concurrency=OLD)

    async def scenario() -> None:
        async with listening(house) as nodes:
            async with serving(house) as edge:
                await edge.in_sync()
                nodes["b"].set_trap(mode, partial(edge.signal, signal.SIGTERM), carried_out=False)
                assert await apply(house, house.config(*NAMES, concurrency=NEW))
                assert await edge.ended() == 0
            assert concurrencies(nodes) == {NEW}
            house.write(*NAMES, concurrency=NEW)
            async with serving(house) as edge:
                assert (await edge.in_sync()).revision == 2

    run(scenario())


@pytest.mark.contract("REF-08")
def test_a_signal_to_read_the_files_again_during_an_apply_is_heard_after_it(house: House) -> None:
    house.write(*NAMES, concurrency=OLD)

    async def scenario() -> None:
        async with listening(house) as nodes, serving(house) as edge, AdminClient(house.admin) as client:
            await edge.in_sync()
            nodes["b"].set_trap(COMMIT, partial(edge.signal, signal.SIGHUP), carried_out=False)
            assert await apply(house, house.config(*NAMES, concurrency=NEW))
            while (await client.status()).revision < 3:
                pass
            await edge.in_sync()
            assert concurrencies(nodes) == {OLD}, "files win, whoever came first"
            triggers = [attempt.trigger for attempt in await client.history(2)]
            assert triggers == [Trigger.RELOAD, Trigger.REFRESH]

    run(scenario())
