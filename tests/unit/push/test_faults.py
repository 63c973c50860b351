"""Faults of Nodes: passing ones are tried again with growing pauses, others slowly or when something changes."""

import asyncio
import logging
import ssl

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from iop_edge.ids import EdgeId, NodeId
from iop_edge.net import Address, AddressError, Tls, TlsError
from iop_edge.pool.status import NodeConnection
from iop_edge.push.link import fault_of
from iop_edge.push.model import Target
from iop_edge.refresh.result import NodeOutcome
from iop_edge.schema.wire import WireError
from iop_edge.transport.channel import TlsRefusedError
from iop_pb.iop.runtime.v1 import (
    HandshakeRequest,
    HandshakeResponse,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
    NodeViolation,
    RunningPayload,
)
from tests.pki import EDGE
from tests.support import run
from tests.unit.push.world import TOKEN, Sleeper, all_desired, desired, fleet, patient, station

A = NodeId("a")

SLOW = 60.0


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize(
    ("error", "connection", "permanent"),
    [
        (TimeoutError(), NodeConnection.UNREACHABLE, False),
        (ConnectionRefusedError(111, "Connect call failed"), NodeConnection.UNREACHABLE, False),
        (OSError(-2, "Name or service not known"), NodeConnection.UNREACHABLE, False),
        (StreamTerminatedError("lost"), NodeConnection.UNREACHABLE, False),
        (WireError("no message"), NodeConnection.UNREACHABLE, False),
        (GRPCError(Status.UNAVAILABLE), NodeConnection.UNREACHABLE, False),
        (GRPCError(Status.INTERNAL), NodeConnection.UNREACHABLE, False),
        (GRPCError(Status.DEADLINE_EXCEEDED), NodeConnection.UNREACHABLE, False),
        (GRPCError(Status.ABORTED), NodeConnection.REFUSED, False),
        (GRPCError(Status.UNAUTHENTICATED), NodeConnection.REFUSED, True),
        (GRPCError(Status.PERMISSION_DENIED), NodeConnection.REFUSED, True),
        (GRPCError(Status.FAILED_PRECONDITION), NodeConnection.REFUSED, True),
        (GRPCError(Status.UNIMPLEMENTED), NodeConnection.REFUSED, True),
        (ssl.SSLCertVerificationError("bad"), NodeConnection.REFUSED, True),
        (ssl.SSLError("bad"), NodeConnection.REFUSED, True),
        (TlsRefusedError("another certificate"), NodeConnection.REFUSED, True),
        (TlsError("tls: no key"), NodeConnection.REFUSED, True),
        (AddressError("must be host:port"), NodeConnection.REFUSED, True),
    ],
)
def test_fault_says_how_the_edge_stands_and_whether_it_passes(
    error: Exception, connection: NodeConnection, *, permanent: bool
) -> None:
    fault = fault_of(error, TOKEN)
    assert (fault.connection, fault.permanent) == (connection, permanent)
    assert fault.reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('10.0.0.1', 7)"), "cannot connect: Connection refused"),
        (OSError(-2, "Name or service not known"), "cannot connect: Name or service not known"),
        (OSError("odd"), "cannot connect: OSError"),
    ],
)
def test_fault_of_the_network_is_told_in_the_systems_words(error: OSError, reason: str) -> None:
    assert fault_of(error, TOKEN).reason == reason


@pytest.mark.contract("CFG-08")
def test_what_a_node_says_is_quoted_short_printable_and_without_the_token() -> None:
    long = fault_of(GRPCError(Status.INTERNAL, "x" * 5000), TOKEN).reason
    assert len(long) < 300
    assert fault_of(GRPCError(Status.INTERNAL, "a\nb\x1b[31m"), TOKEN).reason.endswith("a?b?[31m")
    echo = fault_of(GRPCError(Status.UNAUTHENTICATED, f"bad token {TOKEN}"), TOKEN).reason
    assert TOKEN not in echo


@pytest.mark.contract("CFG-08")
def test_token_and_key_are_not_in_the_repr_of_a_target() -> None:
    shown = repr(Target(A, "127.0.0.1:1", TOKEN, lambda: EDGE))
    assert TOKEN not in shown
    assert "PRIVATE" not in shown


@pytest.mark.contract("PSH-03")
def test_permanent_fault_is_tried_again_slowly() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with station("a") as a:
            target = a.target(token="other")
            async with fleet(target, wanted=all_desired(1, "a"), pace=patient(sleeper)) as (edge, watcher):
                state = await watcher.connection("a", NodeConnection.REFUSED)
                assert state.last_error.startswith("the Node does not accept the token")
                await sleeper.wake()
                await sleeper.asleep()
                assert sleeper.delays == [SLOW, SLOW]
                assert (await edge.check(all_desired(2, "a")))[A].outcome is NodeOutcome.UNREACHABLE

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_permanent_fault_is_tried_again_when_something_else_is_desired() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with station("a") as a:
            refusing = a.node.shake

            async def unimplemented(_: HandshakeRequest) -> HandshakeResponse:
                raise GRPCError(Status.UNIMPLEMENTED)

            a.node.shake = unimplemented
            pace = patient(sleeper)
            async with fleet(a.target(), wanted=all_desired(1, "a"), pace=pace) as (edge, watcher):
                await watcher.connection("a", NodeConnection.REFUSED)
                a.node.shake = refusing
                edge.set_desired(all_desired(2, "a"))
                await watcher.in_sync(2, "a")
                assert sleeper.delays == [SLOW]

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_permanent_fault_is_tried_again_when_something_is_committed() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with station("a") as a:
            shake = a.node.shake

            async def refuse(_: HandshakeRequest) -> HandshakeResponse:
                raise GRPCError(Status.FAILED_PRECONDITION)

            a.node.shake = refuse
            async with fleet(a.target(), pace=patient(sleeper)) as (edge, watcher):
                await sleeper.asleep()
                a.node.shake = shake
                assert (await edge.commit(all_desired(2, "a")))[A].outcome is NodeOutcome.UNREACHABLE
                await watcher.in_sync(2, "a")

    run(scenario())


@pytest.mark.contract("PSH-01")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (HandshakeResponse(protocol_version=2, node_id="a"), "the Node speaks protocol version 2, the Edge 1"),
        (HandshakeResponse(protocol_version=1, node_id="b"), "another Node answers at this address: b"),
        (HandshakeResponse(), "the Node speaks protocol version 0, the Edge 1"),
    ],
)
def test_peer_that_is_not_the_node_is_refused_before_any_push(answer: HandshakeResponse, reason: str) -> None:
    async def scenario() -> None:
        async with station("a") as a:

            async def pretend(_: HandshakeRequest) -> HandshakeResponse:
                return answer

            a.node.shake = pretend
            pace = patient(Sleeper())
            async with fleet(a.target(), wanted=all_desired(1, "a"), pace=pace) as (_, watcher):
                state = await watcher.connection("a", NodeConnection.REFUSED)
                assert state.last_error == reason
                assert not a.node.pushes

    run(scenario())


async def keep_waking(sleeper: Sleeper) -> None:
    while True:
        await sleeper.wake()


@pytest.mark.contract("PSH-02")
def test_second_process_of_an_edge_is_refused_on_both_sides_until_the_first_has_gone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with station("a") as a:
            second = fleet(a.target(), wanted=all_desired(2, "a"), pace=patient(sleeper), instance="instance-2")
            async with fleet(a.target(), wanted=all_desired(1, "a")) as (first_edge, first):
                await first.in_sync(1, "a")
                entered = await second.__aenter__()
                state = await entered[1].connection("a", NodeConnection.REFUSED)
                assert "another process of Edge edge-1 holds the session" in state.last_error
                assert first_edge.states()[A].in_sync
                assert a.node.commits == [1]
            waking = asyncio.create_task(keep_waking(sleeper))
            await entered[1].in_sync(2, "a")
            waking.cancel()
            assert a.node.commits == [1, 2]
            await second.__aexit__(None, None, None)

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert {"iop_edge.node.session", "iop_edge.push.actor"} <= {record.name for record in caplog.records}


@pytest.mark.contract("PSH-02")
def test_node_of_another_edge_is_refused_unless_it_is_taken_over() -> None:
    other = EdgeId("edge-2")

    async def scenario() -> None:
        async with (
            station("a") as a,
            fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(Sleeper())) as (
                _,
                first,
            ),
        ):
            await first.in_sync(1, "a")
            async with fleet(a.target(), wanted=all_desired(2, "a"), edge_id=other, pace=patient(Sleeper())) as (
                _,
                refused,
            ):
                state = await refused.connection("a", NodeConnection.REFUSED)
                assert "belongs to Edge edge-1" in state.last_error
            async with fleet(a.target(), wanted=all_desired(2, "a"), edge_id=other, take_over=True) as (_, taken):
                await taken.in_sync(2, "a")
                state = await first.connection("a", NodeConnection.REFUSED)
                assert "another Edge has taken this Node over" in state.last_error

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_refused_payload_is_not_sent_again_unchanged() -> None:
    async def scenario() -> None:
        async with station("a") as a:
            take = a.node.refresh

            async def refuse_two(push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                if push.payload and push.payload.runtime and push.payload.runtime.concurrency == 2:
                    return NodeConfigRefreshResponse(outcome=NodeConfigRefreshOutcome.REJECTED)
                return await take(push)

            a.node.refresh = refuse_two
            async with fleet(a.target(), wanted=all_desired(2, "a")) as (edge, watcher):
                await watcher.connection("a", NodeConnection.DIVERGED)
                edge.set_desired({A: desired("a", 2, revision=5)})
                edge.set_desired({A: desired("a", 2, revision=6)})
                await asyncio.sleep(0)
                edge.set_desired(all_desired(3, "a"))
                await watcher.in_sync(3, "a")
                assert a.node.commits == [2, 3]
                assert edge.states()[A].connection is NodeConnection.CONNECTED

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_refused_payload_is_sent_again_to_a_node_that_comes_back() -> None:
    async def scenario() -> None:
        async with station("a") as a:

            async def refuse(_: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                return NodeConfigRefreshResponse(outcome=NodeConfigRefreshOutcome.REJECTED)

            a.node.refresh = refuse
            async with fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
                await watcher.connection("a", NodeConnection.DIVERGED)
                await a.stop()
                await a.start()
                await watcher.in_sync(1, "a")

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_refused_payload_is_not_sent_again_when_the_connection_was_only_lost() -> None:
    async def scenario() -> None:
        async with station("a") as a:
            take = a.node.refresh

            async def refuse(_: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                violation = NodeViolation(rule="node.adapter", path="payload", message="no")
                return NodeConfigRefreshResponse(outcome=NodeConfigRefreshOutcome.REJECTED, violations=[violation])

            a.node.refresh = refuse
            async with fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
                refused = await watcher.connection("a", NodeConnection.DIVERGED)
                a.cut()
                await watcher.connection("a", NodeConnection.UNREACHABLE)
                again = await watcher.connection("a", NodeConnection.DIVERGED)
                assert again.last_error == refused.last_error == "payload no [node.adapter]"
                await edge.settled()
                assert (a.node.handshakes, a.node.commits) == (2, [1])
                a.node.refresh = take
                edge.set_desired(all_desired(2, "a"))
                await watcher.in_sync(2, "a")
                assert a.node.commits == [1, 2]

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_payload_that_is_too_large_for_the_node_is_refused_for_good() -> None:
    async def scenario() -> None:
        async with station("a", max_request_bytes=1000) as a:
            wanted = {A: desired("a", 1, padding=2000)}
            async with fleet(a.target(), wanted=wanted) as (edge, watcher):
                state = await watcher.connection("a", NodeConnection.DIVERGED)
                assert "at most 1000 bytes are accepted" in state.last_error
                assert (await edge.check({A: desired("a", 2, padding=2000)}))[A].outcome is NodeOutcome.REJECTED
                assert a.node.handshakes == 1

    run(scenario())


def lying(**parts: object) -> NodeConfigRefreshResponse:
    return NodeConfigRefreshResponse(**parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lying(outcome=NodeConfigRefreshOutcome.COMMITTED), id="no hash"),
        pytest.param(
            lying(outcome=NodeConfigRefreshOutcome.COMMITTED, running=RunningPayload(generation=1, payload_hash=b"x")),
            id="another hash",
        ),
        pytest.param(lying(), id="no outcome"),
        pytest.param(lying(outcome=NodeConfigRefreshOutcome(77)), id="an outcome that nobody knows"),
    ],
)
def test_answer_that_cannot_be_believed_is_no_success(answer: NodeConfigRefreshResponse) -> None:
    async def scenario() -> None:
        async with station("a") as a:

            async def lie(_: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                return answer

            a.node.refresh = lie
            sleeper = Sleeper()
            async with fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(sleeper)) as (_, watcher):
                state = await watcher.connection("a", NodeConnection.DIVERGED)
                assert not state.in_sync
                assert state.last_error
                await sleeper.asleep()
                assert sleeper.delays == [SLOW]

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_reason_of_a_session_that_a_commit_has_ended_is_kept() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with (
            station("a") as a,
            fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(sleeper)) as (edge, watcher),
        ):
            await watcher.in_sync(1, "a")

            async def lie(_: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                return NodeConfigRefreshResponse()

            a.node.refresh = lie
            assert (await edge.commit(all_desired(2, "a")))[A].outcome is NodeOutcome.UNKNOWN
            state = await watcher.connection("a", NodeConnection.DIVERGED)
            assert state.last_error == "the Node's answer has no outcome"

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_unreadable_address_or_tls_is_shown_and_delays_nobody() -> None:
    async def scenario() -> None:
        async with station("a") as a, station("b") as b, station("c") as c:
            targets = (
                a.target(),
                b.target(address="nonsense"),
                c.target(tls=lambda: Tls(cert="no certificate", key="s3cret")),
            )
            wanted = all_desired(1, "a", "b", "c")
            async with fleet(*targets, wanted=wanted, pace=patient(Sleeper())) as (edge, watcher):
                await watcher.in_sync(1, "a")
                await edge.settled()
                states = edge.states()
                assert states[NodeId("b")].connection is states[NodeId("c")].connection is NodeConnection.REFUSED
                assert "s3cret" not in str(states)

    run(scenario())


@pytest.mark.contract("PSH-04")
def test_node_that_accepts_and_is_silent_is_given_up_at_the_deadline() -> None:
    async def scenario() -> None:
        writers: list[asyncio.StreamWriter] = []
        silent = await asyncio.start_server(lambda _reader, writer: writers.append(writer), "127.0.0.1", 0)
        address = Address(host="127.0.0.1", port=silent.sockets[0].getsockname()[1])
        pace = patient(Sleeper(), handshake_deadline=0.05)
        async with fleet(Target(A, str(address)), wanted=all_desired(1, "a"), pace=pace) as (_, watcher):
            state = await watcher.connection("a", NodeConnection.UNREACHABLE)
            assert state.last_error == "no answer in time"
        for writer in writers:
            writer.close()
        silent.close()

    run(scenario())


def test_unix_socket_of_a_node_is_dialled(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("s") / "a.sock"

    async def scenario() -> None:
        async with station("a") as a:
            await a.stop()
            a.address = Address(path=str(path))
            await a.start()
            async with fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
                await watcher.in_sync(1, "a")

    run(scenario())
