import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.coordinator import Origin, Request
from iop_edge.errors import ConfigError, EdgeError, Report, Violation
from iop_edge.ids import NodeId
from iop_edge.refresh.result import Attempt, Mode, NodeOutcome, RefreshOptions, RefreshResult, Status, Trigger
from tests import trees
from tests.support import run
from tests.unit.edge.scripted import BOTH_MODES, Bench, config, outcomes, paths, rules

LISTS = ("changes", "masks", "changed_nodes", "changed_providers", "changed_models", "violations", "pending", "reports")


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
        request = Request(self, Mode.APPLY, RefreshOptions(), Origin())
        return asyncio.create_task(bench.coordinator.refresh(request))


@pytest.mark.contract("REF-06")
@BOTH_MODES
def test_a_live_change_is_applied_and_a_dry_run_says_the_same_without_doing_it(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(capacity=3), mode)
        assert (result.status, result.mode) == (Status.APPLIED, mode)
        assert paths(result.changes) == ["nodes[a].providers[a-p].capacity", "nodes[b].providers[b-p].capacity"]
        assert result.changed_providers == ("a-p", "b-p")
        assert result.candidate_hash
        assert result.reports == ()
        if mode is Mode.DRY_RUN:
            assert not result.committed
            assert (result.revision_before, result.revision_after) == (1, 1)
            bench.assert_nothing_changed()
            return
        assert result.committed
        assert (result.revision_before, result.revision_after) == (1, 2)
        assert bench.coordinator.running.config_hash == result.candidate_hash
        assert [running.revision for running in bench.swapped] == [2]

    run(scenario())


@pytest.mark.contract("REF-07")
@BOTH_MODES
def test_a_restart_change_makes_the_whole_result_so_and_applies_nothing(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(concurrency=4, alias="new"), mode)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert result.pending == result.changes
        assert bench.fleet["a"].asked == []
        bench.assert_nothing_changed()
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
        result = await bench.refresh(config(concurrency=4, alias="new"), Mode.DRY_RUN, live_only=True)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert paths(result.pending) == ["nodes[a].alias", "nodes[b].alias"]
        bench.assert_nothing_changed()
        assert bench.coordinator.pending == ()

    run(scenario())


@pytest.mark.contract("REF-07")
def test_live_only_without_anything_live_commits_nothing() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(alias="new"), live_only=True)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert result.pending == result.changes
        bench.assert_nothing_changed()

    run(scenario())


@pytest.mark.contract("REF-07")
@BOTH_MODES
def test_live_only_says_why_a_live_part_that_is_not_valid_alone_is_not_applied(mode: Mode) -> None:
    running = trees.edge(trees.node("a", trees.provider("p1")), models=[trees.model("m", "p1")])
    both = trees.node("a", trees.provider("p1"), trees.provider("p2"))
    candidate = trees.edge(both, models=[trees.model("m", "p1", "p2")])

    async def scenario() -> None:
        bench = Bench.of(running)
        result = await bench.refresh(candidate, mode, live_only=True)
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert result.pending == result.changes
        assert [warning.rule for warning in result.warnings] == ["ref.unknown"]
        assert result.warnings[0].message.startswith("the live part is not valid on its own: ")
        bench.assert_nothing_changed()

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
@BOTH_MODES
def test_an_equal_config_changes_nothing_and_makes_no_revision(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(), mode)
        assert (result.status, result.committed) == (Status.APPLIED, False)
        assert (result.revision_before, result.revision_after) == (1, 1)
        assert all(getattr(result, name) == () for name in LISTS)
        assert result.candidate_hash == bench.coordinator.running.config_hash
        assert bench.fleet["a"].asked == []
        bench.assert_nothing_changed()

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
@BOTH_MODES
def test_an_expectation_that_does_not_hold_rejects(mode: Mode, options: dict[str, Any], rule: str) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(concurrency=4), mode, **options)
        assert (result.status, rules(result)) == (Status.REJECTED, [rule])
        assert bench.fleet["a"].asked == []
        bench.assert_nothing_changed()

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
        request = Request(load, Mode.APPLY, RefreshOptions(expected_revision=7, expected_candidate="00"), Origin())
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
        assert bench.fleet["a"].runs == bench.coordinator.running.desired[NodeId("a")].encoded.tag

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
            await bench.coordinator.refresh(Request(broken, Mode.APPLY, RefreshOptions(), Origin()))
        assert (await bench.refresh(config(capacity=2))).committed

    run(scenario())


@pytest.mark.contract("CFG-08")
def test_an_attempt_is_remembered_with_its_paths_and_no_values() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        base = bench.coordinator.running.config_hash
        request = Request(
            lambda: Snapshot(config(alias="s3cr3t")), Mode.APPLY, RefreshOptions(), Origin("alice", Trigger.RELOAD)
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
