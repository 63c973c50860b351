"""Sessions that are lost under way: every Node ends where it should, and nothing is applied twice."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from hyperframe.frame import GoAwayFrame

from iop_edge.ids import Generation, NodeId
from iop_edge.pool.status import NodeConnection
from iop_edge.refresh.result import NodeOutcome
from iop_pb.iop.runtime.v1 import (
    HandshakeRequest,
    HandshakeResponse,
    NodeConfigRefreshMode,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
    NodeConfigStatusRequest,
    NodeConfigStatusResponse,
    RunningPayload,
)
from tests.support import run
from tests.unit.push.leaks import nothing_left
from tests.unit.push.world import Sleeper, Station, all_desired, awake, desired, fleet, patient, station

A, B = NodeId("a"), NodeId("b")

ALL_CALLS = 2**31 - 1


def say_goodbye(machine: Station, last_stream_id: int) -> None:
    """Have a Node say goodbye in good form, which promises to serve the calls up to this one."""
    assert machine._server is not None
    for protocol in machine._server._server.connections():
        protocol.transport.write(GoAwayFrame(0, last_stream_id=last_stream_id).serialize())


@pytest.mark.contract("PSH-02")
def test_push_that_runs_when_the_node_says_goodbye_is_answered_and_the_node_dialled_again() -> None:
    async def scenario() -> None:
        async with nothing_left(), station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            take = a.node.refresh

            async def leave(push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                say_goodbye(a, ALL_CALLS)
                return await take(push)

            a.node.refresh = leave
            assert (await edge.commit(all_desired(2, "a")))[A].outcome is NodeOutcome.COMMITTED
            await watcher.until(lambda: a.node.handshakes == 2)
            await watcher.in_sync(2, "a")
            assert a.node.commits == [1, 2]

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_push_that_the_leaving_node_disowns_is_unknown_and_is_not_applied_twice() -> None:
    async def scenario() -> None:
        async with nothing_left(), station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            take = a.node.refresh

            async def leave(push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                answer = await take(push)
                say_goodbye(a, 0)
                await asyncio.Event().wait()
                return answer

            a.node.refresh = leave
            assert (await edge.commit(all_desired(2, "a")))[A].outcome is NodeOutcome.UNKNOWN
            await watcher.in_sync(2, "a")
            assert a.node.commits == [1, 2]

    run(scenario())


@pytest.mark.contract("PSH-04")
def test_node_that_stops_reading_is_given_up_at_the_deadline_and_keeps_nobody_waiting() -> None:
    async def scenario() -> None:
        pace = awake(push_deadline=0.5, sends_at_once=1, send_hold=0.01)
        async with (
            nothing_left(),
            station("a") as a,
            station("b") as b,
            fleet(a.target(), b.target(), pace=pace) as (edge, _),
        ):
            await edge.settled()
            assert a._server is not None
            for protocol in a._server._server.connections():
                protocol.transport.pause_reading()
            reports = await edge.commit({A: desired("a", 1, padding=8 << 20), B: desired("b", 1)})
            assert (reports[A].outcome, reports[A].reason) == (NodeOutcome.UNKNOWN, "no answer in time")
            assert reports[B].outcome is NodeOutcome.COMMITTED

    run(scenario())


NAMES = [f"n{number}" for number in range(200)]
HUNG, FLAPPING = NAMES[:20], NAMES[20:30]
SOUND = NAMES[20:]


class Hung:
    """Answers no handshake until it is let go."""

    def __init__(self, machine: Station, let_go: asyncio.Event) -> None:
        self._shake = machine.node.shake
        self._let_go = let_go

    async def __call__(self, message: HandshakeRequest) -> HandshakeResponse:
        await self._let_go.wait()
        return await self._shake(message)


class Flapping:
    """Loses the connection at every push, before it has applied it the first time, after it the next."""

    def __init__(self, machine: Station) -> None:
        self.applied: list[int] = []
        self._machine = machine
        self._take: Callable[[NodeConfigRefreshRequest], Awaitable[NodeConfigRefreshResponse]] = machine.node.refresh
        self._pushes = 0

    async def __call__(self, push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        self._pushes += 1
        if self._pushes % 2 == 0:
            answer = await self._take(push)
            was_taken = answer.outcome is NodeConfigRefreshOutcome.COMMITTED
            if was_taken and push.mode is NodeConfigRefreshMode.COMMIT:
                self.applied.append(push.revision)
        self._machine.cut()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.contract("PSH-03", "PSH-04")
@pytest.mark.case("A14")
def test_two_hundred_nodes_of_which_some_hang_and_some_flap_end_where_they_should() -> None:
    async def scenario() -> None:
        let_go = asyncio.Event()
        async with nothing_left(), AsyncExitStack() as stack:
            machines = {name: await stack.enter_async_context(station(name)) for name in NAMES}
            flapping = [Flapping(machines[name]) for name in FLAPPING]
            for name, flaps in zip(FLAPPING, flapping, strict=True):
                machines[name].node.refresh = flaps
            for name in HUNG:
                machines[name].node.shake = Hung(machines[name], let_go)
            targets = [machine.target() for machine in machines.values()]
            pace = awake(send_hold=0.01)
            async with fleet(*targets, wanted=all_desired(1, *NAMES), pace=pace) as (edge, watcher):
                await watcher.in_sync(1, *SOUND)
                reports = await edge.commit(all_desired(2, *NAMES))
                steady = [name for name in SOUND if name not in FLAPPING]
                assert {reports[NodeId(name)].outcome for name in steady} == {NodeOutcome.COMMITTED}
                assert {reports[NodeId(name)].outcome for name in FLAPPING} <= {NodeOutcome.UNKNOWN}
                assert {reports[NodeId(name)].outcome for name in HUNG} == {NodeOutcome.UNREACHABLE}
                await watcher.in_sync(2, *SOUND)
                let_go.set()
                await watcher.in_sync(2, *NAMES)
                assert all(machines[name].node.commits == [1, 2] for name in steady)
                assert all(machines[name].node.commits == [2] for name in HUNG)
                assert [flaps.applied for flaps in flapping] == [[1, 2]] * len(FLAPPING)
                assert {state.connection for state in edge.states().values()} == {NodeConnection.CONNECTED}

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_a_node_that_hangs_up_after_each_handshake_is_dialled_at_growing_distances() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with (
            station("a") as a,
            fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(sleeper)) as (_, watcher),
        ):
            for _ in range(4):
                await watcher.in_sync(1, "a")
                a.cut()
                await watcher.connection("a", NodeConnection.UNREACHABLE)
                await sleeper.wake()
            await watcher.in_sync(1, "a")
            assert sleeper.delays == [0.2, 0.4, 0.8, 1.6]
            sleeper.advance(30)
            a.cut()
            await watcher.connection("a", NodeConnection.UNREACHABLE)
            await sleeper.asleep()
            assert sleeper.delays[-1] == 0.2

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_an_idle_node_that_is_frozen_is_noticed() -> None:
    async def scenario() -> None:
        pace = patient(Sleeper(), heartbeat=0.01, handshake_deadline=0.3)
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a"), pace=pace) as (_, watcher):
            await watcher.in_sync(1, "a")

            async def freeze(_: NodeConfigStatusRequest) -> NodeConfigStatusResponse:
                await asyncio.Event().wait()
                raise AssertionError

            a.node.node_config_status = freeze  # type: ignore[method-assign, assignment]
            state = await watcher.connection("a", NodeConnection.UNREACHABLE)
            assert state.last_error == "no answer in time"

    run(scenario())


@pytest.mark.contract("PSH-02")
@pytest.mark.parametrize("how", ["status", "health"])
def test_a_generation_that_this_edge_never_sent_ends_the_session(how: str) -> None:
    async def scenario() -> None:
        pace = patient(Sleeper(), heartbeat=0.01 if how == "status" else 60)
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a"), pace=pace) as (_, watcher):
            await watcher.in_sync(1, "a")
            if how == "status":
                a.node._running = RunningPayload(generation=77)
            else:
                a.node.health.replace(Generation(77), ())
            state = await watcher.connection("a", NodeConnection.UNREACHABLE)
            assert state.last_error == "the Node runs generation 77, which this Edge has not sent"

    run(scenario())
