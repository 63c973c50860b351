"""A dispatch with made-up load: what would become of a request, where nothing runs."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import EdgeError
from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.explanation import Explanation, explain_request
from iop_edge.pool.lease import Lease
from iop_edge.pool.refusal import RefusalReason
from iop_edge.pool.status import Health
from iop_edge.pool.waiter import Waiter
from iop_edge.schema.values import UNRESOLVED, ReadTree, plain

_NOW: Final = 0.0
_READ_OF_INSTANCES: Final = frozenset({"enabled", "max_queue", "queue_timeout_ms"})
"""What dispatch reads of an adapter instance; the others are often references, to secrets at that."""


class RehearsalError(EdgeError):
    """A load that cannot be, or a config that does not say enough to dispatch by."""


@dataclass(frozen=True, slots=True)
class Load:
    """What to assume: requests that run and that wait at providers, and what is out of order. All ids exist."""

    in_flight: Mapping[ProviderId, int] = field(default_factory=dict)
    queued: Mapping[ProviderId, int] = field(default_factory=dict)
    unhealthy: Collection[ProviderId] = ()
    unreachable: Collection[NodeId] = ()


def rehearse(snapshot: Snapshot, load: Load, model: str) -> Explanation:
    """Say what would become of a new request under a load. Nodes that it does not name are reachable.

    Raises:
        RehearsalError: there can be no such load, or a reference that dispatch depends on is not resolved.
    """
    for where in _unresolved(snapshot.tree):
        raise RehearsalError(f"dispatch depends on {where}, which is a reference that is not resolved")
    dispatcher = Dispatcher(lambda: _NOW, lambda _deadline: None)
    dispatcher.reconfigure(Catalogue.of(snapshot))
    for node_id in dispatcher.catalogue.nodes:
        dispatcher.set_reachable(node_id, reachable=node_id not in load.unreachable)
    for provider_id in load.unhealthy:
        _make_unhealthy(dispatcher, provider_id)
    for provider_id, count in load.in_flight.items():
        # More than it takes is no contradiction: its capacity may have been lowered meanwhile (POL-05).
        dispatcher.seat(provider_id).in_flight = count
    for provider_id, count in load.queued.items():
        _let_wait(dispatcher, provider_id, count)
    return explain_request(dispatcher, model)


def _make_unhealthy(dispatcher: Dispatcher, provider_id: ProviderId) -> None:
    provider = dispatcher.catalogue.providers[provider_id]
    if not provider.watched:
        raise RehearsalError(f"provider {provider_id!r} counts as healthy whatever happens: its health.mode is none")
    dispatcher.set_health(provider.node_id, provider_id, Health.UNHEALTHY)


def _let_wait(dispatcher: Dispatcher, provider_id: ProviderId, count: int) -> None:
    seat = dispatcher.seat(provider_id)
    if count and not seat.groups:
        raise RehearsalError(f"{count} cannot wait for provider {provider_id!r}: no model and no route leads to it")
    for group in list(seat.groups)[:1]:
        others = [other.id for other in group.seats if other is not seat]
        outcomes = (dispatcher.take_or_wait(group, others) for _ in range(count))
        wrong = next((outcome for outcome in outcomes if not isinstance(outcome, Waiter)), None)
        if wrong is not None:
            why = "it is not busy" if isinstance(wrong, Lease) else _WHY_NOBODY_WAITS[wrong.reason]
            raise RehearsalError(f"{count} cannot wait for provider {provider_id!r}: {why}")


_WHY_NOBODY_WAITS: Final = {
    RefusalReason.NO_PROVIDER: "it takes no request",
    RefusalReason.QUEUE_FULL: "its queue does not hold as many",
}


def _unresolved(config: ReadTree) -> Iterator[str]:
    """Yield the places of references that are not resolved, among what dispatch reads."""
    for node in config.get("nodes", ()):
        for provider in node.get("providers", ()):
            yield from _unresolved_in(provider, f"provider {provider['id']!r}")
        for instance in node.get("adapters", ()):
            read = {name: value for name, value in instance.items() if name in _READ_OF_INSTANCES}
            yield from _unresolved_in(read, f"adapter {instance['name']!r} of node {node['id']!r}")
    for model in config.get("models", ()):
        yield from _unresolved_in(model.get("providers", ()), f"model {model['id']!r}")
    for route in config["openai"].get("model_routes", ()):
        yield from _unresolved_in(route, f"route {route['model']!r}")


def _unresolved_in(value: Any, of: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _unresolved_in(item, of if ", " in of else f"{of}, {name}")
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _unresolved_in(item, of)
    elif plain(value) is UNRESOLVED:
        yield of
