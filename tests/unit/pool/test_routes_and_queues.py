"""Which providers serve a route, and which config decides a queue."""

from typing import Any

import pytest

from iop_edge.ids import ModelId, ModelKey, NodeId, RouteId, RouteKey
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.pool import ProviderPool
from tests.unit.pool.configs import catalogue, provider, snapshot


def instance(name: str, kind: str = "vllm", *, enabled: bool = True, **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "enabled": enabled, **fields}


def pool_with(route: str, adapters: dict[str, list[dict[str, Any]]], *providers: dict[str, Any]) -> ProviderPool:
    routes = [{"model": "gpt", "adapter": route, "target": "big"}]
    pool = ProviderPool(catalogue(providers, {"gpt-group": []}, adapters=adapters, routes=routes))
    for node in ("n1", "n2"):
        pool.set_node_reachable(NodeId(node), reachable=True)
    return pool


def on(adapter: str, item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "adapter": adapter}


def candidates(pool: ProviderPool) -> list[str]:
    return [item.provider_id for item in pool.explain("gpt").candidates]


@pytest.mark.contract("POL-10")
def test_a_route_is_served_by_the_providers_on_its_instance_that_list_its_target() -> None:
    pool = pool_with(
        "v",
        {"n1": [instance("v"), instance("w")], "n2": [instance("u")]},
        on("v", provider("serves", models=["small", "big"])),
        on("v", provider("other_model", models=["small"])),
        on("w", provider("other_instance", models=["big"])),
        on("u", provider("other_node", node="n2", models=["big"])),
    )
    assert candidates(pool) == ["serves"]
    lease = pool.try_acquire("gpt")
    assert (lease.provider_id, lease.target, lease.adapter, str(lease.key)) == ("serves", "big", "v", "route 'gpt'")
    with pytest.raises(NoProviderError) as caught:
        pool.try_acquire("gpt")
    assert caught.value.reason is RefusalReason.BUSY


@pytest.mark.contract("POL-10")
@pytest.mark.parametrize(
    ("route", "adapters", "expected"),
    [
        ("v", {"n1": [instance("v", enabled=False)], "n2": [instance("v")]}, ["second"]),
        ("vllm", {"n1": [instance("v", "ollama")], "n2": [instance("v", "vllm")]}, ["second"]),
        ("vllm", {"n1": [instance("v", enabled=False)], "n2": [instance("v")]}, ["second"]),
        ("seulgivibe_claude", {"n1": [instance("v", "openai_compat")], "n2": [instance("v", "cli")]}, ["first"]),
    ],
    ids=[
        "the enabled one of the name",
        "the only one of the type",
        "the enabled one of the type",
        "an alias of the type",
    ],
)
def test_a_route_means_the_instance_by_name_then_by_type(
    route: str, adapters: dict[str, list[dict[str, Any]]], expected: list[str]
) -> None:
    first = on("v", provider("first", node="n1", models=["big"]))
    second = on("v", provider("second", node="n2", models=["big"]))
    assert candidates(pool_with(route, adapters, first, second)) == expected


@pytest.mark.contract("POL-10")
def test_a_route_and_a_model_group_of_one_name_are_two_things() -> None:
    routes = [{"model": "same", "adapter": "v", "target": "big"}]
    providers = [on("v", provider("of_route", models=["big"])), provider("of_model")]
    config = snapshot(providers, {"same": ["of_model"]}, adapters={"n1": [instance("v")]}, routes=routes)
    pool = ProviderPool(Catalogue.of(config))
    pool.set_node_reachable(NodeId("n1"), reachable=True)
    by_name, route = pool.try_acquire("same"), pool.try_acquire(RouteKey(RouteId("same")))
    assert (by_name.provider_id, route.provider_id) == ("of_model", "of_route")
    by_name.release()
    assert pool.try_acquire(ModelKey(ModelId("same"))).provider_id == "of_model"
    for unknown in ("of_route", ModelKey(ModelId("of_route")), RouteKey(RouteId("of_model"))):
        with pytest.raises(NoProviderError) as caught:
            pool.try_acquire(unknown)
        assert caught.value.reason is RefusalReason.UNKNOWN


@pytest.mark.contract("POL-03")
@pytest.mark.parametrize(
    ("own", "adapters", "expected"),
    [
        ({}, {}, (100, 30_000)),
        ({"max_queue": 7}, {}, (7, None)),
        ({"queue_timeout_ms": 250}, {}, (100, 250)),
        ({"queue_timeout_ms": 0}, {}, (100, None)),
        ({"max_queue": 0}, {}, (0, None)),
        ({}, {"max_queue": 3, "queue_timeout_ms": 500}, (3, 500)),
        ({"max_queue": 9}, {"max_queue": 3, "queue_timeout_ms": 500}, (9, 500)),
        ({"queue_timeout_ms": 0}, {"queue_timeout_ms": 500}, (100, None)),
        ({"queue_timeout_ms": 100}, {"max_queue": 3}, (3, 100)),
    ],
)
def test_each_queue_field_is_the_providers_else_its_instances(
    own: dict[str, int], adapters: dict[str, int], expected: tuple[int, int | None]
) -> None:
    item = on("v", {**provider("a"), **own})
    pool = ProviderPool(catalogue([item], {"m": ["a"]}, adapters={"n1": [{**instance("v"), **adapters}]}))
    (candidate,) = pool.explain("m").candidates
    assert (candidate.max_queue, candidate.queue_timeout_ms) == expected
