"""Who gets which place, and when: the rules of dispatch, without I/O and with a clock from outside.

Two things hold between any two calls. A request never waits while a provider that it would take is free. And a request
that waits stands in the queue of at least one provider.
"""

from collections.abc import Callable, Collection, Iterable
from heapq import heapify, heappop, heapreplace
from typing import Final

from iop_edge.ids import DispatchKey, ModelKey, NodeId, ProviderId, RouteKey
from iop_edge.pool.catalogue import EMPTY, Catalogue
from iop_edge.pool.deadlines import Deadlines
from iop_edge.pool.group import Group
from iop_edge.pool.lease import Lease
from iop_edge.pool.observer import Observer
from iop_edge.pool.refusal import Refusal, RefusalReason
from iop_edge.pool.seat import Seat, arrival
from iop_edge.pool.status import Health
from iop_edge.pool.waiter import Waiter

NOBODY: Final[frozenset[ProviderId]] = frozenset()
_MOST_GONE: Final = 10_000
"""So many ids of removed providers keep their turn, the ones that were removed last."""


class Dispatcher:
    """Chooses providers, counts their requests, and keeps the lines of those who wait.

    Args:
        clock: the time in seconds, from any beginning; it is read only where somebody waits.
        on_deadline: is told each time at which `expire` will have something to do.
        observer: is told how requests fare that are not served at once.
    """

    def __init__(
        self, clock: Callable[[], float], on_deadline: Callable[[float], None], observer: Observer | None = None
    ) -> None:
        self._clock = clock
        self._on_deadline = on_deadline
        self._observer = observer
        self._catalogue = EMPTY
        self._seats: dict[ProviderId, Seat] = {}
        self._groups: dict[DispatchKey, Group] = {}
        self.models: dict[str, Group] = {}
        self.routes: dict[str, Group] = {}
        self._reachable: set[NodeId] = set()
        self._deadlines = Deadlines()
        self._turns = 0
        self._turns_of_gone: dict[ProviderId, int] = {}
        self._arrivals = 0
        self._closed = False
        self._give_back = self._take_back

    @property
    def catalogue(self) -> Catalogue:
        """What the config in force says."""
        return self._catalogue

    @property
    def is_closed(self) -> bool:
        """Whether everybody is refused."""
        return self._closed

    def seat(self, provider_id: ProviderId) -> Seat:
        """Return the seat of a configured provider."""
        return self._seats[provider_id]

    def is_reachable(self, node_id: NodeId) -> bool:
        """Tell whether a Node takes requests."""
        return node_id in self._reachable

    def take(self, group: Group, avoid: Collection[ProviderId] = NOBODY) -> Lease | Refusal:
        """Take a place at the provider whose turn it is, without waiting (POL-01)."""
        seat = None if self._closed else group.best(avoid)
        if seat is not None:
            return self._grant(seat, group)
        return Refusal(group.key, self._reason(group, avoid))

    def take_or_wait(self, group: Group, avoid: Collection[ProviderId] = NOBODY) -> Lease | Refusal | Waiter:
        """Take a place, or wait at every provider whose queue has room (POL-02)."""
        seat = None if self._closed else group.best(avoid)
        if seat is not None:
            return self._grant(seat, group)
        reason = self._reason(group, avoid)
        return self._wait(group, avoid) if reason is RefusalReason.BUSY else self.refuse(Refusal(group.key, reason))

    def refuse(self, refusal: Refusal) -> Refusal:
        """Note that a request is refused that was ready to wait, and return the refusal."""
        if self._observer is not None:
            self._observer.take_refusal(refusal)
        return refusal

    def cancel(self, waiter: Waiter) -> None:
        """Forget a request whose caller has gone away; a place that it has got meanwhile is for the next one."""
        if waiter.outcome is None:
            self._withdraw(waiter)
            self._tell_of_wait(waiter, None)
        elif isinstance(waiter.outcome, Lease):
            waiter.outcome.release()

    def next_deadline(self) -> float | None:
        """Return when `expire` has something to do, or None where nobody's wait is limited."""
        return self._deadlines.earliest()

    def expire(self) -> None:
        """Let everybody leave the queues whose time is up; who stands in none any more is refused."""
        if self._deadlines.earliest() is None:
            return
        for waiter, seat in self._deadlines.due(self._clock()):
            self._leave(waiter, seat)
            if not waiter.queues:
                self._settle(waiter, Refusal(waiter.group.key, RefusalReason.TIMEOUT))

    def reconfigure(self, after: Catalogue) -> None:
        """Dispatch by a new config from now on.

        No running request is touched: counts and the rotation belong to the provider id, through disabling, removing,
        adding again and moving to another Node. Nobody loses a place in a line that stays (POL-02, POL-05).
        """
        before = self._catalogue
        self.expire()
        self._catalogue = after
        changed = self._follow(before, after)
        regrouped = [key for key, members in after.groups.items() if before.groups.get(key) != members]
        gone = [self._groups.pop(key) for key in before.groups if key not in after.groups]
        for key in regrouped:
            changed.update(dict.fromkeys(self._regroup(key)))
        for group in gone:
            changed.update(dict.fromkeys(self._dissolve(group)))
        waiting = [waiter for key in regrouped for waiter in self._groups[key].waiters]
        self._review(changed, waiting)
        for seat in changed:
            self._forget_if_gone(seat)
        self.models = {key.id: group for key, group in self._groups.items() if isinstance(key, ModelKey)}
        self.routes = {key.id: group for key, group in self._groups.items() if isinstance(key, RouteKey)}

    def set_reachable(self, node_id: NodeId, *, reachable: bool) -> None:
        """Say whether a Node takes requests."""
        if reachable == (node_id in self._reachable):
            return
        self.expire()
        (self._reachable.add if reachable else self._reachable.discard)(node_id)
        _, providers = self._catalogue.nodes.get(node_id, ({}, ()))
        self._review([self._seats[provider.id] for provider in providers], ())

    def set_health(self, node_id: NodeId, provider_id: ProviderId, health: Health, detail: str = "") -> None:
        """Say how a Node finds a provider, and what it saw. One that is gone, or another Node's, is passed over."""
        seat = self._seats.get(provider_id)
        if seat is None or seat.provider is None or seat.provider.node_id != node_id:
            return
        seat.health_detail = detail
        if seat.health is not health:
            self.expire()
            seat.health = health
            self._review((seat,), ())

    def close(self) -> None:
        """Refuse who waits, and everybody from now on. Running requests keep their places."""
        self._closed = True
        for group in self._groups.values():
            for waiter in tuple(group.waiters):
                self._settle(waiter, Refusal(group.key, RefusalReason.CLOSED))

    def _reason(self, group: Group, avoid: Collection[ProviderId]) -> RefusalReason:
        if self._closed:
            return RefusalReason.CLOSED
        return RefusalReason.BUSY if _open_seats(group, avoid) else RefusalReason.NO_PROVIDER

    def _grant(self, seat: Seat, group: Group) -> Lease:
        self._turns += 1
        seat.turn = self._turns
        seat.in_flight += 1
        group.chosen(seat)
        return Lease(group.key, seat, group.targets[seat.id], self._give_back)

    def _take_back(self, seat: Seat) -> None:
        seat.in_flight -= 1
        if seat.in_flight < seat.places:
            for group in seat.groups:
                group.offer(seat)
            if seat.queue or seat.outside:
                self.expire()
                self._serve((seat,))
        else:
            self._forget_if_gone(seat)

    def _wait(self, group: Group, avoid: Collection[ProviderId]) -> Waiter | Refusal:
        self.expire()
        self._arrivals += 1
        waiter = Waiter(group, avoid, self._arrivals, self._clock())
        for seat in _open_seats(group, avoid):
            self._join(waiter, seat)
        if not waiter.queues:
            self._leave_all(waiter)
            return self.refuse(Refusal(group.key, RefusalReason.QUEUE_FULL))
        group.waiters[waiter] = None
        return waiter

    def _join(self, waiter: Waiter, seat: Seat) -> None:
        """Put a request into a queue or, where it is full, before its door; nowhere when its time there is up."""
        deadline = waiter.deadlines.get(seat.id)
        if deadline is not None and deadline <= self._clock():
            return
        if seat.has_queue_room():
            self._enter(waiter, seat)
        else:
            seat.outside[waiter] = None
            waiter.outside[seat] = None
            if deadline is not None:
                self._watch(deadline, waiter, seat)

    def _enter(self, waiter: Waiter, seat: Seat) -> None:
        """Put a request at the end of a queue. A deadline that has begun there once stays."""
        if seat.id not in waiter.deadlines:
            timeout = seat.present.queue.timeout
            waiter.deadlines[seat.id] = None if timeout is None else self._clock() + timeout
        deadline = waiter.deadlines[seat.id]
        waiter.queues[seat] = None
        seat.queue[waiter] = None
        if deadline is not None:
            self._watch(deadline, waiter, seat)

    def _watch(self, deadline: float, waiter: Waiter, seat: Seat) -> None:
        self._deadlines.add(deadline, waiter, seat)
        self._on_deadline(deadline)

    def _leave(self, waiter: Waiter, seat: Seat) -> None:
        if waiter.step_out(seat):
            self._admit(seat)

    def _leave_all(self, waiter: Waiter) -> None:
        for seat in waiter.lines():
            self._leave(waiter, seat)

    def _admit(self, seat: Seat) -> None:
        """Let those into the queue who found it full, as far as there is room."""
        last = seat.last_in_queue()
        while seat.outside and seat.places and seat.has_queue_room():
            waiter = next(iter(seat.outside))
            waiter.step_out(seat)
            self._join(waiter, seat)
        seat.put_in_order(last)

    def _withdraw(self, waiter: Waiter) -> None:
        self._leave_all(waiter)
        waiter.group.waiters.pop(waiter, None)

    def _settle(self, waiter: Waiter, outcome: Lease | Refusal) -> None:
        self._withdraw(waiter)
        self._tell_of_wait(waiter, outcome)
        waiter.settle(outcome)

    def _tell_of_wait(self, waiter: Waiter, outcome: Lease | Refusal | None) -> None:
        if self._observer is not None:
            self._observer.take_wait(waiter.group.key, outcome, self._clock() - waiter.since)

    def _serve(self, seats: Iterable[Seat]) -> None:
        """Give places that are free to those who wait for them, first come first served (POL-02, POL-05)."""
        lines = [(first.arrival, place, seat) for place, seat in enumerate(seats) if (first := seat.first_in_line())]
        heapify(lines)
        while lines:
            came, place, seat = lines[0]
            first = seat.first_in_line()
            if first is None or seat.in_flight >= seat.places:
                heappop(lines)
            elif first.arrival != came:
                heapreplace(lines, (first.arrival, place, seat))
            else:
                self._settle(first, self._grant(first.best(), first.group))

    def _follow(self, before: Catalogue, after: Catalogue) -> dict[Seat, None]:
        """Take up what the config says of each provider; return the seats of those that differ, in its order."""
        changed: dict[Seat, None] = {}
        for provider_id, provider in after.providers.items():
            known = before.providers.get(provider_id)
            if known is not provider and known != provider:
                seat = self._seats.get(provider_id)
                if seat is None:
                    seat = self._seats[provider_id] = Seat(provider_id, self._turns_of_gone.pop(provider_id, 0))
                seat.follow(provider)
                changed[seat] = None
        for provider_id in before.providers:
            if provider_id not in after.providers:
                seat = self._seats[provider_id]
                seat.follow(None)
                changed[seat] = None
        return changed

    def _regroup(self, key: DispatchKey) -> tuple[Seat, ...]:
        """Give a group the members that the config says; who waits leaves those that are none any more.

        Returns:
            The seats that this concerns. Who may move up in their lines is for `_review` to see.
        """
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key)
        members = self._catalogue.groups[key]
        seats = tuple(self._seats[member.provider_id] for member in members)
        staying = set(seats)
        left = tuple(seat for seat in group.seats if seat not in staying)
        for waiter in group.waiters:
            for seat in left:
                waiter.step_out(seat)
        group.set_members(seats, {member.provider_id: member.target for member in members})
        return seats + left

    def _dissolve(self, group: Group) -> tuple[Seat, ...]:
        """Refuse who waits in a group that is gone; return its seats, as `_regroup` does."""
        seats = group.seats
        group.set_members((), {})
        for waiter in tuple(group.waiters):
            for seat in waiter.lines():
                waiter.step_out(seat)
            self._settle(waiter, Refusal(group.key, RefusalReason.UNKNOWN))
        return seats

    def _review(self, seats: Iterable[Seat], waiting: Iterable[Waiter]) -> None:
        """Look anew at who may use these seats; refuse whoever, of these too, waits nowhere after that."""
        left: dict[Waiter, None] = dict.fromkeys(waiting)
        opened = []
        for seat in seats:
            obstacle = seat.obstacle(reachable=seat.provider is not None and self.is_reachable(seat.provider.node_id))
            seat.places = 0 if obstacle else seat.present.capacity
            if seat.places:
                opened.append(seat)
            else:
                left.update(dict.fromkeys(self._send_away(seat)))
        for seat in opened:
            self._gather(seat)
            if seat.in_flight < seat.places:
                for group in seat.groups:
                    group.offer(seat)
        self._serve(opened)
        for waiter in left:
            if waiter.outcome is None and not waiter.queues:
                self._settle(waiter, Refusal(waiter.group.key, RefusalReason.NO_PROVIDER))

    def _send_away(self, seat: Seat) -> list[Waiter]:
        """Let everybody leave a seat that takes nobody."""
        line = [*seat.queue, *seat.outside]
        for waiter in line:
            waiter.step_out(seat)
        return line

    def _gather(self, seat: Seat) -> None:
        """Let everybody join a seat that would take it, in the order of arrival; who waits there already stays."""
        newcomers = [
            waiter
            for group in seat.groups
            for waiter in group.waiters
            if seat not in waiter.queues and seat.id not in waiter.avoid
        ]
        for waiter in newcomers:
            waiter.step_out(seat)
        last = seat.last_in_queue()
        for waiter in sorted(newcomers, key=arrival):
            self._join(waiter, seat)
        seat.put_in_order(last)

    def _forget_if_gone(self, seat: Seat) -> None:
        if seat.provider is None and not seat.in_flight:
            self._seats.pop(seat.id, None)
            if seat.turn:
                self._turns_of_gone[seat.id] = seat.turn
                if len(self._turns_of_gone) > _MOST_GONE:
                    del self._turns_of_gone[next(iter(self._turns_of_gone))]


def _open_seats(group: Group, avoid: Collection[ProviderId]) -> list[Seat]:
    return [seat for seat in group.seats if seat.places and seat.id not in avoid]
