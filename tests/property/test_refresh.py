"""Any sequence of refreshes, on Nodes that answer as they like, leaves a whole config that everybody is to run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.config.snapshot import Snapshot
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import Mode, NodeOutcome, RefreshResult, Status
from tests.support import run
from tests.unit.edge.scripted import Bench, config

CHECKS = [NodeOutcome.CHECKED, NodeOutcome.REJECTED, NodeOutcome.RESTART_REQUIRED, NodeOutcome.UNREACHABLE]
COMMITS = [*CHECKS, NodeOutcome.UNKNOWN, NodeOutcome.UNCHANGED]

trees = st.builds(
    config,
    capacity=st.integers(1, 2),
    concurrency=st.integers(0, 1),
    alias=st.sampled_from(["", "x"]),
    threshold=st.integers(1, 2),
)
options = st.fixed_dictionaries(
    {"live_only": st.booleans(), "require_all": st.booleans()},
    optional={"expected_revision": st.integers(1, 3)},
)
moods = st.fixed_dictionaries(
    {
        "check": st.sampled_from(CHECKS),
        "commit": st.sampled_from(COMMITS),
        "put_back": st.sampled_from([NodeOutcome.ROLLED_BACK, NodeOutcome.ROLLBACK_FAILED]),
    }
)
steps = st.lists(st.tuples(trees, options, moods, moods), max_size=6)


def set_moods(bench: Bench, *moods: dict[str, NodeOutcome]) -> None:
    for name, mood in zip(("a", "b"), moods, strict=True):
        for question, outcome in mood.items():
            setattr(bench.fleet[name], question, outcome)


def assert_whole(bench: Bench, before: Snapshot, revision: int, tree: dict[str, Any], result: RefreshResult) -> None:
    running = bench.coordinator.running
    assert running.revision == revision + result.committed
    assert (result.revision_before, result.revision_after) == (revision, running.revision)
    assert result.committed or running.snapshot is before
    if result.committed and result.status is Status.APPLIED:
        assert running.snapshot == Snapshot(tree)
    if result.committed and result.status is Status.RESTART_REQUIRED:
        assert plan(running.snapshot, Snapshot(tree)).live == ()
    assert not (result.committed and result.status is Status.REJECTED)
    assert bool(result.violations) == (result.status is Status.REJECTED)
    newest = bench.store.newest()
    assert newest is not None
    assert (newest.revision, newest.config_hash) == (running.revision, running.config_hash)
    for name, desired in running.desired.items():
        assert bench.fleet[name].desired == desired


@pytest.mark.contract("REF-05")
@pytest.mark.contract("REF-08")
@given(trees, steps)
def test_after_each_refresh_one_whole_config_runs_and_is_desired_of_every_node(
    first: dict[str, Any], sequence: list[Any]
) -> None:
    async def scenario() -> None:
        bench = Bench.of(first)
        for tree, chosen, *both in sequence:
            set_moods(bench, *both)
            before = bench.coordinator.running
            result = await bench.refresh(tree, Mode.APPLY, **chosen)
            assert_whole(bench, before.snapshot, before.revision, tree, result)
            if result.status is not Status.REJECTED:
                assert bench.coordinator.pending == plan(bench.coordinator.running.snapshot, Snapshot(tree)).changes

    run(scenario())


@pytest.mark.contract("REF-06")
@given(trees, trees, options, st.sampled_from(CHECKS), st.sampled_from(CHECKS))
def test_a_dry_run_says_what_an_apply_then_does(
    first: dict[str, Any], tree: dict[str, Any], chosen: dict[str, Any], of_a: NodeOutcome, of_b: NodeOutcome
) -> None:
    async def scenario() -> None:
        bench = Bench.of(first)
        set_moods(bench, *({"check": mood, "commit": mood} for mood in (of_a, of_b)))
        shown = await bench.refresh(tree, Mode.DRY_RUN, **chosen)
        done = await bench.refresh(tree, Mode.APPLY, **chosen)
        for name in ("status", "candidate_hash", "changes", "masks", "pending", "warnings", "revision_before"):
            assert getattr(shown, name) == getattr(done, name), name
        assert [v.rule for v in shown.violations] == [v.rule for v in done.violations]
        assert not shown.committed
        assert {r.node_id: r.outcome for r in shown.reports} == {r.node_id: r.outcome for r in done.reports}

    run(scenario())
