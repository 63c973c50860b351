"""The pool against a model of it that is slow and obvious."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from iop_edge.ids import ModelId, NodeId, ProviderId
from iop_edge.load.snapshot import Snapshot
from iop_edge.runtime.lease import Lease
from iop_edge.runtime.pool import ProviderPool
from iop_edge.runtime.refusal import RefusalReason
from iop_edge.runtime.status import Health
from tests.unit.runtime.configs import provider, snapshot

_PROVIDERS = ("a", "b", "c", "d")
_NODES = ("n1", "n2")
_MODELS = ("m", "n")


@st.composite
def _provider_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        provider(
            name,
            node=draw(st.sampled_from(_NODES)),
            capacity=draw(st.integers(1, 3)),
            priority=draw(st.integers(0, 1)),
            enabled=draw(st.booleans()),
            mode=draw(st.sampled_from(["none", "passive"])),
        )
        for name in draw(st.lists(st.sampled_from(_PROVIDERS), unique=True, min_size=1))
    ]


@st.composite
def _configs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    providers = draw(_provider_lists())
    names = st.sampled_from([item["id"] for item in providers])
    models = draw(st.dictionaries(st.sampled_from(_MODELS), st.lists(names, unique=True), min_size=1))
    return providers, models


@dataclass
class _Obvious:
    """Says what the pool must do, by going through everything each time."""

    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    models: dict[str, list[str]] = field(default_factory=dict)
    reachable: set[str] = field(default_factory=set)
    unhealthy: set[str] = field(default_factory=set)
    running: list[str] = field(default_factory=list)
    dispatches: list[str] = field(default_factory=list)

    def reconfigure(self, providers: list[dict[str, Any]], models: dict[str, list[str]]) -> None:
        before, self.providers = self.providers, {item["id"]: item for item in providers}
        self.models = models
        for name in _PROVIDERS:
            if before.get(name, {}).get("node") != self.providers.get(name, {}).get("node"):
                self.unhealthy.discard(name)
            if name not in self.providers:
                self.forget_if_idle(name)

    def forget_if_idle(self, name: str) -> None:
        if name not in self.running:
            self.dispatches = [other for other in self.dispatches if other != name]

    def expected(self, model: str) -> str | RefusalReason:
        if model not in self.models:
            return RefusalReason.UNKNOWN
        usable = [name for name in self.models[model] if self.is_usable(self.providers[name])]
        free = [name for name in usable if self.running.count(name) < self.providers[name]["capacity"]]
        if not free:
            return RefusalReason.BUSY if usable else RefusalReason.NO_PROVIDER
        load = min(self.running.count(name) for name in free)
        free = [name for name in free if self.running.count(name) == load]
        first = min(self.providers[name]["priority"] for name in free)
        free = [name for name in free if self.providers[name]["priority"] == first]
        rested = [name for name in free if name not in self.dispatches]
        return rested[0] if rested else next(name for name in self.by_last_dispatch() if name in free)

    def by_last_dispatch(self) -> list[str]:
        return list(dict.fromkeys(self.dispatches[::-1]))[::-1]

    def is_usable(self, item: dict[str, Any]) -> bool:
        healthy = item["health"]["mode"] == "none" or item["id"] not in self.unhealthy
        return item["enabled"] and item["node"] in self.reachable and healthy


class PoolMachine(RuleBasedStateMachine):
    """Does the same to both, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = ProviderPool(Snapshot({}))
        self.model = _Obvious()
        self.leases: list[Lease] = []

    @initialize(config=_configs())
    def start(self, config: tuple[list[dict[str, Any]], dict[str, list[str]]]) -> None:
        self.reconfigure(config)
        for node in _NODES:
            self.set_reachable(node, reachable=True)

    @rule(config=_configs())
    def reconfigure(self, config: tuple[list[dict[str, Any]], dict[str, list[str]]]) -> None:
        self.pool.reconfigure(snapshot(*config))
        self.model.reconfigure(*config)

    @rule(node=st.sampled_from(_NODES), reachable=st.booleans())
    def set_reachable(self, node: str, reachable: bool) -> None:
        self.pool.set_node_reachable(NodeId(node), reachable)
        (self.model.reachable.add if reachable else self.model.reachable.discard)(node)

    @rule(
        node=st.sampled_from(_NODES),
        name=st.sampled_from(_PROVIDERS),
        health=st.sampled_from([Health.HEALTHY, Health.UNHEALTHY]),
    )
    def set_health(self, node: str, name: str, health: Health) -> None:
        self.pool.set_health(NodeId(node), ProviderId(name), health)
        if self.model.providers.get(name, {}).get("node") == node:
            (self.model.unhealthy.discard if health is Health.HEALTHY else self.model.unhealthy.add)(name)

    @rule(model=st.sampled_from(_MODELS))
    def acquire(self, model: str) -> None:
        expected = self.model.expected(model)
        outcome = self.pool.try_acquire(ModelId(model))
        if isinstance(outcome, Lease):
            assert outcome.provider_id == expected
            assert outcome.target == f"{outcome.provider_id}-model"
            self.leases.append(outcome)
            self.model.running.append(outcome.provider_id)
            self.model.dispatches.append(outcome.provider_id)
        else:
            assert outcome.reason == expected

    @rule(data=st.data(), times=st.integers(1, 2))
    def release(self, data: st.DataObject, times: int) -> None:
        if not self.leases:
            return
        lease = self.leases.pop(data.draw(st.integers(0, len(self.leases) - 1)))
        for _ in range(times):
            lease.release()
        self.model.running.remove(lease.provider_id)
        if lease.provider_id not in self.model.providers:
            self.model.forget_if_idle(lease.provider_id)

    @invariant()
    def counts_agree(self) -> None:
        shown = {item.provider_id: item.in_flight for item in self.pool.statuses()}
        assert shown == {name: self.model.running.count(name) for name in sorted(self.model.providers)}

    @invariant()
    def a_disabled_provider_shows_no_capacity(self) -> None:
        shown = {item.provider_id for item in self.pool.statuses() if not item.capacity}
        assert shown == {name for name, item in self.model.providers.items() if not item["enabled"]}


TestPool = pytest.mark.contract("POL-01")(pytest.mark.contract("POL-05")(PoolMachine.TestCase))
