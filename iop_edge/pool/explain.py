"""The state of each provider, and what would become of a new request. Nothing here changes anything."""

from dataclasses import dataclass
from enum import StrEnum

from iop_edge.ids import DispatchKey, ModelKey, NodeId, ProviderId, RouteKey
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.slots import Slot
from iop_edge.pool.status import Health, ProviderState, ProviderStatus


class DispatchKind(StrEnum):
    """What the model of a request names."""

    MODEL = "model"
    ROUTE = "route"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A provider that serves the requested model, and why it would or would not be chosen now.

    `rank` numbers the free candidates in the order in which they would be chosen, from 1; None: it is not free.
    `queue_timeout_ms` of None means that a request waits until its caller cancels it. `enters_queue` tells whether a
    new request would wait here.
    """

    provider_id: ProviderId
    node_id: NodeId
    target: str
    status: ProviderState
    health: Health
    in_flight: int
    capacity: int
    priority: int
    queued: int
    max_queue: int
    rank: int | None
    enters_queue: bool
    reason: str
    queue_timeout_ms: int | None


@dataclass(frozen=True, slots=True)
class DispatchExplanation:
    """What would become of a new request: it goes to the `chosen` provider, or waits in `queues`, or is refused.

    `candidates` are in the order of the config. Where `model` names nothing, `kind` is None, and `known_models` and
    `known_routes` list all names that there are.
    """

    model: str
    kind: DispatchKind | None = None
    chosen: ProviderId | None = None
    queues: tuple[ProviderId, ...] = ()
    refusal: RefusalReason | None = None
    candidates: tuple[Candidate, ...] = ()
    known_models: tuple[str, ...] = ()
    known_routes: tuple[str, ...] = ()


def explain(dispatcher: Dispatcher, model: str | DispatchKey) -> DispatchExplanation:
    """Explain what would become of a new request for a model group or a route, by name or by key."""
    group = dispatcher.find(model)
    if group is None:
        return DispatchExplanation(
            model if isinstance(model, str) else model.id,
            refusal=RefusalReason.UNKNOWN,
            known_models=tuple(sorted(key.id for key in dispatcher.groups if isinstance(key, ModelKey))),
            known_routes=tuple(sorted(key.id for key in dispatcher.groups if isinstance(key, RouteKey))),
        )
    kind = DispatchKind.ROUTE if isinstance(group.key, RouteKey) else DispatchKind.MODEL
    if dispatcher.is_closed:
        return DispatchExplanation(group.key.id, kind, refusal=RefusalReason.CLOSED)
    order = group.in_order()
    best = order[0] if order else None
    ranks = {slot.id: rank for rank, slot in enumerate(order, start=1)}
    shown = {member.provider_id: member.shown_target for member in dispatcher.catalogue.groups[group.key]}
    candidates = tuple(_candidate(dispatcher, shown[slot.id], slot, ranks.get(slot.id), best) for slot in group.slots)
    queues = tuple(candidate.provider_id for candidate in candidates if candidate.enters_queue)
    refusal = None
    if best is None and not queues:
        is_usable = any(slot.effective_capacity for slot in group.slots)
        refusal = RefusalReason.QUEUE_FULL if is_usable else RefusalReason.NO_PROVIDER
    return DispatchExplanation(group.key.id, kind, best.id if best else None, queues, refusal, candidates)


def statuses(dispatcher: Dispatcher) -> tuple[ProviderStatus, ...]:
    """Return the status of each configured provider, by id (POL-04)."""
    return tuple(_status(dispatcher, dispatcher.slots[name]) for name in sorted(dispatcher.catalogue.providers))


def _status(dispatcher: Dispatcher, slot: Slot) -> ProviderStatus:
    provider = slot.present
    state = slot.obstacle(dispatcher.reachable)
    if state is None:
        state = ProviderState.BUSY if slot.in_flight >= provider.capacity else ProviderState.AVAILABLE
    health, detail = _health(slot, state)
    return ProviderStatus(
        provider_id=provider.id,
        node_id=provider.node_id,
        status=state,
        health=health,
        capacity=provider.capacity if provider.enabled else 0,
        in_flight=slot.in_flight,
        queued=len(slot.queue),
        priority=provider.priority,
        models=provider.shown_models,
        health_detail=detail,
    )


def _health(slot: Slot, state: ProviderState) -> tuple[Health, str]:
    if state is ProviderState.DISABLED:
        return Health.DISABLED, ""
    if not slot.present.watched:
        return Health.HEALTHY, ""
    # The last report is kept for the return of the Node, but is out of date while the Node is away.
    return (Health.UNKNOWN, "") if state is ProviderState.UNREACHABLE else (slot.health, slot.health_detail)


def _candidate(dispatcher: Dispatcher, target: str, slot: Slot, rank: int | None, best: Slot | None) -> Candidate:
    status = _status(dispatcher, slot)
    queue = slot.present.queue
    return Candidate(
        provider_id=status.provider_id,
        node_id=status.node_id,
        target=target,
        status=status.status,
        health=status.health,
        in_flight=status.in_flight,
        capacity=status.capacity,
        priority=status.priority,
        queued=status.queued,
        max_queue=queue.limit,
        rank=rank,
        enters_queue=best is None and slot.effective_capacity > 0 and slot.has_queue_room(),
        reason=_reason(status, slot, best),
        queue_timeout_ms=None if queue.timeout is None else round(queue.timeout * 1000),
    )


def _reason(status: ProviderStatus, slot: Slot, best: Slot | None) -> str:
    match status.status:
        case ProviderState.DISABLED:
            return "disabled by config"
        case ProviderState.UNREACHABLE:
            return f"node {status.node_id!r} is not reachable"
        case ProviderState.UNHEALTHY:
            seen = f": {status.health_detail}" if status.health_detail else ""
            return f"its node reports it unhealthy{seen}"
        case ProviderState.BUSY:
            limit = slot.present.queue.limit
            queue = f"{status.queued} of at most {limit} queued" if limit else "it has no queue"
            return f"busy: {status.in_flight} in flight, capacity {status.capacity}; {queue}"
        case ProviderState.AVAILABLE:
            return _compared(slot, best)


def _compared(slot: Slot, best: Slot | None) -> str:
    if best is None or slot is best:
        return "its turn: the least in flight, then the lowest priority number, then the longest without a request"
    if slot.in_flight != best.in_flight:
        return f"more in flight than {best.id!r}: {slot.in_flight} against {best.in_flight}"
    if slot.priority != best.priority:
        return f"priority {slot.priority} comes after {best.priority} of {best.id!r}: the lower number first"
    if slot.turn == best.turn:
        return f"equal to {best.id!r}, which is listed first; neither has had a request"
    return f"equal to {best.id!r}, which has been without a request for longer"
