"""Each Node on its own: dialled, pushed to, dialled again, and never pushed to without need."""

import asyncio

import pytest

from iop_edge.ids import NodeId
from iop_edge.pool.status import NodeConnection
from iop_edge.push.model import Pushed
from iop_edge.refresh.result import Mode, NodeOutcome
from iop_pb.iop.runtime.v1 import (
    HandshakeRequest,
    HandshakeResponse,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
)
from tests.support import run
from tests.unit.push.world import (
    Scripted,
    Sleeper,
    Station,
    all_desired,
    desired,
    fleet,
    patient,
    station,
)

pytestmark = pytest.mark.contract("PSH-01")

A = NodeId("a")


def test_node_is_pushed_to_when_it_is_connected() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted={A: desired("a", 3, revision=8)}) as (edge, watcher):
            await watcher.in_sync(8, "a")
            state = edge.states()[A]
            assert (state.connection, state.generation, state.last_error) == (NodeConnection.CONNECTED, 1, "")
            (push,) = a.node.pushes
            assert push.edge_id == "edge-1"
            assert push.payload_hash == desired("a", 3).encoded.tag

    run(scenario())


def test_settled_waits_for_the_first_try_of_each() -> None:
    async def scenario() -> None:
        async with station("a") as a, station("b") as b:
            await b.stop()
            wanted = all_desired(1, "a", "b")
            sleeper = Sleeper()
            async with fleet(a.target(), b.target(), wanted=wanted, pace=patient(sleeper)) as (edge, _):
                await edge.settled()
                states = edge.states()
                assert list(states) == ["a", "b"]
                assert states[A].in_sync
                assert states[NodeId("b")].connection is NodeConnection.UNREACHABLE

    run(scenario())


def test_node_that_comes_back_empty_is_pushed_to_again() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            await watcher.in_sync(1, "a")
            await a.stop()
            await watcher.until(lambda: not watcher.states["a"].in_sync)
            node = await a.start()
            await watcher.in_sync(1, "a")
            assert node.commits == [1]

    run(scenario())


def test_node_that_still_runs_its_payload_is_not_pushed_to_on_reconnect() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            await watcher.in_sync(1, "a")
            a.cut()
            await watcher.until(lambda: not watcher.states["a"].in_sync)
            await watcher.in_sync(1, "a")
            assert a.node.handshakes == 2
            assert a.node.commits == [1]

    run(scenario())


def test_node_that_runs_another_payload_is_connected_when_it_has_taken_this_one() -> None:
    async def scenario() -> None:
        async with station("a") as a:
            async with fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
                await watcher.in_sync(1, "a")
            pushed, go_on, take = asyncio.Event(), asyncio.Event(), a.node.refresh

            async def slow(message: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                pushed.set()
                await go_on.wait()
                return await take(message)

            a.node.refresh = slow
            async with fleet(a.target(), wanted=all_desired(2, "a")) as (edge, watcher):
                await pushed.wait()
                assert edge.states()[A].connection is NodeConnection.CONNECTING
                go_on.set()
                await watcher.in_sync(2, "a")
                assert watcher.history[0] == (A, NodeConnection.CONNECTED)

    run(scenario())


def test_node_that_stops_in_good_form_is_dialled_anew() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            await watcher.in_sync(1, "a")
            kept = a.node
            await a._server.drain(0)  # type: ignore[union-attr]
            await watcher.until(lambda: not watcher.states["a"].in_sync)
            await a.start(kept)
            await watcher.in_sync(1, "a")
            assert kept.commits == [1]

    run(scenario())


def test_new_revision_of_equal_content_counts_without_a_push() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted={A: desired("a", 1, revision=1)}) as (edge, watcher):
            await watcher.in_sync(1, "a")
            edge.set_desired({A: desired("a", 1, revision=2)})
            await watcher.in_sync(2, "a")
            assert len(a.node.pushes) == 1

    run(scenario())


def test_new_content_is_pushed_in_the_background() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            edge.set_desired(all_desired(2, "a"))
            await watcher.in_sync(2, "a")
            assert a.node.commits == [1, 2]
            assert len({push.generation for push in a.node.pushes}) == 2

    run(scenario())


def test_latest_content_wins_and_what_is_between_is_never_sent() -> None:
    async def scenario() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()
        async with station("a") as a, fleet(a.target()) as (edge, watcher):
            take = a.node.refresh

            async def slowly(push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                begun.set()
                await go_on.wait()
                return await take(push)

            a.node.refresh = slowly
            await edge.settled()
            edge.set_desired(all_desired(1, "a"))
            await begun.wait()
            edge.set_desired(all_desired(2, "a"))
            edge.set_desired(all_desired(3, "a"))
            go_on.set()
            await watcher.in_sync(3, "a")
            assert a.node.commits == [1, 3]

    run(scenario())


def test_nothing_desired_is_nothing_pushed() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target()) as (edge, _):
            await edge.settled()
            assert edge.states()[A].connection is NodeConnection.CONNECTED
            assert not a.node.pushes

    run(scenario())


@pytest.mark.contract("PSH-02")
def test_new_session_continues_above_the_generation_of_the_node() -> None:
    async def scenario() -> None:
        async with station("a") as a:
            async with fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
                for concurrency in range(2, 6):
                    edge.set_desired(all_desired(concurrency, "a"))
                    await watcher.in_sync(concurrency, "a")
                last = edge.states()[A].generation
            async with fleet(a.target(), wanted=all_desired(9, "a"), instance="instance-2") as (edge, watcher):
                await watcher.in_sync(9, "a")
                assert edge.states()[A].generation == last + 1

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_pauses_grow_to_their_cap_and_begin_anew_after_a_session_that_lasted() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        a = Station("a")
        await a.start()
        await a.stop()
        pace = patient(sleeper, backoff_base=1.0, backoff_cap=10.0)
        async with fleet(a.target(), wanted=all_desired(1, "a"), pace=pace) as (_, watcher):
            for _attempt in range(6):
                await sleeper.wake()
            node = await a.start()
            await sleeper.wake()
            await watcher.in_sync(1, "a")
            assert sleeper.delays == [2.0, 4.0, 8.0, 10.0, 10.0, 10.0, 10.0]
            assert node.commits == [1]
            sleeper.advance(30)
            a.cut()
            await sleeper.wake()
            await watcher.in_sync(1, "a")
            assert sleeper.delays[-1] == 2.0
        await a.stop()

    run(scenario())


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize(("chance", "paused"), [(0.0, [0.0, 0.0, 0.0]), (0.5, [1.0, 2.0, 4.0]), (1.0, [2.0, 4.0, 8.0])])
def test_pauses_are_spread_over_their_whole_length(chance: float, paused: list[float]) -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        a = Station("a")
        await a.start()
        await a.stop()
        pace = patient(sleeper, backoff_base=1.0, chance=lambda: chance)
        async with fleet(a.target(), pace=pace):
            for _ in range(2):
                await sleeper.wake()
            await sleeper.asleep()
            assert sleeper.delays == paused

    run(scenario())


@pytest.mark.contract("PSH-04")
@pytest.mark.case("A14")
def test_node_that_hangs_does_not_delay_the_others() -> None:
    async def scenario() -> None:
        never = asyncio.Event()
        async with station("a") as a, station("b") as b:

            async def hang(_: object) -> None:
                await never.wait()

            b.node.shake = hang  # type: ignore[assignment]
            async with fleet(a.target(), b.target(), wanted=all_desired(1, "a", "b")) as (edge, watcher):
                await watcher.in_sync(1, "a")
                reports = await edge.commit(all_desired(2, "a"))
                assert reports[A].outcome == "committed"
                assert edge.states()[NodeId("b")].connection is NodeConnection.CONNECTING

    run(scenario())


@pytest.mark.contract("PSH-04")
def test_nodes_are_greeted_a_few_at_a_time() -> None:
    async def scenario() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()
        async with station("a") as a, station("b") as b:
            shake = a.node.shake

            async def slowly(message: HandshakeRequest) -> HandshakeResponse:
                begun.set()
                await go_on.wait()
                return await shake(message)

            a.node.shake = slowly
            pace = patient(Sleeper(), dials_at_once=1, send_hold=1e6)
            wanted = all_desired(1, "a", "b")
            async with fleet(a.target(), b.target(), wanted=wanted, pace=pace) as (_, watcher):
                await begun.wait()
                assert not b.node.handshakes
                go_on.set()
                await watcher.in_sync(1, "a", "b")

    run(scenario())


@pytest.mark.contract("PSH-04")
def test_node_that_does_not_answer_keeps_no_place_of_the_senders() -> None:
    async def scenario() -> None:
        begun = asyncio.Event()

        async def hang(_: object) -> NodeConfigRefreshResponse:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        async with station("a") as a, station("b") as b:
            b.node.refresh = hang
            pace = patient(Sleeper(), sends_at_once=1, send_hold=1e6)
            async with fleet(a.target(), b.target(), pace=pace) as (edge, watcher):
                await edge.settled()
                edge.set_desired(all_desired(1, "b"))
                await begun.wait()
                edge.set_desired(all_desired(1, "a"))
                await watcher.in_sync(1, "a")
                assert not watcher.states["b"].in_sync

    run(scenario())


class Ticking(Sleeper):
    """A clock on which a second passes between two looks."""

    def monotonic(self) -> float:
        self.advance(1)
        return super().monotonic()


def test_each_push_is_told_of_with_its_end_and_its_time() -> None:
    async def scenario() -> None:
        pace = patient(Ticking(awake=True))
        async with station("a") as a, fleet(a.target(), pace=pace) as (edge, watcher):
            await edge.settled()
            await edge.check(all_desired(1, "a"))
            await edge.commit(all_desired(1, "a"))

            async def lose(_: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                a.cut()
                await asyncio.Event().wait()
                raise AssertionError

            a.node.refresh, take = lose, a.node.refresh
            await edge.commit(all_desired(2, "a"))
            a.node.refresh = take
            await watcher.in_sync(2, "a")
        committed = ("a", Pushed(Mode.APPLY, NodeOutcome.COMMITTED, 1))
        assert watcher.pushed == [
            ("a", Pushed(Mode.DRY_RUN, NodeOutcome.CHECKED, 1)),
            committed,
            ("a", Pushed(Mode.APPLY, None, 1)),
            committed,
        ]

    run(scenario())


def test_fault_of_a_listener_ends_no_session(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            watcher.fails = True
            reports = await edge.commit(all_desired(2, "a"))
            assert reports[A].outcome == "committed"
            assert edge.states()[A].in_sync

    run(scenario())
    assert "a listener failed" in caplog.text


def test_closed_fleet_leaves_no_task_and_no_connection() -> None:
    async def scenario() -> None:
        hung: Scripted
        async with station("a") as a, station("b") as b, station("c") as c:
            await c.stop()
            hung = b.node

            async def hang(_: object) -> None:
                await asyncio.Event().wait()

            hung.shake = hang  # type: ignore[assignment]
            before = asyncio.all_tasks()
            wanted = all_desired(1, "a", "b", "c")
            pace = patient(Sleeper())
            async with fleet(a.target(), b.target(), c.target(), wanted=wanted, pace=pace) as (_, watcher):
                await watcher.in_sync(1, "a")
            own = {task for task in asyncio.all_tasks() - before if "request_handler" not in str(task.get_coro())}
            assert not own
            assert a._server is not None
            while a._server._server.connections():  # noqa: ASYNC110
                await asyncio.sleep(0)

    run(scenario())
