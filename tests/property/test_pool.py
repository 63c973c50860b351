"""The pool against a model of it that is slow and obvious."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from iop_edge.ids import DispatchKey, ModelId, ModelKey, NodeId, ProviderId, RouteId, RouteKey
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.explain import explain, statuses
from iop_edge.pool.slots import Lease, Waiter
from iop_edge.pool.status import Health
from tests.property.slow_pool import Request, SlowPool
from tests.unit.pool.configs import catalogue, provider

_PROVIDERS = ("a", "b", "c", "d")
_NODES = ("n1", "n2")
_MODELS = ("m", "n")
_ROUTE = "r"
_ROUTE_NODE = _NODES[0]
_GROUPS = (*_MODELS, _ROUTE)
_INSTANCE = "shared"

T = TypeVar("T")

Config = tuple[list[dict[str, Any]], dict[str, list[str]]]


@st.composite
def _queues(draw: st.DrawFn) -> dict[str, int]:
    queue = {"max_queue": draw(st.integers(0, 2)), "queue_timeout_ms": draw(st.sampled_from([0, 1000, 2000, 5000]))}
    return {name: queue[name] for name in draw(st.sets(st.sampled_from(sorted(queue))))}


@st.composite
def _provider_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        {
            **provider(
                name,
                node=draw(st.sampled_from(_NODES)),
                capacity=draw(st.integers(1, 3)),
                priority=draw(st.integers(0, 1)),
                enabled=draw(st.integers(0, 3)) > 0,
                mode=draw(st.sampled_from(["none", "passive"])),
                models=[f"{name}-model", "of_route"],
            ),
            "adapter": _INSTANCE,
            **draw(_queues()),
        }
        for name in draw(st.lists(st.sampled_from(_PROVIDERS), unique=True, min_size=1))
    ]


@st.composite
def _configs(draw: st.DrawFn) -> Config:
    providers = draw(_provider_lists())
    names = st.sampled_from([item["id"] for item in providers])
    models = draw(st.dictionaries(st.sampled_from(_MODELS), st.lists(names, unique=True), min_size=1))
    return providers, models


def _key(name: str) -> DispatchKey:
    return RouteKey(RouteId(name)) if name == _ROUTE else ModelKey(ModelId(name))


class PoolMachine(RuleBasedStateMachine):
    """Does the same to both, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.model = SlowPool()
        self.pool = Dispatcher(lambda: self.model.now, lambda _: None)
        self.held: list[tuple[str, Lease]] = []
        self.waiting: list[tuple[Request, Waiter]] = []

    @initialize(config=_configs())
    def start(self, config: Config) -> None:
        self.reconfigure(config)
        for node in _NODES:
            self.set_reachable(node, reachable=True)

    @rule(config=_configs())
    def reconfigure(self, config: Config) -> None:
        providers, models = config
        of_route = [item["id"] for item in providers if item["node"] == _ROUTE_NODE]
        route = {"model": _ROUTE, "adapter": _INSTANCE, "target": "of_route"}
        adapters = {_ROUTE_NODE: [{"name": _INSTANCE, "type": "ollama", "enabled": True}]}
        after = catalogue(*config, adapters=adapters, routes=[route] if of_route else [])
        self.pool.reconfigure(after)
        self.model.reconfigure(providers, {**models, _ROUTE: of_route} if of_route else models)

    @rule(changes=_provider_lists())
    def change_some(self, changes: list[dict[str, Any]]) -> None:
        changed = {item["id"]: item for item in changes}
        providers = [changed.get(name, item) for name, item in self.model.providers.items()]
        self.reconfigure((providers, {name: self.model.models[name] for name in _MODELS if name in self.model.models}))

    @rule(node=st.sampled_from(_NODES), reachable=st.booleans())
    def set_reachable(self, node: str, reachable: bool) -> None:
        self.pool.set_reachable(NodeId(node), reachable=reachable)
        self.model.expire()
        (self.model.reachable.add if reachable else self.model.reachable.discard)(node)
        self.model.settle("no_provider")

    @rule(
        node=st.sampled_from(_NODES),
        name=st.sampled_from(_PROVIDERS),
        health=st.sampled_from([Health.HEALTHY, Health.UNHEALTHY]),
    )
    def set_health(self, node: str, name: str, health: Health) -> None:
        self.pool.set_health(NodeId(node), ProviderId(name), health)
        self.model.expire()
        if self.model.providers.get(name, {}).get("node") == node:
            (self.model.unhealthy.discard if health is Health.HEALTHY else self.model.unhealthy.add)(name)
            self.model.settle("no_provider")

    @rule(model=st.sampled_from(_GROUPS), avoid=st.frozensets(st.sampled_from(_PROVIDERS), max_size=1))
    def ask(self, model: str, avoid: frozenset[str]) -> None:
        if model not in self.model.models:
            with pytest.raises(NoProviderError):
                self.pool.take_or_wait(_key(model))
            return
        self.pool.expire()
        outcome = self.outcome(lambda: self.pool.take_or_wait(_key(model), frozenset(map(ProviderId, avoid))))
        request = self.model.ask(model, avoid)
        if isinstance(outcome, Waiter):
            self.waiting.append((request, outcome))
        else:
            self.take_in(request.outcome, outcome)

    @rule(models=st.lists(st.sampled_from(_GROUPS), min_size=2, max_size=6))
    def ask_in_a_burst(self, models: list[str]) -> None:
        for model in models:
            self.ask(model, frozenset())

    @rule(model=st.sampled_from(_GROUPS))
    def ask_at_once(self, model: str) -> None:
        if model in self.model.models:
            self.take_in(self.model.ask_at_once(model), self.outcome(lambda: self.pool.take(_key(model))))

    @rule(seconds=st.sampled_from([0.5, 1.0, 2.0, 30.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.model.now += seconds
        self.pool.expire()
        self.model.expire()

    @precondition(lambda self: self.held)
    @rule(data=st.data(), times=st.integers(1, 2))
    def end(self, data: st.DataObject, times: int) -> None:
        name, lease = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        for _ in range(times):
            lease.release()
        self.model.end(name)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        request, waiter = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        self.pool.cancel(waiter)
        self.model.cancel(request)

    @precondition(lambda self: not self.model.is_closed)
    @rule(sure=st.integers(0, 19))
    def close(self, sure: int) -> None:
        if not sure:
            self.pool.close()
            self.model.close()

    def outcome(self, ask: Callable[[], T]) -> T | RefusalReason:
        try:
            return ask()
        except NoProviderError as error:
            return error.reason

    def take_in(self, expected: str, outcome: Lease | RefusalReason) -> None:
        if isinstance(outcome, Lease):
            assert f"[{outcome.provider_id}]" == expected
            is_routed = isinstance(outcome.key, RouteKey)
            assert outcome.target == ("of_route" if is_routed else f"{outcome.provider_id}-model")
            self.held.append((outcome.provider_id, outcome))
        else:
            assert outcome == expected

    @invariant()
    def the_same_requests_have_been_settled(self) -> None:
        for request, waiter in self.waiting:
            if waiter.outcome is None:
                assert request.outcome == "waits"
            else:
                self.take_in(request.outcome, waiter.outcome)
        self.waiting = [each for each in self.waiting if each[1].outcome is None]

    @invariant()
    def the_same_requests_run_and_wait(self) -> None:
        shown = {item.provider_id: (item.in_flight, item.queued) for item in statuses(self.pool)}
        waiting = self.model.waiting
        assert shown == {
            name: (self.model.running.count(name), sum(name in each.entered for each in waiting))
            for name in sorted(self.model.providers)
        }

    @invariant()
    def the_next_deadline_is_known(self) -> None:
        deadlines = [
            deadline
            for request in self.model.waiting
            for name, deadline in request.deadlines.items()
            if deadline is not None and self.model.takes(name, request)
        ]
        assert self.pool.next_deadline() == min(deadlines, default=None)

    @invariant()
    def no_request_waits_while_a_provider_that_it_would_take_is_free(self) -> None:
        for request in self.model.waiting:
            names = self.model.models[request.model]
            assert not self.model.free([name for name in names if self.model.takes(name, request)])

    @invariant()
    def what_is_explained_is_what_happens(self) -> None:
        for model in self.model.models:
            said = explain(self.pool, _key(model))
            usable = [name for name in self.model.models[model] if self.model.is_usable(name)]
            if self.model.is_closed:
                assert (said.chosen, said.queues, said.refusal) == (None, (), RefusalReason.CLOSED)
                continue
            free = self.model.free(usable)
            assert (said.chosen in free) if free else (said.chosen is None)
            assert set(said.queues) == (set() if free else {name for name in usable if self.model.has_room(name)})

    @invariant()
    def a_disabled_provider_shows_no_capacity(self) -> None:
        shown = {item.provider_id for item in statuses(self.pool) if not item.capacity}
        assert shown == {name for name, item in self.model.providers.items() if not item["enabled"]}


_RULES = ("POL-01", "POL-02", "POL-03", "POL-05", "POL-10")
TestPool = PoolMachine.TestCase
for _id in _RULES:
    TestPool = pytest.mark.contract(_id)(TestPool)
