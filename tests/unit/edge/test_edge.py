import asyncio
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

import iop_edge.config.files
from iop_edge.client.status import StatusSnapshot
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.coordinator import Origin
from iop_edge.edge.edge import Edge
from iop_edge.errors import ConfigError
from iop_edge.ids import ModelId
from iop_edge.pool.status import Health, NodeConnection, ProviderState
from iop_edge.refresh.result import Mode, NodeOutcome, RefreshOptions, Status, Trigger
from iop_edge.store.history import MemoryStore
from iop_edge.store.sqlite import SqliteStore
from tests.support import run
from tests.unit.edge.house import EAGER, TOKEN, House, candidate, started
from tests.unit.edge.scripted import rules


def connections(status: StatusSnapshot) -> dict[str, NodeConnection]:
    return {node.node_id: node.connection for node in status.nodes}


@pytest.mark.contract("PSH-01")
def test_an_edge_that_starts_brings_its_nodes_to_its_config_and_says_so(house: House) -> None:
    house.write("a", "b", capacity=3)

    async def scenario() -> None:
        async with house.nodes("a", "b"), started(house) as edge:
            status = await edge.status()
            assert (status.edge_id, status.revision, status.config_hash) == ("edge-1", 1, edge.config_hash)
            assert (status.drift, status.drift_error, status.pending) == (False, "", ())
            assert [(node.node_id, node.in_sync, node.revision, node.last_error) for node in status.nodes] == [
                ("a", True, 1, ""),
                ("b", True, 1, ""),
            ]
            assert [(p.provider_id, p.status, p.capacity) for p in status.providers] == [
                ("a-p", ProviderState.AVAILABLE, 3),
                ("b-p", ProviderState.AVAILABLE, 3),
            ]

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_an_apply_reaches_the_nodes_and_the_pool(house: House) -> None:
    house.write("a", "b")

    async def scenario() -> None:
        async with house.nodes("a", "b"), started(house) as edge:
            result = await edge.refresh(candidate(house, "a", "b", capacity=2, concurrency=5))
            assert (result.status, result.committed, edge.revision) == (Status.APPLIED, True, 2)
            assert {report.outcome for report in result.reports} == {NodeOutcome.COMMITTED}
            status = await edge.status()
            assert [(node.in_sync, node.revision) for node in status.nodes] == [(True, 2), (True, 2)]
            assert [provider.capacity for provider in status.providers] == [2, 2]

    run(scenario())


@pytest.mark.contract("REF-08")
@pytest.mark.parametrize("keyword", ["confirm_within_ms", "expected_revision"])
@pytest.mark.parametrize("value", [-1, 1.5, float("nan"), True, "5m"])
def test_a_number_that_is_none_is_refused_before_anything_changes(house: House, keyword: str, value: Any) -> None:
    house.write("a")

    async def scenario() -> None:
        async with started(house) as edge:
            refreshes = (
                edge.refresh(candidate(house, "a", capacity=2), **{keyword: value}),
                edge.reload(**{keyword: value}),
                edge.rollback(1, **{keyword: value}),
            )
            for refresh in refreshes:
                with pytest.raises(ValueError, match=keyword):
                    await refresh
            assert edge.revision == 1
            assert len(await edge.history()) == 1
            assert (await edge.refresh(candidate(house, "a", capacity=2))).committed

    run(scenario())


@pytest.mark.contract("REF-08")
def test_a_request_in_flight_outlives_a_live_change(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.nodes("a"), started(house) as edge:
            async with edge.pool.acquire(ModelId("m")) as lease:
                assert lease.provider_id == "a-p"
                await edge.refresh(candidate(house, "a", capacity=4))
                (provider,) = (await edge.status()).providers
                assert (provider.in_flight, provider.capacity) == (1, 4)
            (provider,) = (await edge.status()).providers
            assert provider.in_flight == 0

    run(scenario())


@pytest.mark.contract("PSH-03")
def test_a_node_that_is_away_gets_what_it_missed_when_it_is_back(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.write("a", "b")

    async def scenario() -> None:
        async with house.node("a"), started(house) as edge:
            result = await edge.refresh(candidate(house, "a", "b", concurrency=5))
            assert {report.node_id: report.outcome for report in result.reports} == {
                "a": NodeOutcome.COMMITTED,
                "b": NodeOutcome.UNREACHABLE,
            }
            status = await edge.status()
            assert connections(status)["b"] is NodeConnection.UNREACHABLE
            assert {p.provider_id: p.status for p in status.providers} == {
                "a-p": ProviderState.AVAILABLE,
                "b-p": ProviderState.UNREACHABLE,
            }
            back = asyncio.Event()

            def notice(_node: str, reachable: bool) -> None:
                if reachable:
                    back.set()

            monkeypatch.setattr(edge.pool, "set_node_reachable", notice)
            async with house.node("b"):
                await back.wait()
                assert [node.revision for node in (await edge.status()).nodes] == [2, 2]

    run(scenario())


@pytest.mark.contract("POL-04")
def test_a_disabled_provider_is_shown_as_such(house: House) -> None:
    house.write("a")
    house.private.write_text(house.overlay("a") + "  providers: [{id: a-p, enabled: false}]\n")

    async def scenario() -> None:
        async with house.nodes("a"), started(house) as edge:
            (provider,) = (await edge.status()).providers
            assert (provider.status, provider.health, provider.capacity) == (
                ProviderState.DISABLED,
                Health.DISABLED,
                0,
            )

    run(scenario())


@pytest.mark.contract("REF-09")
def test_the_same_config_keeps_its_revision_at_the_next_start_and_another_gets_the_next(house: House) -> None:
    async def revision() -> int:
        store = SqliteStore(house.state_dir)
        async with started(house, store) as edge:
            found = edge.revision
        store.close()
        return found

    house.write("a")
    assert [run(revision()), run(revision())] == [1, 1]
    house.write("a", capacity=2)
    assert [run(revision()), run(revision())] == [2, 2]
    house.write("a")
    assert run(revision()) == 3
    store = SqliteStore(house.state_dir)
    assert [(entry.trigger, entry.committed) for entry in store.history()] == [
        (Trigger.START, committed) for committed in (True, False, True, False, True)
    ]
    store.close()


@pytest.mark.contract("REF-10")
def test_what_came_from_elsewhere_is_drift_until_the_own_files_agree(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.nodes("a"), started(house) as edge:
            assert not (await edge.status()).drift
            other = candidate(house, "a", capacity=7)
            house.write("a")
            await edge.refresh(other)
            assert (await edge.status()).drift
            house.write("a", capacity=7)
            assert not (await edge.status()).drift
            house.tracked.write_text("edge: {id: edge-1, colour: red}\n")
            status = await edge.status()
            assert status.drift
            assert "field.unknown" in status.drift_error

    run(scenario())


@pytest.mark.contract("REF-08")
def test_a_status_is_of_one_moment_though_the_config_is_replaced_while_files_are_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("a")

    async def scenario() -> None:
        async with started(house) as edge:
            loop, load = asyncio.get_running_loop(), edge._files.load  # type: ignore[union-attr]
            other = candidate(house, "a", capacity=7)
            house.write("a")

            def load_and_replace() -> Snapshot:
                if edge.revision == 1:
                    asyncio.run_coroutine_threadsafe(edge.refresh(other), loop).result()
                return load()

            monkeypatch.setattr(edge._files, "load", load_and_replace)
            status = await edge.status()
            assert (status.revision, status.drift, status.providers[0].capacity) == (2, True, 7)

    run(scenario())


@pytest.mark.contract("REF-10")
def test_own_files_in_another_order_are_no_drift(house: House) -> None:
    house.write("a", "b")

    async def scenario() -> None:
        async with started(house) as edge:
            house.write("b", "a")
            status = await edge.status()
            assert not status.drift

    run(scenario())


def test_an_edge_without_files_has_no_drift_and_cannot_reload(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with Edge.start(house.files.load(), settings=EAGER) as edge:
            assert not (await edge.status()).drift
            assert rules(await edge.reload()) == ["refresh.no_files"]

    run(scenario())


def test_a_reload_reads_the_files_when_its_turn_has_come(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with started(house) as edge:
            house.write("a", capacity=2)
            assert (await edge.reload()).committed
            assert not (await edge.reload()).committed
            house.tracked.write_text("edge: [")
            rejected = await edge.reload()
            assert (rejected.status, edge.revision) == (Status.REJECTED, 2)

    run(scenario())


def test_refresh_reload_and_rollback_take_the_same_keywords() -> None:
    def keywords(method: Callable[..., object]) -> list[inspect.Parameter]:
        return [it for it in inspect.signature(method).parameters.values() if it.kind is it.KEYWORD_ONLY]

    assert keywords(Edge.refresh) == keywords(Edge.reload) == keywords(Edge.rollback)
    assert {it.name for it in keywords(Edge.refresh)} == {it.name for it in fields(RefreshOptions)} | {"origin"}


@pytest.mark.contract("REF-05")
def test_a_candidate_may_be_a_function_that_loads_it_when_its_turn_has_come(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with started(house) as edge:
            result = await edge.refresh(lambda: candidate(house, "a", capacity=2), origin=Origin("alice"))
            assert (result.committed, (await edge.history())[0].actor) == (True, "alice")
            house.tracked.write_text("edge: [")
            assert (await edge.refresh(house.files.load)).status is Status.REJECTED

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.parametrize("mode", ["", "unspecified", "APPLY", "now"])
def test_a_mode_that_is_none_is_rejected(house: House, mode: str) -> None:
    house.write("a")

    async def scenario() -> None:
        async with started(house) as edge:
            result = await edge.refresh(candidate(house, "a", capacity=2), mode)
            assert (result.status, rules(result), edge.revision) == (Status.REJECTED, ["refresh.mode"], 1)

    run(scenario())


def test_a_config_that_was_loaded_offline_neither_starts_nor_is_applied(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("a")
    monkeypatch.setenv("IOP_TEST_ALIAS", "known")
    house.private.write_text(house.overlay("a") + "  alias: ${env:IOP_TEST_ALIAS}\n")
    offline = iop_edge.config.files.load([house.tracked], [house.private], offline=True)

    async def scenario() -> None:
        with pytest.raises(ConfigError, match="offline"):
            async with Edge.start(offline):
                pass
        async with started(house) as edge:
            assert rules(await edge.refresh(offline)) == ["reference.unresolved"]

    run(scenario())


@pytest.mark.contract("REF-11")
def test_a_rollback_is_a_refresh_to_the_old_config_under_a_new_revision(house: House) -> None:
    house.write("a", concurrency=1)

    async def scenario() -> None:
        async with house.nodes("a"), started(house) as edge:
            first = edge.config_hash
            await edge.refresh(candidate(house, "a", concurrency=2))
            shown = await edge.rollback(1, Mode.DRY_RUN)
            assert (shown.status, shown.committed, edge.revision) == (Status.APPLIED, False, 2)
            result = await edge.rollback(1)
            assert (result.committed, edge.revision, edge.config_hash) == (True, 3, first)
            assert [change.path for change in result.changes] == ["nodes[a].runtime.concurrency"]
            assert (await edge.history())[0].trigger is Trigger.ROLLBACK
            assert (await edge.status()).drift

    run(scenario())


@pytest.mark.contract("REF-11")
@pytest.mark.contract("CFG-08")
def test_history_holds_no_raw_secret_and_a_rollback_takes_it_from_the_present_overlay(house: House) -> None:
    house.write("a", key="s3cr3t-old")

    async def scenario() -> None:
        store = MemoryStore()
        async with started(house, store) as edge:
            await edge.refresh(candidate(house, "a", capacity=2, key="s3cr3t-old"))
            house.write("a", capacity=2, key="s3cr3t-new")
            result = await edge.rollback(1, Mode.DRY_RUN)
            assert [change.path for change in result.changes] == [
                "nodes[a].adapters[main].headers[Authorization]",
                "nodes[a].providers[a-p].capacity",
            ]
            kept = store.applied(1)
            assert kept is not None
            assert "s3cr3t" not in kept.text
            assert TOKEN not in kept.text
            assert "s3cr3t" not in repr(result)

    run(scenario())


@pytest.mark.contract("REF-11")
def test_a_rollback_whose_secret_is_nowhere_any_more_is_rejected(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with started(house) as edge:
            await edge.refresh(candidate(house, "a", capacity=2))
            house.private.write_text(f"nodes: [{{id: a, token: {TOKEN}}}]\n")
            result = await edge.rollback(1)
            assert [(v.rule, v.path) for v in result.violations] == [
                ("rollback.secret", "nodes[a].adapters[main].headers[Authorization]")
            ]
            assert (result.status, edge.revision) == (Status.REJECTED, 2)

    run(scenario())


@pytest.mark.contract("REF-11")
def test_references_of_an_old_revision_resolve_anew(house: House) -> None:
    (house.root / "alias.txt").write_text("then")
    house.write("a", alias="${file:alias.txt}")

    async def scenario() -> None:
        async with started(house) as edge:
            (house.root / "alias.txt").write_text("now")
            result = await edge.rollback(1, Mode.DRY_RUN)
            assert [(change.path, change.after) for change in result.changes] == [
                ("nodes[a].alias", f"${{file:{house.root / 'alias.txt'}}}")
            ]
            (house.root / "alias.txt").unlink()
            gone = await edge.rollback(1)
            assert [(str(v.span), v.rule, v.path) for v in gone.violations] == [
                ("revision 1", "reference.missing", "nodes[0].alias")
            ]
            assert (gone.status, edge.revision) == (Status.REJECTED, 1)

    run(scenario())


@pytest.mark.parametrize("revision", [0, 2, 2**64 - 1])
def test_a_rollback_to_a_revision_that_never_was_is_rejected(house: House, revision: int) -> None:
    house.write("a")

    async def scenario() -> None:
        async with started(house) as edge:
            assert rules(await edge.rollback(revision)) == ["rollback.revision"]

    run(scenario())
