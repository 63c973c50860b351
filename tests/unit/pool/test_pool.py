import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.pool import ProviderPool
from iop_edge.pool.slots import Lease
from iop_edge.pool.status import Health, ProviderState, ProviderStatus
from iop_edge.schema import table
from tests.unit.pool.configs import catalogue, provider


def pool_of(*providers: dict[str, Any], models: dict[str, Sequence[str]] | None = None) -> ProviderPool:
    names = [item["id"] for item in providers]
    pool = ProviderPool(catalogue(providers, models or {"m": names}))
    for node in {item["node"] for item in providers}:
        pool.set_node_reachable(NodeId(node), reachable=True)
    return pool


def take(pool: ProviderPool, model: str = "m") -> Lease:
    return pool.try_acquire(model)


def refusal(pool: ProviderPool, model: str = "m") -> RefusalReason:
    with pytest.raises(NoProviderError) as caught:
        pool.try_acquire(model)
    return caught.value.reason


def status(pool: ProviderPool, name: str) -> ProviderStatus:
    return next(item for item in pool.statuses() if item.provider_id == name)


def providers_of(leases: Sequence[Lease]) -> list[str]:
    return [lease.provider_id for lease in leases]


@pytest.mark.contract("POL-01")
def test_the_provider_with_fewer_requests_is_chosen_whatever_its_priority() -> None:
    pool = pool_of(provider("a", capacity=9, priority=0), provider("b", capacity=9, priority=5))
    assert providers_of([take(pool) for _ in range(4)]) == ["a", "b", "a", "b"]


@pytest.mark.contract("POL-01")
@pytest.mark.case("A4")
def test_on_equal_load_the_lower_priority_number_is_chosen_each_time() -> None:
    pool = pool_of(provider("low", priority=7), provider("high", priority=1))
    for _ in range(3):
        lease = take(pool)
        assert lease.provider_id == "high"
        lease.release()


@pytest.mark.contract("POL-01")
@pytest.mark.case("A3")
def test_on_equal_load_and_priority_the_providers_take_turns() -> None:
    pool = pool_of(provider("a"), provider("b"), provider("c"))
    chosen = []
    for _ in range(6):
        lease = take(pool)
        chosen.append(lease.provider_id)
        lease.release()
    assert chosen == ["a", "b", "c", "a", "b", "c"]


@pytest.mark.contract("POL-01")
def test_the_rotation_goes_on_after_a_live_change() -> None:
    pool = pool_of(provider("a"), provider("b"), provider("c"))
    take(pool).release()
    changed = [provider("a", capacity=3), provider("b"), provider("c")]
    pool.reconfigure(catalogue(changed, {"m": ["a", "b", "c"]}))
    chosen = []
    for _ in range(3):
        lease = take(pool)
        chosen.append(lease.provider_id)
        lease.release()
    assert chosen == ["b", "c", "a"]


@pytest.mark.contract("POL-01")
@pytest.mark.case("A5")
def test_a_burst_never_exceeds_the_capacity() -> None:
    pool = pool_of(provider("a", capacity=2), provider("b", capacity=3))
    assert sorted(providers_of([take(pool) for _ in range(5)])) == ["a", "a", "b", "b", "b"]
    assert refusal(pool) is RefusalReason.BUSY


@pytest.mark.contract("POL-01")
def test_models_that_share_a_provider_share_its_capacity() -> None:
    pool = pool_of(provider("a"), models={"m": ["a"], "n": ["a"]})
    take(pool, "m")
    assert refusal(pool, "n") is RefusalReason.BUSY


def test_a_lease_says_where_and_as_what_the_request_is_executed() -> None:
    lease = take(pool_of(provider("a", node="n7")))
    assert (lease.node_id, lease.adapter, lease.target) == ("n7", "a-adapter", "a-model")


@pytest.mark.case("A3")
def test_a_second_release_changes_nothing() -> None:
    pool = pool_of(provider("a", capacity=2))
    first, _ = take(pool), take(pool)
    assert not first.released
    first.release()
    first.release()
    assert first.released
    assert status(pool, "a").in_flight == 1


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda pool: pool.set_node_reachable(NodeId("n1"), False), RefusalReason.NO_PROVIDER),
        (lambda pool: pool.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY), RefusalReason.NO_PROVIDER),
        (
            lambda pool: pool.reconfigure(catalogue([provider("a", enabled=False)], {"m": ["a"]})),
            RefusalReason.NO_PROVIDER,
        ),
        (lambda pool: pool.reconfigure(catalogue([provider("a")], {"m": []})), RefusalReason.NO_PROVIDER),
        (lambda pool: pool.reconfigure(catalogue([provider("a")], {})), RefusalReason.UNKNOWN),
        (lambda pool: pool.try_acquire("m"), RefusalReason.BUSY),
    ],
    ids=["unreachable", "unhealthy", "disabled", "no members", "model gone", "full"],
)
@pytest.mark.contract("POL-01")
def test_a_request_that_no_provider_takes_is_refused_with_the_reason(prepare: Any, reason: RefusalReason) -> None:
    pool = pool_of(provider("a"))
    prepare(pool)
    assert refusal(pool) is reason


def test_nodes_are_unreachable_until_they_are_said_to_be_there() -> None:
    pool = ProviderPool(catalogue([provider("a")], {"m": ["a"]}))
    assert refusal(pool) is RefusalReason.NO_PROVIDER
    pool.set_node_reachable(NodeId("n1"), reachable=True)
    assert take(pool).provider_id == "a"


def test_the_full_provider_is_passed_over_and_the_reachable_one_taken() -> None:
    pool = pool_of(provider("a", node="n1"), provider("b", node="n2", priority=9))
    pool.set_node_reachable(NodeId("n1"), reachable=False)
    assert take(pool).provider_id == "b"


def test_a_provider_whose_health_mode_is_none_is_used_whatever_is_reported() -> None:
    pool = pool_of(provider("a", mode="none"))
    pool.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY)
    assert status(pool, "a").health is Health.HEALTHY
    assert take(pool).provider_id == "a"


def test_a_provider_that_recovers_is_used_again() -> None:
    pool = pool_of(provider("a"))
    pool.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY)
    pool.set_health(NodeId("n1"), ProviderId("a"), Health.HEALTHY)
    assert take(pool).provider_id == "a"


def test_what_a_node_saw_of_a_provider_is_shown_while_it_is_news() -> None:
    pool = pool_of(provider("a"), provider("b", mode="none"), provider("c", enabled=False))
    for name in ("a", "b", "c"):
        pool.set_health(NodeId("n1"), ProviderId(name), Health.UNHEALTHY, "answers 503")
    assert [item.health_detail for item in pool.statuses()] == ["answers 503", "", ""]
    pool.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY, "no answer within 2 s")
    assert status(pool, "a").health_detail == "no answer within 2 s"
    explained = pool.explain("m")
    assert explained.candidates[0].reason.endswith(": no answer within 2 s")
    pool.set_node_reachable(NodeId("n1"), reachable=False)
    assert status(pool, "a").health_detail == ""
    pool.set_node_reachable(NodeId("n1"), reachable=True)
    assert status(pool, "a").health_detail == "no answer within 2 s"


def test_a_report_about_an_unknown_provider_has_no_effect() -> None:
    pool = pool_of(provider("a"))
    pool.set_health(NodeId("n1"), ProviderId("nobody"), Health.UNHEALTHY)
    assert [item.provider_id for item in pool.statuses()] == ["a"]


def test_a_node_reports_about_its_own_providers_alone() -> None:
    pool = pool_of(provider("a", node="n1"), provider("b", node="n2"))
    pool.set_health(NodeId("n2"), ProviderId("a"), Health.UNHEALTHY)
    assert status(pool, "a").health is Health.UNKNOWN


@pytest.mark.contract("POL-04")
@pytest.mark.case("A2")
def test_a_provider_that_is_disabled_gets_nothing_new_and_keeps_what_it_runs() -> None:
    pool = pool_of(provider("a", capacity=4))
    lease = take(pool)
    pool.reconfigure(catalogue([provider("a", capacity=4, enabled=False)], {"m": ["a"]}))
    assert refusal(pool) is RefusalReason.NO_PROVIDER
    shown = status(pool, "a")
    assert (shown.status, shown.health, shown.capacity, shown.in_flight) == ("disabled", "disabled", 0, 1)
    lease.release()
    assert status(pool, "a").in_flight == 0


@pytest.mark.contract("POL-05")
def test_a_capacity_below_the_running_requests_cuts_none_and_admits_none() -> None:
    pool = pool_of(provider("a", capacity=3))
    leases = [take(pool) for _ in range(3)]
    pool.reconfigure(catalogue([provider("a", capacity=1)], {"m": ["a"]}))
    assert status(pool, "a").in_flight == 3
    for lease in leases[:2]:
        lease.release()
        assert refusal(pool) is RefusalReason.BUSY
    leases[2].release()
    assert take(pool).provider_id == "a"


@pytest.mark.contract("POL-05")
@pytest.mark.parametrize("between", ["disabled", "removed", "moved"])
def test_running_requests_count_when_their_provider_comes_back(between: str) -> None:
    pool = pool_of(provider("a"))
    lease = take(pool)
    away = {"disabled": [provider("a", enabled=False)], "removed": [], "moved": [provider("a", node="n2")]}[between]
    pool.reconfigure(catalogue(away, {"m": [item["id"] for item in away]}))
    pool.reconfigure(catalogue([provider("a")], {"m": ["a"]}))
    assert refusal(pool) is RefusalReason.BUSY
    lease.release()
    assert take(pool).provider_id == "a"


@pytest.mark.contract("POL-05")
def test_a_provider_that_was_drained_while_it_was_removed_comes_back_empty() -> None:
    pool = pool_of(provider("a"))
    lease = take(pool)
    pool.reconfigure(catalogue([], {}))
    assert pool.statuses() == ()
    lease.release()
    pool.reconfigure(catalogue([provider("a")], {"m": ["a"]}))
    assert status(pool, "a").in_flight == 0


def test_the_health_that_an_old_node_reported_is_forgotten_when_a_provider_moves() -> None:
    pool = pool_of(provider("a", node="n1"), provider("b", node="n2"))
    pool.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY)
    pool.reconfigure(catalogue([provider("a", node="n2"), provider("b", node="n2")], {"m": ["a"]}))
    assert status(pool, "a").health is Health.UNKNOWN
    assert take(pool).provider_id == "a"


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        ("nothing", (ProviderState.AVAILABLE, Health.UNKNOWN)),
        ("healthy", (ProviderState.AVAILABLE, Health.HEALTHY)),
        ("unhealthy", (ProviderState.UNHEALTHY, Health.UNHEALTHY)),
        ("full", (ProviderState.BUSY, Health.UNKNOWN)),
        ("away", (ProviderState.UNREACHABLE, Health.UNKNOWN)),
    ],
)
def test_the_status_shows_what_a_provider_is_good_for(make: str, shown: tuple[ProviderState, Health]) -> None:
    pool = pool_of(provider("a"))
    if make in ("healthy", "unhealthy"):
        pool.set_health(NodeId("n1"), ProviderId("a"), Health(make))
    elif make == "full":
        take(pool)
    elif make == "away":
        pool.set_health(NodeId("n1"), ProviderId("a"), Health.HEALTHY)
        pool.set_node_reachable(NodeId("n1"), reachable=False)
    assert (status(pool, "a").status, status(pool, "a").health) == shown


def test_statuses_come_in_the_order_of_the_ids() -> None:
    pool = pool_of(provider("b", node="n1"), provider("a", node="n2"), provider("c", node="n1"))
    assert [item.provider_id for item in pool.statuses()] == ["a", "b", "c"]


@pytest.mark.parametrize(("words", "enum"), [(ProviderState, "ProviderState"), (Health, "ProviderHealth")])
def test_the_words_of_a_status_are_those_of_the_admin_service(words: type[ProviderState], enum: str) -> None:
    assert {str(word) for word in words} == set(table.enum(enum).words)


def test_acquire_holds_a_lease_for_the_length_of_its_block() -> None:
    pool = pool_of(provider("a"))

    async def use() -> None:
        async with pool.acquire("m") as lease:
            assert lease.provider_id == "a"
            assert status(pool, "a").in_flight == 1

    asyncio.run(use())
    assert status(pool, "a").in_flight == 0


def test_acquire_releases_its_lease_when_its_block_fails() -> None:
    pool = pool_of(provider("a"))

    async def use() -> None:
        async with pool.acquire("m"):
            raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(use())
    assert status(pool, "a").in_flight == 0


def test_acquire_releases_its_lease_when_its_task_is_cancelled() -> None:
    pool = pool_of(provider("a"))

    async def use() -> None:
        async with pool.acquire("m"):
            await asyncio.Event().wait()

    async def cancel() -> None:
        task = asyncio.create_task(use())
        await asyncio.sleep(0)
        assert status(pool, "a").in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert status(pool, "a").in_flight == 0
