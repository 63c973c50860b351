"""Says of each provider how it is, and of a request what would become of it. Nothing here changes anything."""

from dataclasses import dataclass

from iop_edge.ids import DispatchKey, NodeId, ProviderId
from iop_edge.pool.catalogue import Provider
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.group import Group
from iop_edge.pool.refusal import RefusalReason
from iop_edge.pool.seat import Seat
from iop_edge.pool.status import Health, ProviderState, ProviderStatus


@dataclass(frozen=True, slots=True)
class Candidate:
    """A provider that serves what is asked for, and why it would or would not be chosen now.

    `rank` counts the free candidates in the order in which they would be chosen, from 1; None: it is not free.
    `enters_queue` tells whether a new request would wait here, for `queue_timeout_ms` at most; None: as long as its
    caller does.
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
class Dispatch:
    """What would become of a new request: one is `chosen`, or it waits, or it is refused.

    `candidates` come in the order of the config.
    """

    key: DispatchKey
    candidates: tuple[Candidate, ...]
    chosen: ProviderId | None
    refusal: RefusalReason | None

    @property
    def queues(self) -> tuple[ProviderId, ...]:
        """The providers whose queues a new request would enter."""
        return tuple(item.provider_id for item in self.candidates if item.enters_queue)


def dispatch(dispatcher: Dispatcher, group: Group) -> Dispatch:
    """Say what would become of a new request for a group."""
    order = [] if dispatcher.is_closed else group.in_order()
    ranks = {seat.id: rank for rank, seat in enumerate(order, start=1)}
    best = order[0] if order else None
    candidates = tuple(_candidate(dispatcher, group, seat, ranks.get(seat.id), best) for seat in group.seats)
    refusal = None
    if dispatcher.is_closed:
        refusal = RefusalReason.CLOSED
    elif best is None and not any(candidate.enters_queue for candidate in candidates):
        is_open = any(seat.places for seat in group.seats)
        refusal = RefusalReason.QUEUE_FULL if is_open else RefusalReason.NO_PROVIDER
    return Dispatch(group.key, candidates, best.id if best else None, refusal)


def statuses(dispatcher: Dispatcher) -> tuple[ProviderStatus, ...]:
    """Return what can be said of each configured provider, by id (POL-04)."""
    providers = dispatcher.catalogue.providers
    return tuple(_status(dispatcher, dispatcher.seat(name), providers[name]) for name in sorted(providers))


def _status(dispatcher: Dispatcher, seat: Seat, provider: Provider) -> ProviderStatus:
    state = _state(dispatcher, seat, provider)
    return ProviderStatus(
        provider_id=provider.id,
        node_id=provider.node_id,
        status=state,
        health=_shown_health(seat, provider, state),
        capacity=provider.capacity if provider.enabled else 0,
        in_flight=seat.in_flight,
        queued=len(seat.queue),
        priority=provider.priority,
        models=provider.models,
        health_detail=_shown_detail(seat, provider, state),
    )


def _state(dispatcher: Dispatcher, seat: Seat, provider: Provider) -> ProviderState:
    obstacle = seat.obstacle(reachable=dispatcher.is_reachable(provider.node_id))
    if obstacle is not None:
        return obstacle
    return ProviderState.BUSY if seat.in_flight >= provider.capacity else ProviderState.AVAILABLE


def _shown_health(seat: Seat, provider: Provider, state: ProviderState) -> Health:
    if state is ProviderState.DISABLED:
        return Health.DISABLED
    if not provider.watched:
        return Health.HEALTHY
    # What a Node said last is kept for its return, but is no news while it is away.
    return Health.UNKNOWN if state is ProviderState.UNREACHABLE else seat.health


def _shown_detail(seat: Seat, provider: Provider, state: ProviderState) -> str:
    is_news = provider.watched and state not in (ProviderState.DISABLED, ProviderState.UNREACHABLE)
    return seat.health_detail if is_news else ""


def _candidate(dispatcher: Dispatcher, group: Group, seat: Seat, rank: int | None, best: Seat | None) -> Candidate:
    provider = seat.present
    status = _status(dispatcher, seat, provider)
    enters_queue = best is None and not dispatcher.is_closed and seat.places > 0 and seat.has_queue_room()
    return Candidate(
        provider_id=provider.id,
        node_id=provider.node_id,
        target=group.targets[seat.id],
        status=status.status,
        health=status.health,
        in_flight=seat.in_flight,
        capacity=status.capacity,
        priority=provider.priority,
        queued=status.queued,
        max_queue=provider.queue.limit,
        queue_timeout_ms=None if provider.queue.timeout is None else round(provider.queue.timeout * 1000),
        rank=rank,
        enters_queue=enters_queue,
        reason=_reason(status, seat, best),
    )


def _reason(status: ProviderStatus, seat: Seat, best: Seat | None) -> str:
    match status.status:
        case ProviderState.DISABLED:
            return "disabled by config"
        case ProviderState.UNREACHABLE:
            return f"node {status.node_id!r} is not reachable"
        case ProviderState.UNHEALTHY:
            seen = f": {status.health_detail}" if status.health_detail else ""
            return f"its node reports it unhealthy{seen}"
        case ProviderState.BUSY:
            return _why_busy(status, seat)
        case ProviderState.AVAILABLE:
            return _why_not_first(seat, best)


def _why_busy(status: ProviderStatus, seat: Seat) -> str:
    load = f"busy: {status.in_flight} in flight, capacity {status.capacity}"
    limit = seat.present.queue.limit
    if not limit:
        return f"{load}; nobody may wait for it"
    return f"{load}; {status.queued} of at most {limit} wait"


def _why_not_first(seat: Seat, best: Seat | None) -> str:
    if best is None:
        return "the Edge stops"
    if seat is best:
        return "its turn: the least in flight, then the lowest priority number, then the longest without a request"
    if seat.in_flight != best.in_flight:
        return f"more in flight than {best.id!r}: {seat.in_flight} against {best.in_flight}"
    mine, other = seat.present.priority, best.present.priority
    if mine != other:
        return f"priority {mine} comes after {other} of {best.id!r}: the lower number first"
    if seat.turn == best.turn:
        return f"as good as {best.id!r}, which stands before it; neither has had a request"
    return f"as good as {best.id!r}, which has been without a request for longer"
