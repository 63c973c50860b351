"""Simulated dispatch: what would become of a request under an assumed load, where nothing runs."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import EdgeError
from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.explain import DispatchExplanation, explain
from iop_edge.pool.slots import Lease
from iop_edge.pool.status import Health

_NOW: Final = 0.0
_READ_OF_INSTANCES: Final = frozenset({"enabled", "max_queue", "queue_timeout_ms"})
"""What dispatch reads of an adapter instance; the rest often holds unresolved references, to secrets above all."""

_WHY_NONE_WAITS: Final = {
    RefusalReason.NO_PROVIDER: "it takes no requests",
    RefusalReason.QUEUE_FULL: "its queue is too short",
}


class SimulationError(EdgeError):
    """A load that cannot occur, or a config that leaves open what dispatch depends on."""


@dataclass(frozen=True, slots=True)
class Load:
    """The load to assume: requests that run and that wait, by provider, and what is out of order. All ids exist."""

    in_flight: Mapping[ProviderId, int] = field(default_factory=dict)
    queued: Mapping[ProviderId, int] = field(default_factory=dict)
    unhealthy: Collection[ProviderId] = ()
    unreachable: Collection[NodeId] = ()


def simulate(snapshot: Snapshot, load: Load, model: str) -> DispatchExplanation:
    """Explain what would become of a new request under a load. Nodes that it does not name are reachable.

    Raises:
        SimulationError: the load cannot occur, or a reference that dispatch depends on is unresolved.
    """
    for where in _unresolved(snapshot):
        raise SimulationError(f"dispatch depends on {where}, which is an unresolved reference")
    dispatcher = Dispatcher(lambda: _NOW, lambda _deadline: None)
    dispatcher.reconfigure(Catalogue.of(snapshot))
    for node_id in dispatcher.catalogue.nodes:
        dispatcher.set_reachable(node_id, reachable=node_id not in load.unreachable)
    for provider_id in load.unhealthy:
        provider = dispatcher.catalogue.providers[provider_id]
        if not provider.watched:
            raise SimulationError(f"provider {provider_id!r} always counts as healthy: its health.mode is none")
        dispatcher.set_health(provider.node_id, provider_id, Health.UNHEALTHY)
    for provider_id, count in load.in_flight.items():
        # It may exceed the capacity, which may have been lowered meanwhile (POL-05).
        dispatcher.slots[provider_id].in_flight = count
    for provider_id, count in load.queued.items():
        _enqueue(dispatcher, provider_id, count)
    return explain(dispatcher, model)


def _enqueue(dispatcher: Dispatcher, provider_id: ProviderId, count: int) -> None:
    """Let requests wait for one provider alone."""
    if not count:
        return
    group = next(iter(dispatcher.slots[provider_id].groups), None)
    if group is None:
        raise _cannot_wait(count, provider_id, "no model and no route leads to it")
    others = [slot.id for slot in group.slots if slot.id != provider_id]
    for _ in range(count):
        try:
            outcome = dispatcher.take_or_wait(group.key, others)
        except NoProviderError as error:
            raise _cannot_wait(count, provider_id, _WHY_NONE_WAITS[error.reason]) from None
        if isinstance(outcome, Lease):
            raise _cannot_wait(count, provider_id, "it is not busy")


def _cannot_wait(count: int, provider_id: ProviderId, why: str) -> SimulationError:
    return SimulationError(f"{count} cannot wait for provider {provider_id!r}: {why}")


def _unresolved(snapshot: Snapshot) -> Iterator[str]:
    """Yield where references are unresolved, among what dispatch reads."""
    for path in snapshot.references if snapshot.is_offline else ():
        match [step.step for step in path.steps()]:
            case ["nodes", _, "providers", provider, name, *_]:
                yield f"provider {provider!r}, {name}"
            case ["nodes", node, "adapters", instance, name, *_] if name in _READ_OF_INSTANCES:
                yield f"adapter {instance!r} of node {node!r}, {name}"
            case ["models", model, "providers", _, name]:
                yield f"model {model!r}, {name}"
            case ["openai", "model_routes", route, name]:
                yield f"route {route!r}, {name}"
