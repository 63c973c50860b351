import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from iop_edge.daemon.coordinator import Origin, Request
from iop_edge.errors import ConfigError, EdgeError, Report, Violation
from iop_edge.load.snapshot import Snapshot
from iop_edge.refresh.attempt import Attempt, Options, Trigger
from iop_edge.refresh.result import Mode, NodeOutcome, RefreshResult, Status
from iop_edge.store.base import Applied
from iop_edge.store.memory import MemoryStore
from tests.support import run
from tests.unit.daemon.scripted import Bench, config

BOTH = pytest.mark.parametrize("mode", list(Mode))
LISTS = ("changes", "masks", "changed_nodes", "changed_providers", "changed_models", "violations", "pending", "reports")


def rules(result: RefreshResult) -> list[str]:
    return [violation.rule for violation in result.violations]


def paths(changes: Any) -> list[str]:
    return [change.path for change in changes]


def outcomes(result: RefreshResult) -> dict[str, NodeOutcome]:
    return {report.node_id: report.outcome for report in result.reports}


def assert_nothing_changed(bench: Bench, before: Snapshot) -> None:
    running = bench.coordinator.running
    assert running.snapshot is before
    assert running.revision == 1
    assert bench.swapped == []
    assert bench.store.newest() == bench.store.applied(1)
    for node, payload in running.payloads.items():
        state = bench.fleet[node]
        assert state.desired is not None
        assert state.desired.encoded == payload


class SlowLoad:
    """A candidate that takes as long to load as a test wants."""

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree
        self._begun, self._end = threading.Event(), threading.Event()

    def __call__(self) -> Snapshot:
        self._begun.set()
        self._end.wait()
        return Snapshot(self._tree)

    async def begun(self) -> None:
        await asyncio.to_thread(self._begun.wait)

    def end(self) -> None:
        self._end.set()

    def propose(self, bench: Bench) -> asyncio.Task[RefreshResult]:
        request = Request(self, Mode.APPLY, Options(), Origin())
        return asyncio.create_task(bench.coordinator.refresh(request))


class FullStore(MemoryStore):
    """A store on a full disk, from its second attempt on."""

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        if attempt.trigger is not Trigger.START:
            raise EdgeError("the disk is full")
        return super().record(attempt, applied)


@pytest.mark.contract("REF-06")
@BOTH
def test_a_live_change_is_applied_and_a_dry_run_says_the_same_without_doing_it(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(capacity=3), mode)
        assert (result.status, result.mode) == (Status.APPLIED, mode)
        assert paths(result.changes) == ["nodes[a].providers[a-p].capacity", "nodes[b].providers[b-p].capacity"]
        assert result.changed_providers == ("a-p", "b-p")
        assert result.candidate_hash
        assert result.reports == ()
        if mode is Mode.DRY_RUN:
            assert not result.committed
            assert (result.revision_before, result.revision_after) == (1, 1)
            assert_nothing_changed(bench, before)
            return
        assert result.committed
        assert (result.revision_before, result.revision_after) == (1, 2)
        assert bench.coordinator.running.config_hash == result.candidate_hash
        assert [running.revision for running in bench.swapped] == [2]

    run(scenario())


@pytest.mark.contract("PSH-01")
def test_a_change_that_no_payload_has_is_pushed_to_nobody_but_counts_as_their_revision() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        await bench.refresh(config(capacity=3))
        for name in ("a", "b"):
            state = bench.fleet[name]
            assert state.asked == []
            assert state.desired is not None
            assert state.desired.revision == 2

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_a_change_of_a_payload_is_checked_everywhere_before_it_is_committed() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(concurrency=4))
        assert outcomes(result) == {"a": NodeOutcome.COMMITTED, "b": NodeOutcome.COMMITTED}
        assert bench.fleet["a"].asked == ["check", "commit"]
        assert bench.fleet["a"].runs == bench.coordinator.running.payloads[bench_id("a")].tag

    run(scenario())


def bench_id(name: str) -> Any:
    return name


@pytest.mark.contract("REF-06")
def test_a_dry_run_asks_the_nodes_and_commits_nothing() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(concurrency=4), Mode.DRY_RUN)
        assert outcomes(result) == {"a": NodeOutcome.COMMITTED, "b": NodeOutcome.COMMITTED}
        assert bench.fleet["a"].asked == bench.fleet["b"].asked == ["check"]
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.case("A14")
@BOTH
def test_one_node_that_refuses_the_check_rejects_the_candidate_everywhere(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        bench.fleet["b"].check = NodeOutcome.REJECTED
        result = await bench.refresh(config(concurrency=4), mode)
        assert (result.status, result.committed) == (Status.REJECTED, False)
        assert [(v.rule, v.path) for v in result.violations] == [("node.rejected", "nodes[b]")]
        assert outcomes(result) == {"a": NodeOutcome.COMMITTED, "b": NodeOutcome.REJECTED}
        assert bench.fleet["a"].asked == ["check"]
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize("lost", [NodeOutcome.COMMITTED, NodeOutcome.UNKNOWN])
def test_a_node_that_refuses_after_its_check_has_the_others_put_back(lost: NodeOutcome) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        bench.fleet["a"].commit = lost
        bench.fleet["b"].commit = NodeOutcome.REJECTED
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, result.committed, result.revision_after) == (Status.REJECTED, False, 1)
        assert outcomes(result) == {"a": NodeOutcome.ROLLED_BACK, "b": NodeOutcome.REJECTED}
        assert bench.fleet["b"].asked == ["check", "commit"]
        assert bench.fleet["a"].runs == bench.coordinator.running.payloads[bench_id("a")].tag
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("REF-05")
def test_a_node_that_cannot_be_put_back_is_listed_and_is_to_have_the_old_payload() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        bench.fleet["a"].put_back = NodeOutcome.ROLLBACK_FAILED
        bench.fleet["b"].commit = NodeOutcome.REJECTED
        result = await bench.refresh(config(concurrency=4))
        assert outcomes(result) == {"a": NodeOutcome.ROLLBACK_FAILED, "b": NodeOutcome.REJECTED}
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.case("R14")
def test_a_history_that_cannot_be_written_rejects_the_apply_and_puts_nodes_back() -> None:
    async def scenario() -> None:
        bench = Bench.of(config(), FullStore())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, result.committed) == (Status.REJECTED, False)
        assert rules(result) == ["refresh.apply_failed"]
        assert set(outcomes(result).values()) == {NodeOutcome.ROLLED_BACK}
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize("stage", ["check", "commit"])
def test_a_node_that_needs_a_restart_makes_the_whole_result_so(stage: str) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        setattr(bench.fleet["b"], stage, NodeOutcome.RESTART_REQUIRED)
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert result.pending == result.changes
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("PSH-03")
@BOTH
def test_a_node_that_is_away_blocks_nobody_and_is_to_have_the_new_payload(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        bench.fleet["b"].check = bench.fleet["b"].commit = NodeOutcome.UNREACHABLE
        result = await bench.refresh(config(concurrency=4), mode)
        assert result.status is Status.APPLIED
        assert outcomes(result) == {"a": NodeOutcome.COMMITTED, "b": NodeOutcome.UNREACHABLE}
        wanted = bench.fleet["b"].desired
        assert wanted is not None
        assert wanted.encoded == bench.coordinator.running.payloads[bench_id("b")]
        assert wanted.revision == bench.coordinator.running.revision

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.parametrize(
    ("check", "commit"),
    [(NodeOutcome.UNREACHABLE,) * 2, (NodeOutcome.COMMITTED, NodeOutcome.UNKNOWN)],
    ids=["away", "lost between check and commit"],
)
def test_a_node_that_is_away_rejects_where_all_are_required(check: NodeOutcome, commit: NodeOutcome) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        bench.fleet["b"].check, bench.fleet["b"].commit = check, commit
        result = await bench.refresh(config(concurrency=4), require_all=True)
        assert (result.status, rules(result)) == (Status.REJECTED, ["node.unreachable"])
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("REF-07")
@BOTH
def test_a_restart_change_makes_the_whole_result_so_and_applies_nothing(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(concurrency=4, alias="new"), mode)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert result.pending == result.changes
        assert bench.fleet["a"].asked == []
        assert_nothing_changed(bench, before)
        assert bench.coordinator.pending == (result.changes if mode is Mode.APPLY else ())

    run(scenario())


@pytest.mark.contract("REF-07")
def test_live_only_applies_the_live_part_and_lists_the_rest_as_pending() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(concurrency=4, alias="new"), live_only=True)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, True)
        assert (result.revision_before, result.revision_after) == (1, 2)
        assert paths(result.pending) == ["nodes[a].alias", "nodes[b].alias"]
        assert outcomes(result) == {"a": NodeOutcome.COMMITTED, "b": NodeOutcome.COMMITTED}
        assert bench.coordinator.running.snapshot == Snapshot(config(concurrency=4))
        assert bench.coordinator.pending == result.pending

    run(scenario())


@pytest.mark.contract("REF-07")
def test_a_live_only_dry_run_says_what_an_apply_would_leave_pending() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(concurrency=4, alias="new"), Mode.DRY_RUN, live_only=True)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert paths(result.pending) == ["nodes[a].alias", "nodes[b].alias"]
        assert_nothing_changed(bench, before)
        assert bench.coordinator.pending == ()

    run(scenario())


@pytest.mark.contract("REF-07")
def test_live_only_without_anything_live_commits_nothing() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(alias="new"), live_only=True)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert result.pending == result.changes
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("REF-07")
def test_pending_is_recomputed_at_each_apply_and_gone_when_reverted() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())

        async def pending_after(**values: Any) -> list[str]:
            await bench.refresh(config(**values))
            return paths(bench.coordinator.pending)

        aliases = ["nodes[a].alias", "nodes[b].alias"]
        assert await pending_after(alias="new") == aliases
        assert len(await pending_after(alias="new", capacity=2)) == 4
        assert await pending_after(capacity=2) == []
        assert await pending_after(alias="new", capacity=2) == aliases
        assert await pending_after(capacity=2) == []

    run(scenario())


@pytest.mark.contract("REF-07")
def test_a_rejected_candidate_leaves_what_is_pending_and_shows_it() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        pending = (await bench.refresh(config(alias="new"))).pending
        bench.fleet["a"].check = NodeOutcome.REJECTED
        result = await bench.refresh(config(concurrency=4))
        assert result.status is Status.REJECTED
        assert result.pending == bench.coordinator.pending == pending

    run(scenario())


@pytest.mark.contract("REF-09")
@pytest.mark.case("R1")
@BOTH
def test_an_equal_config_changes_nothing_and_makes_no_revision(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(), mode)
        assert (result.status, result.committed) == (Status.APPLIED, False)
        assert (result.revision_before, result.revision_after) == (1, 1)
        assert all(getattr(result, name) == () for name in LISTS)
        assert result.candidate_hash == bench.coordinator.running.config_hash
        assert bench.fleet["a"].asked == []
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"expected_revision": 0}, "refresh.expected_revision"),
        ({"expected_revision": 2}, "refresh.expected_revision"),
        ({"expected_candidate": "00"}, "refresh.expected_candidate"),
    ],
)
@BOTH
def test_an_expectation_that_does_not_hold_rejects(mode: Mode, options: dict[str, Any], rule: str) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        before = bench.coordinator.running.snapshot
        result = await bench.refresh(config(concurrency=4), mode, **options)
        assert (result.status, rules(result)) == (Status.REJECTED, [rule])
        assert bench.fleet["a"].asked == []
        assert_nothing_changed(bench, before)

    run(scenario())


@pytest.mark.contract("REF-05")
def test_an_apply_that_expects_what_a_dry_run_showed_is_carried_out_once() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        shown = await bench.refresh(config(capacity=2), Mode.DRY_RUN)
        expected: dict[str, Any] = {
            "expected_revision": shown.revision_before,
            "expected_candidate": shown.candidate_hash,
        }
        first = await bench.refresh(config(capacity=2), **expected)
        second = await bench.refresh(config(capacity=2), **expected)
        assert (first.status, first.committed) == (Status.APPLIED, True)
        assert (second.status, rules(second)) == (Status.REJECTED, ["refresh.expected_revision"])

    run(scenario())


@pytest.mark.contract("REF-05")
def test_a_candidate_that_does_not_load_is_rejected_with_every_reason_and_the_stale_expectation() -> None:
    violation = Violation("field.unknown", "nodes[0].colour", None, "unknown field")
    warning = Violation("model.no_provider", "models[0]", None, "nobody serves it")

    def load() -> Snapshot:
        raise ConfigError(Report((violation,), (warning,), 1))

    async def scenario() -> None:
        bench = Bench.of(config())
        request = Request(load, Mode.APPLY, Options(expected_revision=7, expected_candidate="00"), Origin())
        result = await bench.coordinator.refresh(request)
        assert result.status is Status.REJECTED
        assert rules(result) == ["refresh.expected_revision", "field.unknown"]
        assert (result.candidate_hash, result.warnings) == ("", (warning,))
        assert bench.newest.status is Status.REJECTED

    run(scenario())


@pytest.mark.case("R11")
def test_a_good_config_is_accepted_each_time_after_a_bad_one() -> None:
    async def scenario() -> None:
        bench = Bench.of(config(concurrency=1))
        bench.fleet["a"].check = NodeOutcome.REJECTED
        assert (await bench.refresh(config(concurrency=2))).status is Status.REJECTED
        bench.fleet["a"].check = NodeOutcome.COMMITTED
        assert (await bench.refresh(config(concurrency=1))).status is Status.APPLIED
        assert (await bench.refresh(config(concurrency=1))).status is Status.APPLIED
        assert (await bench.refresh(config(concurrency=3))).committed

    run(scenario())


@pytest.mark.case("R15")
def test_after_one_node_changed_a_change_of_the_other_is_pushed_to_it_alone() -> None:
    async def scenario() -> None:
        both, one = config(concurrency=4), config(concurrency=4)
        one["nodes"][1]["runtime"]["concurrency"] = 9
        bench = Bench.of(config())
        await bench.refresh(both)
        bench.fleet["a"].asked.clear()
        result = await bench.refresh(one)
        assert paths(result.changes) == ["nodes[b].runtime.concurrency"]
        assert outcomes(result) == {"b": NodeOutcome.COMMITTED}
        assert bench.fleet["a"].asked == []

    run(scenario())


@pytest.mark.contract("REF-08")
@pytest.mark.case("R16")
def test_refreshes_are_carried_out_one_after_another_in_the_order_they_came() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        slow = SlowLoad(config(capacity=2))
        first = slow.propose(bench)
        await slow.begun()
        rest = [asyncio.create_task(bench.refresh(config(capacity=n))) for n in range(3, 8)]
        assert bench.coordinator.running.revision == 1
        slow.end()
        results = await asyncio.gather(first, *rest)
        assert [result.revision_after for result in results] == [2, 3, 4, 5, 6, 7]
        assert bench.coordinator.running.snapshot == Snapshot(config(capacity=7))

    run(scenario())


@pytest.mark.contract("REF-08")
def test_a_refresh_whose_caller_has_gone_is_carried_out_to_its_end() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        slow = SlowLoad(config(concurrency=2))
        caller = slow.propose(bench)
        await slow.begun()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        slow.end()
        await bench.coordinator.close()
        assert bench.coordinator.running.revision == 2
        assert bench.fleet["a"].runs == bench.coordinator.running.payloads[bench_id("a")].tag

    run(scenario())


def test_a_coordinator_that_closes_ends_the_running_refresh_and_refuses_the_others() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        slow = SlowLoad(config(capacity=2))
        first = slow.propose(bench)
        await slow.begun()
        second = asyncio.create_task(bench.refresh(config(capacity=3)))
        closing = asyncio.create_task(bench.coordinator.close())
        slow.end()
        await closing
        assert (await first).committed
        with pytest.raises(EdgeError, match="stopping"):
            await second
        with pytest.raises(EdgeError, match="stopping"):
            await bench.refresh(config(capacity=4))

    run(scenario())


@pytest.mark.contract("REF-08")
def test_a_load_that_fails_in_an_unforeseen_way_stops_nobody_after_it() -> None:
    def broken() -> Snapshot:
        raise RuntimeError("unforeseen")

    async def scenario() -> None:
        bench = Bench.of(config())
        with pytest.raises(RuntimeError):
            await bench.coordinator.refresh(Request(broken, Mode.APPLY, Options(), Origin()))
        assert (await bench.refresh(config(capacity=2))).committed

    run(scenario())


@pytest.mark.contract("CFG-08")
def test_an_attempt_is_remembered_with_its_paths_and_no_values() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        base = bench.coordinator.running.config_hash
        request = Request(
            lambda: Snapshot(config(alias="s3cr3t")), Mode.APPLY, Options(), Origin("alice", Trigger.RELOAD)
        )
        result = await bench.coordinator.refresh(request)
        entry = bench.newest
        assert replace(entry, at_ms=0, id=0) == Attempt(
            at_ms=0,
            actor="alice",
            trigger=Trigger.RELOAD,
            status=Status.RESTART_REQUIRED,
            committed=False,
            revision_before=1,
            revision_after=1,
            base_hash=base,
            candidate_hash=result.candidate_hash,
            paths=("nodes[a].alias", "nodes[b].alias"),
        )
        assert "s3cr3t" not in repr(entry)

    run(scenario())


def test_a_dry_run_is_no_attempt() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        await bench.refresh(config(capacity=2), Mode.DRY_RUN)
        assert len(bench.store.history()) == 1

    run(scenario())


@pytest.mark.contract("REF-08")
def test_readers_see_one_whole_config_at_every_step_of_an_apply() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        seen = set()

        async def look(question: str) -> None:
            running = bench.coordinator.running
            nodes = running.snapshot.tree["nodes"]
            seen.add((question, running.revision, *(node["runtime"]["concurrency"] for node in nodes)))

        check, commit = bench.fleet.check, bench.fleet.commit

        async def watched_check(desired: Any) -> Any:
            await look("check")
            return await check(desired)

        async def watched_commit(desired: Any) -> Any:
            reports = await commit(desired)
            await look("commit")
            return reports

        bench.fleet.check = watched_check  # type: ignore[method-assign]
        bench.fleet.commit = watched_commit  # type: ignore[method-assign]
        await bench.refresh(config(concurrency=4))
        await look("after")
        assert seen == {("check", 1, 0, 0), ("commit", 1, 0, 0), ("after", 2, 4, 4)}

    run(scenario())
