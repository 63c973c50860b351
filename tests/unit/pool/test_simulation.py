"""What would become of a request: by the pool as it is, and under a simulated load."""

from collections.abc import Mapping
from typing import Any

import pytest

from iop_edge.config.marks import UNRESOLVED, Sourced
from iop_edge.config.snapshot import Snapshot
from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.explain import DispatchExplanation, DispatchKind
from iop_edge.pool.pool import ProviderPool
from iop_edge.pool.simulation import Load, SimulationError, simulate
from tests import trees
from tests.unit.pool.configs import catalogue, provider, snapshot

P, Q = ProviderId("p"), ProviderId("q")
UNKNOWN_CAPACITY: Any = Sourced("${env:CAPACITY}", UNRESOLVED)


def two(**fields_of_q: Any) -> Snapshot:
    """A model `m` with the providers p and q, which take two requests each, q on a Node of its own."""
    return snapshot([provider("p", capacity=2), provider("q", **{"node": "n2", "capacity": 2, **fields_of_q})], MODELS)


MODELS = {"m": ["p", "q"], "n": ["q"]}


def outcome(explanation: DispatchExplanation) -> tuple[str | None, tuple[str, ...], RefusalReason | None]:
    return explanation.chosen, explanation.queues, explanation.refusal


def ids(counts: Mapping[str, int]) -> dict[ProviderId, int]:
    return {ProviderId(name): count for name, count in counts.items()}


@pytest.mark.contract("POL-01")
@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (Load(), ("p", (), None)),
        (Load(in_flight=ids({"p": 1})), ("q", (), None)),
        (Load(in_flight=ids({"p": 1, "q": 1})), ("p", (), None)),
        (Load(unreachable={NodeId("n1")}), ("q", (), None)),
        (Load(unhealthy={P}), ("q", (), None)),
        (Load(in_flight=ids({"p": 2, "q": 2})), (None, ("p", "q"), None)),
        (Load(in_flight=ids({"p": 7, "q": 2})), (None, ("p", "q"), None)),
        (Load(in_flight=ids({"p": 2, "q": 2}), queued=ids({"q": 1})), (None, ("p",), None)),
        (Load(in_flight=ids({"q": 2}), unhealthy={P}, queued=ids({"q": 1})), (None, (), RefusalReason.QUEUE_FULL)),
        (Load(unhealthy={P}, unreachable={NodeId("n2")}), (None, (), RefusalReason.NO_PROVIDER)),
    ],
)
def test_a_request_goes_where_it_would_go_under_the_load(
    load: Load, expected: tuple[str | None, tuple[str, ...], RefusalReason | None]
) -> None:
    assert outcome(simulate(two(max_queue=1), load, "m")) == expected


@pytest.mark.case("A4")
def test_the_lower_priority_number_comes_first_and_the_reason_says_so() -> None:
    found = simulate(snapshot([provider("p", priority=5), provider("q", priority=2)], MODELS), Load(), "m")
    assert found.chosen == "q"
    assert [(item.provider_id, item.rank) for item in found.candidates] == [("p", 2), ("q", 1)]
    assert "the lower number first" in found.candidates[0].reason


def test_between_equals_of_which_none_has_had_a_request_the_first_is_chosen_and_said_to_be() -> None:
    found = simulate(two(), Load(), "m")
    assert (found.chosen, found.candidates[1].reason) == (
        "p",
        "equal to 'p', which is listed first; neither has had a request",
    )


def test_candidates_show_the_simulated_load() -> None:
    found = simulate(two(max_queue=3, queue_timeout_ms=1500), Load(ids({"p": 9, "q": 2}), ids({"q": 3}), {P}), "m")
    first, second = found.candidates
    assert (first.in_flight, first.capacity, first.status, first.health) == (9, 2, "unhealthy", "unhealthy")
    assert (second.in_flight, second.queued, second.max_queue, second.queue_timeout_ms) == (2, 3, 3, 1500)
    assert (second.status, second.enters_queue, second.target) == ("busy", False, "q-model")


@pytest.mark.parametrize(
    ("load", "why"),
    [
        (Load(queued=ids({"q": 1})), "not busy"),
        (Load(ids({"q": 2}), ids({"q": 2})), "too short"),
        (Load(ids({"q": 2}), ids({"q": 1}), {Q}), "takes no requests"),
        (Load(unhealthy={ProviderId("r")}), "health.mode is none"),
        (Load(ids({"r": 1}), ids({"r": 1})), "no model and no route"),
    ],
)
def test_a_load_that_cannot_occur_is_an_error(load: Load, why: str) -> None:
    config = snapshot([provider("p"), provider("q", capacity=2, max_queue=1), provider("r", mode="none")], MODELS)
    with pytest.raises(SimulationError, match=why):
        simulate(config, load, "m")


@pytest.mark.parametrize("where", ["provider", "adapter", "model"])
def test_a_reference_that_dispatch_depends_on_must_be_resolved(where: str) -> None:
    instance = {"name": "q-adapter", "type": "ollama", "enabled": True, "headers": {"Authorization": UNKNOWN_CAPACITY}}
    config = snapshot([provider("q")], {"m": ["q"]}, adapters={"n1": [instance]})
    assert simulate(trees.snapshot(dict(config.tree)), Load(), "m").chosen == "q"
    node, (model,) = config.tree["nodes"][0], config.tree["models"]
    messages: dict[str, Any] = {
        "provider": node["providers"][0],
        "adapter": node["adapters"][0],
        "model": model["providers"][0],
    }
    messages[where]["max_queue" if where != "model" else "target"] = UNKNOWN_CAPACITY
    with pytest.raises(SimulationError, match=where):
        simulate(trees.snapshot(dict(config.tree)), Load(), "m")


@pytest.mark.contract("POL-10", "VAL-09")
def test_a_model_group_comes_before_a_route_of_its_name() -> None:
    adapters = {"n1": [{"name": "q-adapter", "type": "ollama", "enabled": True}]}
    routes = [{"model": name, "adapter": "q-adapter", "target": "q-model"} for name in ("m", "r")]
    pool = ProviderPool(catalogue([provider("p"), provider("q")], {"m": ["p"]}, adapters=adapters, routes=routes))
    group, route = pool.explain("m"), pool.explain("r")
    assert (group.kind, [item.provider_id for item in group.candidates]) == (DispatchKind.MODEL, ["p"])
    assert (route.kind, [item.provider_id for item in route.candidates]) == (DispatchKind.ROUTE, ["q"])


def test_a_model_that_names_nothing_is_refused_with_all_that_there_is() -> None:
    adapters = {"n1": [{"name": "q-adapter", "type": "ollama", "enabled": True}]}
    routes = [{"model": "r", "adapter": "q-adapter", "target": "q-model"}]
    config = snapshot([provider("q")], {"m": ["q"], "a": []}, adapters=adapters, routes=routes)
    found = simulate(config, Load(), "p")
    assert (found.kind, found.refusal, found.candidates) == (None, RefusalReason.UNKNOWN, ())
    assert (found.known_models, found.known_routes) == (("a", "m"), ("r",))
    assert simulate(config, Load(), "m").known_models == ()


def test_explaining_takes_nothing() -> None:
    pool = ProviderPool(Catalogue.of(two()))
    pool.set_node_reachable(NodeId("n1"), True)
    assert {pool.explain("m").chosen for _ in range(5)} == {"p"}
    assert [status.in_flight for status in pool.statuses()] == [0, 0]


def test_a_closed_pool_explains_that_it_refuses() -> None:
    pool = ProviderPool(Catalogue.of(two()))
    pool.set_node_reachable(NodeId("n1"), True)
    pool.close()
    assert outcome(pool.explain("m")) == (None, (), RefusalReason.CLOSED)
