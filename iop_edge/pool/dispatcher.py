"""The rules of dispatch: which request gets which slot, and when. Without I/O, and with time from outside.

Between any two calls two things hold. No request waits while a provider that it would take is free. And each request
that waits is in the queue of at least one provider.
"""

from collections.abc import Callable, Collection, Iterable
from heapq import heapify, heappop, heapreplace
from typing import Final, Protocol

from iop_edge.ids import DispatchKey, ModelId, ModelKey, NodeId, ProviderId
from iop_edge.pool.catalogue import EMPTY, Catalogue
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.slots import Deadlines, Group, Lease, Slot, Waiter, by_arrival
from iop_edge.pool.status import Health

NONE_AVOIDED: Final[frozenset[ProviderId]] = frozenset()
_MAX_REMEMBERED: Final = 10_000
"""How many removed providers keep their turn; the longest removed is forgotten first."""


class Observer(Protocol):
    """Is told what becomes of requests that are not served at once. It must be quick, and must not raise."""

    def on_refused(self, key: DispatchKey, reason: RefusalReason) -> None:
        """Take note that a request that would have waited was refused at once."""

    def on_wait_ended(self, key: DispatchKey, outcome: Lease | RefusalReason | None, seconds: float) -> None:
        """Take note of how a wait ended, and after how many seconds; None: its caller cancelled it."""


class Dispatcher:
    """Chooses providers, counts their requests, and keeps their queues.

    Args:
        now: the time in seconds, from any start; it is read only when a request waits.
        on_deadline: is told each time at which `expire` will have something to do.
        observer: is told what becomes of requests that are not served at once.

    Attributes:
        catalogue: the catalogue of the running config.
        slots: the slots of its providers, and of removed ones that still have requests.
        groups: its model groups and routes.
        reachable: the Nodes that take requests.
        is_closed: whether every request is refused.
    """

    def __init__(
        self, now: Callable[[], float], on_deadline: Callable[[float], None], observer: Observer | None = None
    ) -> None:
        self._now = now
        self._on_deadline = on_deadline
        self._observer = observer
        self.catalogue = EMPTY
        self.slots: dict[ProviderId, Slot] = {}
        self.groups: dict[DispatchKey, Group] = {}
        self.reachable: set[NodeId] = set()
        self.is_closed = False
        self._by_name: dict[str, Group] = {}
        self._deadlines = Deadlines()
        self._turns = 0
        self._turns_of_removed: dict[ProviderId, int] = {}
        self._arrivals = 0
        self._give_back = self._take_back

    def find(self, model: str | DispatchKey) -> Group | None:
        """Return what a name or a key means, if anything; a name means a model group, else a route (VAL-09)."""
        return self._by_name.get(model) if isinstance(model, str) else self.groups.get(model)

    def take(self, model: str | DispatchKey, avoid: Collection[ProviderId] = NONE_AVOIDED) -> Lease:
        """Lease the provider whose turn it is, without waiting (POL-01).

        Raises:
            NoProviderError: no provider takes the request now.
        """
        group = self.find(model)
        slot = None if group is None or self.is_closed else group.best(avoid)
        if group is None or slot is None:
            raise NoProviderError(_key(model, group), self._reason(group, avoid))
        return self._grant(slot, group)

    def take_or_wait(self, model: str | DispatchKey, avoid: Collection[ProviderId] = NONE_AVOIDED) -> Lease | Waiter:
        """Lease a provider, or wait at every one whose queue has room (POL-02).

        Raises:
            NoProviderError: no provider takes the request, nor lets it wait.
        """
        group = self.find(model)
        slot = None if group is None or self.is_closed else group.best(avoid)
        if group is not None and slot is not None:
            return self._grant(slot, group)
        reason = self._reason(group, avoid)
        if group is not None and reason is RefusalReason.BUSY:
            waiter = self._enqueue(group, avoid)
            if waiter.queues:
                return waiter
            reason = RefusalReason.QUEUE_FULL
        error = NoProviderError(_key(model, group), reason)
        if self._observer is not None:
            self._observer.on_refused(error.key, reason)
        raise error

    def cancel(self, waiter: Waiter) -> None:
        """Forget a request whose caller has gone away; a lease that it has got meanwhile is released."""
        if waiter.outcome is None:
            self._withdraw(waiter)
            self._tell_wait_ended(waiter, None)
        elif isinstance(waiter.outcome, Lease):
            waiter.outcome.release()

    def next_deadline(self) -> float | None:
        """Return when `expire` has something to do; None: no wait has a limit."""
        return self._deadlines.earliest()

    def expire(self) -> None:
        """Let requests leave the queues in which their time is up; one that is in no queue any more is refused."""
        if self._deadlines.earliest() is None:
            return
        for waiter, slot in self._deadlines.due(self._now()):
            self._leave(waiter, slot)
            if not waiter.queues:
                self._settle(waiter, RefusalReason.TIMEOUT)

    def reconfigure(self, after: Catalogue) -> None:
        """Dispatch by a new config from now on.

        No running request is touched: load and turn belong to the provider id, which may be disabled, removed, added
        again or moved to another Node. No request loses its place in a queue that stays (POL-02, POL-05).
        """
        before = self.catalogue
        self.expire()
        self.catalogue = after
        changed = self._configure(before, after)
        regrouped = [key for key, members in after.groups.items() if before.groups.get(key) != members]
        removed = [self.groups.pop(key) for key in before.groups if key not in after.groups]
        for key in regrouped:
            changed.update(dict.fromkeys(self._regroup(key)))
        for group in removed:
            changed.update(dict.fromkeys(self._dissolve(group)))
        # Where a model group and a route share a name, the group counts: models come first in the catalogue.
        self._by_name = {key.id: self.groups[key] for key in reversed(tuple(after.groups))}
        self._review(changed, [waiter for key in regrouped for waiter in self.groups[key].waiters])
        for slot in changed:
            self._forget_if_removed(slot)

    def set_reachable(self, node_id: NodeId, *, reachable: bool) -> None:
        """Set whether a Node takes requests."""
        if reachable == (node_id in self.reachable):
            return
        self.expire()
        (self.reachable.add if reachable else self.reachable.discard)(node_id)
        if node_id in self.catalogue.nodes:
            _, _, providers = self.catalogue.nodes[node_id]
            self._review([self.slots[provider.id] for provider in providers], ())

    def set_health(self, node_id: NodeId, provider_id: ProviderId, health: Health, detail: str = "") -> None:
        """Set the health that a Node reports, and what it saw; ignored unless the provider is on that Node."""
        slot = self.slots.get(provider_id)
        if slot is None or slot.provider is None or slot.provider.node_id != node_id:
            return
        slot.health_detail = detail
        if slot.health is not health:
            self.expire()
            slot.health = health
            self._review((slot,), ())

    def close(self) -> None:
        """Refuse the requests that wait, and all new ones. Running requests keep their leases."""
        self.is_closed = True
        for group in self.groups.values():
            for waiter in tuple(group.waiters):
                self._settle(waiter, RefusalReason.CLOSED)

    def _reason(self, group: Group | None, avoid: Collection[ProviderId]) -> RefusalReason:
        if group is None:
            return RefusalReason.UNKNOWN
        if self.is_closed:
            return RefusalReason.CLOSED
        return RefusalReason.BUSY if _usable(group, avoid) else RefusalReason.NO_PROVIDER

    def _grant(self, slot: Slot, group: Group) -> Lease:
        self._turns += 1
        slot.turn = self._turns
        slot.in_flight += 1
        group.chosen(slot)
        return Lease(group.key, slot, group.targets[slot.id], self._give_back)

    def _take_back(self, slot: Slot) -> None:
        slot.in_flight -= 1
        if slot.in_flight < slot.effective_capacity:
            for group in slot.groups:
                group.offer(slot)
            if slot.queue or slot.overflow:
                self.expire()
                self._serve((slot,))
        else:
            self._forget_if_removed(slot)

    def _enqueue(self, group: Group, avoid: Collection[ProviderId]) -> Waiter:
        """Let a request wait; it is in no queue where all are full."""
        self.expire()
        self._arrivals += 1
        waiter = Waiter(group, avoid, self._arrivals, self._now())
        for slot in _usable(group, avoid):
            self._join(waiter, slot)
        if waiter.queues:
            group.waiters[waiter] = None
        else:
            self._withdraw(waiter)
        return waiter

    def _join(self, waiter: Waiter, slot: Slot) -> None:
        """Put a request at the end of a queue or, if it is full, of its overflow; nowhere if its time there is up.

        Its deadline is set when it first enters the queue, and then stays.
        """
        deadline = waiter.deadlines.get(slot.id)
        if deadline is not None and deadline <= self._now():
            return
        if slot.has_queue_room():
            if slot.id not in waiter.deadlines:
                timeout = slot.present.queue.timeout
                deadline = None if timeout is None else self._now() + timeout
                waiter.deadlines[slot.id] = deadline
            waiter.queues[slot] = None
            slot.queue[waiter] = None
        else:
            waiter.overflows[slot] = None
            slot.overflow[waiter] = None
        if deadline is not None:
            self._deadlines.add(deadline, waiter, slot)
            self._on_deadline(deadline)

    def _leave(self, waiter: Waiter, slot: Slot) -> None:
        if waiter.leave(slot):
            self._admit(slot)

    def _admit(self, slot: Slot) -> None:
        """Move requests from the overflow to the queue, as far as it has room."""
        last = slot.last_in_queue()
        while slot.overflow and slot.effective_capacity and slot.has_queue_room():
            waiter = next(iter(slot.overflow))
            waiter.leave(slot)
            self._join(waiter, slot)
        slot.sort_queue(last)

    def _withdraw(self, waiter: Waiter) -> None:
        for slot in waiter.slots():
            self._leave(waiter, slot)
        waiter.group.waiters.pop(waiter, None)

    def _settle(self, waiter: Waiter, outcome: Lease | RefusalReason) -> None:
        self._withdraw(waiter)
        self._tell_wait_ended(waiter, outcome)
        waiter.settle(outcome)

    def _tell_wait_ended(self, waiter: Waiter, outcome: Lease | RefusalReason | None) -> None:
        if self._observer is not None:
            self._observer.on_wait_ended(waiter.group.key, outcome, self._now() - waiter.since)

    def _serve(self, slots: Iterable[Slot]) -> None:
        """Grant free slots to the requests that wait for them, first come first served (POL-02, POL-05)."""
        queues = [(first.arrival, index, slot) for index, slot in enumerate(slots) if (first := slot.next_waiter())]
        heapify(queues)
        while queues:
            came, index, slot = queues[0]
            first = slot.next_waiter()
            if first is None or not slot.is_free():
                heappop(queues)
            elif first.arrival != came:
                heapreplace(queues, (first.arrival, index, slot))
            else:
                self._settle(first, self._grant(first.best(), first.group))

    def _configure(self, before: Catalogue, after: Catalogue) -> dict[Slot, None]:
        """Hand each provider's config to its slot; return the slots whose config differs, in order."""
        changed: dict[Slot, None] = {}
        for provider_id, provider in after.providers.items():
            known = before.providers.get(provider_id)
            if known is not provider and known != provider:
                slot = self.slots.get(provider_id)
                if slot is None:
                    turn = self._turns_of_removed.pop(provider_id, 0)
                    slot = self.slots[provider_id] = Slot(provider_id, turn)
                slot.configure(provider)
                changed[slot] = None
        for provider_id in before.providers:
            if provider_id not in after.providers:
                slot = self.slots[provider_id]
                slot.configure(None)
                changed[slot] = None
        return changed

    def _regroup(self, key: DispatchKey) -> tuple[Slot, ...]:
        """Give a group its new members; its requests leave the slots that no longer serve it.

        Returns:
            The slots, old and new. Who moves up in their queues is for `_review` to see.
        """
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = Group(key)
        members = self.catalogue.groups[key]
        slots = tuple(self.slots[member.provider_id] for member in members)
        staying = set(slots)
        left = tuple(slot for slot in group.slots if slot not in staying)
        for waiter in group.waiters:
            for slot in left:
                waiter.leave(slot)
        group.set_members(slots, {member.provider_id: member.target for member in members})
        return slots + left

    def _dissolve(self, group: Group) -> tuple[Slot, ...]:
        """Refuse the requests that wait for a removed group; return its slots, as `_regroup` does."""
        slots = group.slots
        group.set_members((), {})
        for waiter in tuple(group.waiters):
            for slot in waiter.slots():
                waiter.leave(slot)
            self._settle(waiter, RefusalReason.UNKNOWN)
        return slots

    def _review(self, slots: Iterable[Slot], waiting: Iterable[Waiter]) -> None:
        """Let requests leave and join slots that have changed, and serve them; refuse those that wait nowhere after it.

        Args:
            slots: the slots.
            waiting: requests that may have left their last queue, besides those that leave one of the slots.
        """
        leaving: dict[Waiter, None] = dict.fromkeys(waiting)
        usable = []
        for slot in slots:
            slot.effective_capacity = 0 if slot.obstacle(self.reachable) else slot.present.capacity
            if slot.effective_capacity:
                usable.append(slot)
                continue
            for waiter in (*slot.queue, *slot.overflow):
                waiter.leave(slot)
                leaving[waiter] = None
        for slot in usable:
            self._gather(slot)
            if slot.is_free():
                for group in slot.groups:
                    group.offer(slot)
        self._serve(usable)
        for waiter in leaving:
            if waiter.outcome is None and not waiter.queues:
                self._settle(waiter, RefusalReason.NO_PROVIDER)

    def _gather(self, slot: Slot) -> None:
        """Let all requests that would take a slot join it, in the order of arrival."""
        newcomers = [
            waiter
            for group in slot.groups
            for waiter in group.waiters
            if slot not in waiter.queues and slot.id not in waiter.avoid
        ]
        for waiter in newcomers:
            waiter.leave(slot)
        last = slot.last_in_queue()
        for waiter in sorted(newcomers, key=by_arrival):
            self._join(waiter, slot)
        slot.sort_queue(last)

    def _forget_if_removed(self, slot: Slot) -> None:
        if slot.provider is None and not slot.in_flight:
            self.slots.pop(slot.id, None)
            if slot.turn:
                self._turns_of_removed[slot.id] = slot.turn
                if len(self._turns_of_removed) > _MAX_REMEMBERED:
                    del self._turns_of_removed[next(iter(self._turns_of_removed))]


def _key(model: str | DispatchKey, group: Group | None) -> DispatchKey:
    if group is not None:
        return group.key
    return ModelKey(ModelId(model)) if isinstance(model, str) else model


def _usable(group: Group, avoid: Collection[ProviderId]) -> list[Slot]:
    return [slot for slot in group.slots if slot.effective_capacity and slot.id not in avoid]
