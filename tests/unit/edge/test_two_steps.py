from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.running import Running
from iop_edge.errors import EdgeError
from iop_edge.ids import NodeId
from iop_edge.pool.catalogue import Catalogue
from iop_edge.refresh.result import Attempt, Mode, NodeOutcome, NodeReport, Status, Trigger
from iop_edge.requests.policy import RequestPolicy
from iop_edge.store.history import Applied, MemoryStore
from iop_edge.store.sqlite import SqliteStore
from tests import trees
from tests.support import run
from tests.unit.edge.scripted import BOTH_MODES, Bench, config, outcomes, paths, rules
from tests.unit.store.test_stores import fill_the_disk


class FullStore(MemoryStore):
    """A store on a full disk, from its second attempt on."""

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        if attempt.trigger is not Trigger.START:
            raise EdgeError("the disk is full")
        return super().record(attempt, applied)


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
        assert bench.fleet["a"].runs == bench.coordinator.running.desired[NodeId("a")].encoded.tag

    run(scenario())


@pytest.mark.contract("REF-06")
def test_a_dry_run_asks_the_nodes_and_commits_nothing() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        result = await bench.refresh(config(concurrency=4), Mode.DRY_RUN)
        assert outcomes(result) == {"a": NodeOutcome.CHECKED, "b": NodeOutcome.CHECKED}
        assert bench.fleet["a"].asked == bench.fleet["b"].asked == ["check"]
        bench.assert_nothing_changed()

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.case("A14")
@BOTH_MODES
def test_one_node_that_refuses_the_check_rejects_the_candidate_everywhere(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        bench.fleet["b"].check = NodeOutcome.REJECTED
        result = await bench.refresh(config(concurrency=4), mode)
        assert (result.status, result.committed) == (Status.REJECTED, False)
        assert [(v.rule, v.path) for v in result.violations] == [("node.rejected", "nodes[b]")]
        assert outcomes(result) == {"a": NodeOutcome.CHECKED, "b": NodeOutcome.REJECTED}
        assert bench.fleet["a"].asked == ["check"]
        bench.assert_nothing_changed()

    run(scenario())


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize("lost", [NodeOutcome.COMMITTED, NodeOutcome.UNKNOWN])
def test_a_node_that_refuses_after_its_check_has_the_others_put_back(lost: NodeOutcome) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        bench.fleet["a"].commit = lost
        bench.fleet["b"].commit = NodeOutcome.REJECTED
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, result.committed, result.revision_after) == (Status.REJECTED, False, 1)
        assert outcomes(result) == {"a": NodeOutcome.ROLLED_BACK, "b": NodeOutcome.REJECTED}
        assert bench.fleet["b"].asked == ["check", "commit"]
        assert bench.fleet["a"].runs == bench.coordinator.running.desired[NodeId("a")].encoded.tag
        bench.assert_nothing_changed()

    run(scenario())


@pytest.mark.contract("REF-05")
def test_a_node_that_cannot_be_put_back_is_listed_and_is_to_have_the_old_payload() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        bench.fleet["a"].put_back = NodeOutcome.ROLLBACK_FAILED
        bench.fleet["b"].commit = NodeOutcome.REJECTED
        result = await bench.refresh(config(concurrency=4))
        assert outcomes(result) == {"a": NodeOutcome.ROLLBACK_FAILED, "b": NodeOutcome.REJECTED}
        bench.assert_nothing_changed()

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.case("R14")
def test_a_history_that_cannot_be_written_rejects_the_apply_and_puts_nodes_back() -> None:
    async def scenario() -> None:
        bench = Bench.of(config(), FullStore())
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, result.committed) == (Status.REJECTED, False)
        assert rules(result) == ["refresh.apply_failed"]
        assert set(outcomes(result).values()) == {NodeOutcome.ROLLED_BACK}
        bench.assert_nothing_changed()

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.case("R14")
def test_a_disk_that_is_really_full_rejects_the_apply_and_room_on_it_lets_the_next_one_through(tmp_path: Path) -> None:
    async def scenario() -> None:
        with closing(SqliteStore(tmp_path)) as store:
            bench = Bench.of(config(), store)
            fill_the_disk(store)
            large = {**config(concurrency=4), "models": [trees.normal("Model", id="m" * 100_000, providers=[])]}
            result = await bench.refresh(large)
            assert (result.status, rules(result)) == (Status.REJECTED, ["refresh.apply_failed"])
            assert set(outcomes(result).values()) == {NodeOutcome.ROLLED_BACK}
            bench.assert_nothing_changed()
            store._db.execute("PRAGMA max_page_count = 1000000")
            assert (await bench.refresh(large)).committed

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_an_apply_that_fails_before_a_node_was_sent_anything_reports_it_as_checked() -> None:
    async def scenario() -> None:
        bench = Bench.of(config())

        async def nothing_to_put_back(_: Any) -> dict[NodeId, NodeReport]:
            return {}

        async def fail(_: Any) -> Any:
            raise RuntimeError

        bench.fleet.put_back = nothing_to_put_back  # type: ignore[method-assign, assignment]
        bench.fleet.commit = fail  # type: ignore[method-assign, assignment]
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, set(outcomes(result).values())) == (Status.REJECTED, {NodeOutcome.CHECKED})

    run(scenario())


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize("stage", ["check", "commit"])
def test_a_node_that_needs_a_restart_makes_the_whole_result_so(stage: str) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        setattr(bench.fleet["b"], stage, NodeOutcome.RESTART_REQUIRED)
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, result.committed) == (Status.RESTART_REQUIRED, False)
        assert result.pending == result.changes
        bench.assert_nothing_changed()

    run(scenario())


@pytest.mark.contract("PSH-03")
@BOTH_MODES
def test_a_node_that_is_away_blocks_nobody_and_is_to_have_the_new_payload(mode: Mode) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        bench.fleet["b"].check = bench.fleet["b"].commit = NodeOutcome.UNREACHABLE
        result = await bench.refresh(config(concurrency=4), mode)
        assert result.status is Status.APPLIED
        done = NodeOutcome.CHECKED if mode is Mode.DRY_RUN else NodeOutcome.COMMITTED
        assert outcomes(result) == {"a": done, "b": NodeOutcome.UNREACHABLE}
        wanted = bench.fleet["b"].desired
        assert wanted is not None
        assert wanted.encoded == bench.coordinator.running.desired[NodeId("b")].encoded
        assert wanted.revision == bench.coordinator.running.revision

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.parametrize(
    ("check", "commit"),
    [(NodeOutcome.UNREACHABLE,) * 2, (NodeOutcome.CHECKED, NodeOutcome.UNKNOWN)],
    ids=["away", "lost between check and commit"],
)
def test_a_node_that_is_away_rejects_where_all_are_required(check: NodeOutcome, commit: NodeOutcome) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        bench.fleet["b"].check, bench.fleet["b"].commit = check, commit
        result = await bench.refresh(config(concurrency=4), require_all=True)
        assert (result.status, rules(result)) == (Status.REJECTED, ["node.unreachable"])
        bench.assert_nothing_changed()

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


@pytest.mark.contract("REF-08")
@pytest.mark.parametrize(
    ("owner", "step"),
    [(Running, "build"), (RequestPolicy, "of"), (Catalogue, "of"), (Snapshot, "dump_for_history")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_follows_from_a_config_is_built_before_a_node_is_told_to_commit(
    owner: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError("unforeseen")

    async def scenario() -> None:
        bench = Bench.of(config())
        with monkeypatch.context() as broken:
            broken.setattr(owner, step, fail)
            with suppress(RuntimeError):
                result = await bench.refresh(config(concurrency=4))
                assert rules(result) == ["refresh.apply_failed"]
        bench.assert_nothing_changed()
        assert all("commit" not in node.asked for node in bench.fleet.nodes.values())
        assert (await bench.refresh(config(concurrency=4))).revision_after == 2

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("step", ["commit", "record"])
def test_an_unforeseen_fault_while_applying_rejects_puts_back_and_tells_no_words(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        bench = Bench.of(config())
        if step == "commit":
            monkeypatch.setattr(bench.fleet, "commit", fail_later)
        else:
            monkeypatch.setattr(bench.store, "record", fail)
        result = await bench.refresh(config(concurrency=4))
        assert (result.status, result.committed, rules(result)) == (Status.REJECTED, False, ["refresh.apply_failed"])
        assert set(outcomes(result).values()) == {NodeOutcome.ROLLED_BACK}
        assert "s3cr3t" not in repr(result)
        bench.assert_nothing_changed()

    def fail(*_arguments: Any) -> Any:
        raise RuntimeError("s3cr3t")

    async def fail_later(*_arguments: Any) -> Any:
        fail()

    run(scenario())
