"""Whatever is at a Node's address, it is shown, delays nobody, and leaves nothing behind."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from iop_edge.ids import NodeId
from iop_edge.net import Address
from iop_edge.pool.status import NodeConnection
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import Target
from iop_edge.refresh.result import NodeOutcome
from iop_pb.iop.runtime.v1 import NodeConfigRefreshOutcome, NodeConfigRefreshResponse, RunningPayload
from tests.support import run
from tests.unit.push.leaks import nothing_left
from tests.unit.push.peers import answering, never_accepting, saying
from tests.unit.push.world import TOKEN, Pace, Sleeper, Watcher, all_desired, fleet, patient, station

A, B = NodeId("a"), NodeId("b")

Peer = Callable[[], AbstractAsyncContextManager[Address]]

SETTINGS_FRAME = (0).to_bytes(3) + b"\4\0" + (0).to_bytes(4)
GARBAGE_FRAME = (4).to_bytes(3) + b"\1\4" + (1).to_bytes(4) + b"\xff\xff\xff\xff"
LARGE = b"\0" * (20 << 20)

COMMITTED = bytes(
    NodeConfigRefreshResponse(
        outcome=NodeConfigRefreshOutcome.COMMITTED,
        running=RunningPayload(generation=1, revision=1, payload_hash=b"of something else"),
    )
)


def impatient(sleeper: Sleeper) -> Pace:
    """Return a pace under which a peer that says nothing is given up soon."""
    return patient(sleeper, connect_timeout=0.5, handshake_deadline=0.5)


@asynccontextmanager
async def nobody() -> AsyncIterator[Address]:
    async with saying(b"", hang_up=True) as address:
        pass
    yield address


@asynccontextmanager
async def full_queue() -> AsyncIterator[Address]:
    with never_accepting() as address:
        yield address


UNREACHABLE, REFUSED, DIVERGED = NodeConnection.UNREACHABLE, NodeConnection.REFUSED, NodeConnection.DIVERGED

SILENT = [
    pytest.param(full_queue, id="never accepts"),
    pytest.param(lambda: saying(b"", hang_up=False), id="accepts and hangs"),
    pytest.param(lambda: saying(SETTINGS_FRAME, hang_up=False), id="hangs after its settings"),
]

HTTP_1 = b"HTTP/1.1 400 Bad Request\r\n\r\n"
BROKEN_MESSAGE = "the Node sent a broken message"

BROKEN = [
    pytest.param(nobody, UNREACHABLE, "cannot connect: Connection refused", id="refuses connections"),
    pytest.param(lambda: saying(b"", hang_up=True), UNREACHABLE, "the connection was lost", id="hangs up"),
    pytest.param(lambda: saying(GARBAGE_FRAME, hang_up=False), UNREACHABLE, "the connection was lost", id="garbage"),
    pytest.param(lambda: saying(HTTP_1, hang_up=False), UNREACHABLE, "the connection was lost", id="HTTP/1.1"),
    pytest.param(lambda: saying(b"\xff" * 999, hang_up=False), UNREACHABLE, "the connection was lost", id="vast frame"),
    pytest.param(lambda: answering("a", b"", b"\xff\xff"), UNREACHABLE, BROKEN_MESSAGE, id="garbled greeting"),
    pytest.param(lambda: answering("a", b"", LARGE), UNREACHABLE, BROKEN_MESSAGE, id="greeting of 20 MB"),
    pytest.param(lambda: answering("a", b"\xff\xff"), UNREACHABLE, BROKEN_MESSAGE, id="garbled answer"),
    pytest.param(lambda: answering("a", LARGE), UNREACHABLE, BROKEN_MESSAGE, id="answer of 20 MB"),
    pytest.param(lambda: answering("a", COMMITTED), DIVERGED, "but runs another", id="wrong hash"),
]


@asynccontextmanager
async def beside_a_node(peer: Peer, pace: Pace) -> AsyncIterator[tuple[Fleet, Watcher]]:
    """Have a fleet dial the peer as Node a, and a sound Node b, which is pushed to all the same."""
    async with nothing_left(), station("b") as b, peer() as address:
        targets = (Target(A, str(address), TOKEN), b.target())
        async with fleet(*targets, wanted=all_desired(1, "a", "b"), pace=pace) as (edge, watcher):
            await watcher.in_sync(1, "b")
            yield edge, watcher
            reports = await edge.commit(all_desired(2, "a", "b"))
            assert (reports[A].outcome, reports[B].outcome) == (NodeOutcome.UNREACHABLE, NodeOutcome.COMMITTED)
            assert b.node.commits == [1, 2]


@pytest.mark.contract("PSH-03", "PSH-04")
@pytest.mark.case("A14")
@pytest.mark.parametrize("peer", SILENT)
def test_peer_that_says_nothing_is_given_up_and_delays_nobody(peer: Peer) -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with beside_a_node(peer, impatient(sleeper)) as (_, watcher):
            state = await watcher.connection("a", UNREACHABLE)
            assert (state.last_error, state.in_sync) == ("no answer in time", False)
            await sleeper.asleep()

    run(scenario())


@pytest.mark.contract("PSH-03", "PSH-04")
@pytest.mark.case("A14")
@pytest.mark.parametrize(("peer", "connection", "reason"), BROKEN)
def test_peer_that_is_no_sound_node_is_shown_and_delays_nobody(
    peer: Peer, connection: NodeConnection, reason: str
) -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with beside_a_node(peer, patient(sleeper)) as (_, watcher):
            state = await watcher.connection("a", connection)
            assert reason in state.last_error
            assert not state.in_sync
            await sleeper.asleep()

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_node_is_found_where_something_else_was() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with nothing_left(), station("a") as a:
            await a.stop()
            async with fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(sleeper)) as (_, watcher):
                await watcher.connection("a", UNREACHABLE)
                await a.start()
                await sleeper.wake()
                await watcher.in_sync(1, "a")
                assert a.node.commits == [1]

    run(scenario())
