"""Check, commit and put back: what each reports, and that a lost answer is never applied twice."""

import asyncio
from collections.abc import Callable

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.ids import NodeId
from iop_edge.node.adapters import AdapterError, RestartNeededError
from iop_edge.pool.status import NodeConnection
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import Desired
from iop_edge.refresh.result import NodeOutcome, NodeReport
from iop_pb.iop.runtime.v1 import (
    NodeConfigRefreshMode,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
    NodeViolation,
)
from tests.support import run
from tests.unit.push.world import Sleeper, Station, Watcher, all_desired, desired, fleet, patient, station

pytestmark = pytest.mark.contract("PSH-03")

A, B = NodeId("a"), NodeId("b")


async def one(step: Callable[[dict[NodeId, Desired]], object], concurrency: int) -> NodeReport:
    """Take a step with one Node."""
    reports = await step(all_desired(concurrency, "a"))  # type: ignore[misc]
    report = reports[A]
    assert isinstance(report, NodeReport)
    return report


def refuse(outcome: NodeConfigRefreshOutcome, machine: Station, *, commits_only: bool = False) -> None:
    """Have a Node answer with this outcome."""
    take = machine.node.refresh

    async def answer(push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        if commits_only and push.mode is not NodeConfigRefreshMode.COMMIT:
            return await take(push)
        violation = NodeViolation(rule="node.adapter", path="payload.adapters[0]", message="no")
        return NodeConfigRefreshResponse(outcome=outcome, running=machine.node._running, violations=[violation])

    machine.node.refresh = answer


def lose_answer(machine: Station, *, applied: bool) -> None:
    """Have a Node's next commit lose its connection before the answer, after or before it has applied it."""
    take = machine.node.refresh

    async def lose(push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
        if push.mode is not NodeConfigRefreshMode.COMMIT:
            return await take(push)
        if applied:
            await take(push)
        machine.node.refresh = take
        machine.cut()
        await asyncio.Event().wait()
        raise AssertionError

    machine.node.refresh = lose


def test_check_asks_and_changes_nothing() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            report = await one(edge.check, 2)
            assert report == NodeReport("a", NodeOutcome.CHECKED, "", 1)
            assert a.node.commits == [1]
            assert edge.states()[A].in_sync
            assert edge.states()[A].revision == 1

    run(scenario())


def test_commit_runs_the_payload() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            await one(edge.check, 2)
            report = await one(edge.commit, 2)
            assert report.outcome is NodeOutcome.COMMITTED
            assert report.generation == edge.states()[A].generation > 1
            assert edge.states()[A].revision == 2
            assert a.node.commits == [1, 2]

    run(scenario())


def test_payload_that_runs_already_is_unchanged_in_both_steps() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            assert (await one(edge.check, 1)).outcome is NodeOutcome.UNCHANGED
            assert (await one(edge.commit, 1)).outcome is NodeOutcome.UNCHANGED
            assert len(a.node.pushes) == 1

    run(scenario())


def test_put_back_runs_the_old_payload_with_a_higher_generation() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            committed = await one(edge.commit, 2)
            report = await one(edge.put_back, 1)
            assert report.outcome is NodeOutcome.ROLLED_BACK
            assert report.generation > committed.generation
            assert a.node.commits == [1, 2, 1]
            assert edge.states()[A].revision == 1

    run(scenario())


def test_put_back_of_a_node_that_was_sent_nothing_has_no_report() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            await one(edge.check, 2)
            assert await edge.put_back(all_desired(1, "a")) == {}
            assert a.node.commits == [1]

    run(scenario())


def test_put_back_of_a_node_that_ran_the_new_payload_already_is_rolled_back() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(2, "a")) as (edge, watcher):
            await watcher.in_sync(2, "a")
            assert (await one(edge.commit, 2)).outcome is NodeOutcome.UNCHANGED
            assert (await one(edge.put_back, 1)).outcome is NodeOutcome.ROLLED_BACK
            assert a.node.commits == [2, 1]

    run(scenario())


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (AdapterError("no such backend"), NodeOutcome.REJECTED),
        (RestartNeededError("the port is held"), NodeOutcome.RESTART_REQUIRED),
    ],
)
def test_check_says_what_the_node_refuses_and_why(error: Exception, outcome: NodeOutcome) -> None:
    answers = {
        NodeOutcome.REJECTED: NodeConfigRefreshOutcome.REJECTED,
        NodeOutcome.RESTART_REQUIRED: NodeConfigRefreshOutcome.RESTART_REQUIRED,
    }

    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            refuse(answers[outcome], a)
            report = await one(edge.check, 2)
            assert report == NodeReport("a", outcome, "payload.adapters[0] no [node.adapter]", 1)
            assert edge.states()[A].connection is NodeConnection.CONNECTED
            assert edge.states()[A].in_sync

    del error
    run(scenario())


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_check_that_is_answered_with_an_error_is_refused_in_the_words_of_the_node(status: Status) -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            take = a.node.refresh

            async def fail(_: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                a.node.refresh = take
                raise GRPCError(status, "no room for it")

            a.node.refresh = fail
            report = await one(edge.check, 2)
            assert report.outcome is NodeOutcome.REJECTED
            assert report.reason.endswith(": no room for it")
            if status in (Status.UNAUTHENTICATED, Status.PERMISSION_DENIED, Status.ABORTED):
                await watcher.until(lambda: ("a", NodeConnection.REFUSED) in watcher.history)
            else:
                assert edge.states()[A].in_sync
                assert a.node.handshakes == 1

    run(scenario())


def test_a_check_without_an_outcome_is_refused_and_the_node_stays_in_use() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            refuse(NodeConfigRefreshOutcome.UNSPECIFIED, a)
            report = await one(edge.check, 2)
            assert (report.outcome, report.reason) == (NodeOutcome.REJECTED, "the Node's answer has no outcome")
            assert edge.states()[A].connection is NodeConnection.CONNECTED

    run(scenario())


def test_node_that_refuses_only_the_commit_is_diverged_until_it_is_put_back() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            refuse(NodeConfigRefreshOutcome.REJECTED, a, commits_only=True)
            assert (await one(edge.check, 2)).outcome is NodeOutcome.CHECKED
            assert (await one(edge.commit, 2)).outcome is NodeOutcome.REJECTED
            state = edge.states()[A]
            assert (state.connection, state.in_sync, state.revision) == (NodeConnection.DIVERGED, False, 1)
            assert state.last_error == "payload.adapters[0] no [node.adapter]"
            assert (await one(edge.put_back, 1)).outcome is NodeOutcome.ROLLED_BACK
            state = edge.states()[A]
            assert (state.connection, state.in_sync, state.last_error) == (NodeConnection.CONNECTED, True, "")

    run(scenario())


def test_put_back_that_is_refused_has_failed() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            await one(edge.commit, 2)
            refuse(NodeConfigRefreshOutcome.REJECTED, a)
            assert (await one(edge.put_back, 1)).outcome is NodeOutcome.ROLLBACK_FAILED

    run(scenario())


def test_unreachable_node_is_reported_at_once_and_converged_when_it_is_back() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with station("a") as a, station("b") as b:
            await b.stop()
            wanted = all_desired(1, "a", "b")
            async with fleet(a.target(), b.target(), wanted=wanted, pace=patient(sleeper)) as (edge, watcher):
                await watcher.in_sync(1, "a")
                for step, done in ((edge.check, NodeOutcome.CHECKED), (edge.commit, NodeOutcome.COMMITTED)):
                    reports = await step(all_desired(2, "a", "b"))
                    assert reports[A].outcome is done
                    assert reports[B].outcome is NodeOutcome.UNREACHABLE
                    assert reports[B].reason == "cannot connect: Connection refused"
                    assert reports[B].generation == 0
                await b.start()
                await sleeper.wake()
                await watcher.in_sync(2, "b")
                assert b.node.commits == [2]

    run(scenario())


@pytest.mark.parametrize("applied", [True, False])
def test_lost_answer_is_unknown_and_nothing_is_applied_twice(*, applied: bool) -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            lose_answer(a, applied=applied)
            report = await one(edge.commit, 2)
            assert report.outcome is NodeOutcome.UNKNOWN
            await watcher.in_sync(2, "a")
            assert a.node.commits == ([1, 2] if applied else [1, 2, 2])
            assert a.node.running_set.resources

    run(scenario())


def test_answer_after_the_deadline_is_unknown_and_found_out_by_a_new_handshake() -> None:
    async def scenario() -> None:
        async with station("a") as a:
            pace = patient(Sleeper(awake=True), push_deadline=0.05)
            async with fleet(a.target(), wanted=all_desired(1, "a"), pace=pace) as (edge, watcher):
                await watcher.in_sync(1, "a")
                take = a.node.refresh

                async def late(push: NodeConfigRefreshRequest) -> NodeConfigRefreshResponse:
                    answer = await take(push)
                    await asyncio.Event().wait()
                    return answer

                a.node.refresh = late
                report = await one(edge.commit, 2)
                assert (report.outcome, report.reason) == (NodeOutcome.UNKNOWN, "no answer in time")
                await watcher.in_sync(2, "a")
                assert a.node.commits == [1, 2]

    run(scenario())


def test_node_that_is_lost_between_check_and_commit_is_unknown() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with (
            station("a") as a,
            fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(sleeper)) as (edge, watcher),
        ):
            await watcher.in_sync(1, "a")
            assert (await one(edge.check, 2)).outcome is NodeOutcome.CHECKED
            await a.stop()
            await watcher.connection("a", NodeConnection.UNREACHABLE)
            assert (await one(edge.commit, 2)).outcome is NodeOutcome.UNKNOWN
            assert (await one(edge.commit, 3)).outcome is NodeOutcome.UNREACHABLE
            await a.start()
            await sleeper.wake()
            await watcher.in_sync(3, "a")

    run(scenario())


def test_a_node_that_was_lost_before_its_last_check_got_nothing_whatever_an_older_check_said() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with (
            station("a") as a,
            fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(sleeper)) as (edge, watcher),
        ):
            await watcher.in_sync(1, "a")
            assert (await one(edge.check, 2)).outcome is NodeOutcome.CHECKED
            await a.stop()
            await watcher.connection("a", NodeConnection.UNREACHABLE)
            await sleeper.wake()
            assert (await one(edge.check, 2)).outcome is NodeOutcome.UNREACHABLE
            assert (await one(edge.commit, 2)).outcome is NodeOutcome.UNREACHABLE
            assert await edge.put_back(all_desired(1, "a")) == {}

    run(scenario())


def test_put_back_of_a_lost_node_waits_for_one_try_and_is_converged_later() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with (
            station("a") as a,
            fleet(a.target(), wanted=all_desired(1, "a"), pace=patient(sleeper)) as (edge, watcher),
        ):
            await watcher.in_sync(1, "a")
            kept = a.node
            await one(edge.commit, 2)
            await a.stop()
            await watcher.connection("a", NodeConnection.UNREACHABLE)
            putting_back = asyncio.create_task(one(edge.put_back, 1))
            await sleeper.wake()
            assert (await putting_back).outcome is NodeOutcome.ROLLBACK_FAILED
            assert kept.commits == [1, 2]
            await a.start()
            await sleeper.wake()
            await watcher.in_sync(1, "a")
            assert a.node.commits == [1]

    run(scenario())


def test_check_waits_for_a_node_that_is_being_dialled() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, _):
            assert (await one(edge.check, 2)).outcome is NodeOutcome.CHECKED
            assert edge.states()[A].in_sync

    run(scenario())


def test_node_that_flaps_between_check_and_commit_is_asked_again() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            a.cut()
            await watcher.until(lambda: not watcher.states["a"].in_sync)
            assert (await one(edge.check, 2)).outcome is NodeOutcome.CHECKED

    run(scenario())


def test_every_node_has_a_report() -> None:
    async def scenario(edge: Fleet, watcher: Watcher, names: list[str]) -> None:
        await watcher.in_sync(1, *names)
        reports = await edge.commit(all_desired(2, *names))
        assert list(reports) == sorted(names)
        assert {report.outcome for report in reports.values()} == {NodeOutcome.COMMITTED}

    async def many() -> None:
        names = ["c", "a", "b"]
        async with station("a") as a, station("b") as b, station("c") as c:
            targets = [machine.target() for machine in (c, a, b)]
            async with fleet(*targets, wanted=all_desired(1, *names)) as (edge, watcher):
                await scenario(edge, watcher, names)

    run(many())


def test_desired_payload_shows_no_bytes() -> None:
    assert "m" * 50 not in repr(desired("a", 1, padding=100))
