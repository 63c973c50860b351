"""The provider pool: which provider takes the next request of a model.

The pool does no I/O and knows no time. It belongs to one thread, that of the event loop, so that no two callers can
take the same place.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from iop_edge.ids import ModelId, NodeId, ProviderId, Target
from iop_edge.load.snapshot import Snapshot
from iop_edge.runtime import catalogue
from iop_edge.runtime.catalogue import Catalogue, Provider
from iop_edge.runtime.lease import Lease
from iop_edge.runtime.refusal import NoProviderError, Refusal, RefusalReason
from iop_edge.runtime.status import Health, ProviderState, ProviderStatus


@dataclass(eq=False, slots=True)
class _Seat:
    """What the pool remembers of a provider id while configs come and go.

    `provider` is None between the removal of a provider and the end of its last request. `turn` is the number of the
    dispatch that chose it last.
    """

    id: ProviderId
    provider: Provider | None = None
    in_flight: int = 0
    turn: int = 0
    health: Health = Health.UNKNOWN

    def follow(self, provider: Provider | None) -> None:
        """Take up what a new config says; a provider that left its Node has an unknown health."""
        if self.provider is None or provider is None or self.provider.node_id != provider.node_id:
            self.health = Health.UNKNOWN
        self.provider = provider


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A seat that may take a request, with what it is called in the request's model group."""

    seat: _Seat
    provider: Provider
    target: Target


class ProviderPool:
    """Chooses providers and counts their requests.

    A Node is unreachable until the pool hears otherwise, and a provider's health is unknown, which is good enough for
    dispatch.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._catalogue: Catalogue = catalogue.EMPTY
        self._seats: dict[ProviderId, _Seat] = {}
        self._reachable: set[NodeId] = set()
        self._turns = 0
        self.reconfigure(snapshot)

    def reconfigure(self, snapshot: Snapshot) -> None:
        """Dispatch by a new config from now on.

        No running request is touched: counts and the rotation belong to the provider id, through disabling, removing,
        adding again and moving to another Node (POL-05).
        """
        self._catalogue = catalogue.read(snapshot.tree)
        providers = self._catalogue.providers
        for provider_id in providers:
            self._seats.setdefault(provider_id, _Seat(provider_id))
        for seat in tuple(self._seats.values()):
            seat.follow(providers.get(seat.id))
            self._forget_if_gone(seat)

    def set_node_reachable(self, node_id: NodeId, reachable: bool) -> None:  # noqa: FBT001
        """Say whether a Node can take requests for its providers."""
        if reachable:
            self._reachable.add(node_id)
        else:
            self._reachable.discard(node_id)

    def set_health(self, node_id: NodeId, provider_id: ProviderId, health: Health) -> None:
        """Say how a Node finds a provider. A report about one that is gone, or another Node's, has no effect."""
        seat = self._seats.get(provider_id)
        if seat is not None and seat.provider is not None and seat.provider.node_id == node_id:
            seat.health = health

    def try_acquire(self, model_id: ModelId) -> Lease | Refusal:
        """Take a place at the provider whose turn it is, without waiting (POL-01, POL-04)."""
        if model_id not in self._catalogue.groups:
            return Refusal(model_id, RefusalReason.UNKNOWN_MODEL)
        eligible = [candidate for candidate in self._members(model_id) if self._is_eligible(candidate.seat)]
        free = [candidate for candidate in eligible if candidate.seat.in_flight < candidate.provider.capacity]
        if not free:
            return Refusal(model_id, RefusalReason.BUSY if eligible else RefusalReason.NO_PROVIDER)
        return self._grant(model_id, min(free, key=_order))

    @asynccontextmanager
    async def acquire(self, model: str) -> AsyncIterator[Lease]:
        """Hold a place at a provider of a model, named by its id, for as long as the block runs.

        Raises:
            NoProviderError: no provider takes the request now.
        """
        outcome = self.try_acquire(ModelId(model))
        if isinstance(outcome, Refusal):
            raise NoProviderError(outcome)
        try:
            yield outcome
        finally:
            outcome.release()

    def statuses(self) -> tuple[ProviderStatus, ...]:
        """Return what can be said of each configured provider, by id."""
        return tuple(self._status(provider) for _, provider in sorted(self._catalogue.providers.items()))

    def _members(self, model_id: ModelId) -> Iterator[_Candidate]:
        for member in self._catalogue.groups[model_id]:
            provider = self._catalogue.providers[member.provider_id]
            yield _Candidate(self._seats[provider.id], provider, member.target)

    def _is_eligible(self, seat: _Seat) -> bool:
        return self._state_apart_from_load(seat) is None

    def _state_apart_from_load(self, seat: _Seat) -> ProviderState | None:
        provider = seat.provider
        if provider is None or not provider.enabled:
            return ProviderState.DISABLED
        if provider.node_id not in self._reachable:
            return ProviderState.UNREACHABLE
        if provider.watched and seat.health is Health.UNHEALTHY:
            return ProviderState.UNHEALTHY
        return None

    def _grant(self, model_id: ModelId, candidate: _Candidate) -> Lease:
        seat, provider = candidate.seat, candidate.provider
        self._turns += 1
        seat.turn = self._turns
        seat.in_flight += 1
        return Lease(
            model_id=model_id,
            provider_id=provider.id,
            node_id=provider.node_id,
            adapter=provider.adapter,
            target=candidate.target,
            _give_back=partial(self._take_back, seat),
        )

    def _take_back(self, seat: _Seat) -> None:
        seat.in_flight -= 1
        self._forget_if_gone(seat)

    def _forget_if_gone(self, seat: _Seat) -> None:
        if seat.provider is None and not seat.in_flight:
            del self._seats[seat.id]

    def _status(self, provider: Provider) -> ProviderStatus:
        seat = self._seats[provider.id]
        busy = seat.in_flight >= provider.capacity
        state = self._state_apart_from_load(seat) or (ProviderState.BUSY if busy else ProviderState.AVAILABLE)
        return ProviderStatus(
            provider_id=provider.id,
            node_id=provider.node_id,
            status=state,
            health=_shown_health(seat, provider, state),
            capacity=provider.capacity if provider.enabled else 0,
            in_flight=seat.in_flight,
            queued=0,
            priority=provider.priority,
            models=provider.models,
        )


def _order(candidate: _Candidate) -> tuple[int, int, int]:
    """Least loaded first, then the lower priority number, then whoever was chosen longest ago (POL-01)."""
    return candidate.seat.in_flight, candidate.provider.priority, candidate.seat.turn


def _shown_health(seat: _Seat, provider: Provider, state: ProviderState) -> Health:
    if state is ProviderState.DISABLED:
        return Health.DISABLED
    if not provider.watched:
        return Health.HEALTHY
    # What a Node said last is kept for its return, but is no news while it is away.
    return Health.UNKNOWN if state is ProviderState.UNREACHABLE else seat.health
