"""The state of dispatch: provider slots, the groups that they serve, leases, and requests that wait."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count, takewhile
from operator import attrgetter
from typing import Final

from iop_edge.ids import AdapterName, DispatchKey, NodeId, ProviderId, Target
from iop_edge.pool.catalogue import Provider
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.status import Health, ProviderState

_TURN_SLACK: Final = 16
_DEADLINE_SLACK: Final = 64

by_arrival: Final = attrgetter("arrival")


@dataclass(slots=True, eq=False, repr=False)
class Slot:
    """What is known of a provider id: its load, its turn, its health and its queue, whatever the config becomes.

    `provider` is None from the removal of the provider to the end of its last request. `effective_capacity` is how many
    requests it takes at once: 0 while it takes none. `turn` is the number of the last dispatch that chose it. `groups`
    holds the groups that it serves, with its position in each.

    `queue` holds the requests that wait, in the order of arrival, `overflow` those that found the queue full. A plain
    dict would not do: finding its first item gets slower with each one removed before it.
    """

    id: ProviderId
    turn: int = 0
    provider: Provider | None = None
    in_flight: int = 0
    health: Health = Health.UNKNOWN
    health_detail: str = ""
    effective_capacity: int = 0
    priority: int = 0
    groups: "dict[Group, int]" = field(default_factory=dict)
    queue: "OrderedDict[Waiter, None]" = field(default_factory=OrderedDict)
    overflow: "OrderedDict[Waiter, None]" = field(default_factory=OrderedDict)

    @property
    def present(self) -> Provider:
        """The provider, of a slot that has one."""
        assert self.provider is not None
        return self.provider

    def configure(self, provider: Provider | None) -> None:
        """Take over what a new config says; health does not survive removal or a move to another Node."""
        if self.provider is None or provider is None or self.provider.node_id != provider.node_id:
            self.health, self.health_detail = Health.UNKNOWN, ""
        self.provider = provider
        if provider is None:
            self.effective_capacity = 0
        else:
            self.priority = provider.priority

    def obstacle(self, reachable_nodes: Collection[NodeId]) -> ProviderState | None:
        """Return what keeps new requests away, apart from load; None: nothing (POL-01, POL-04)."""
        provider = self.provider
        if provider is None or not provider.enabled:
            return ProviderState.DISABLED
        if provider.node_id not in reachable_nodes:
            return ProviderState.UNREACHABLE
        if provider.watched and self.health is Health.UNHEALTHY:
            return ProviderState.UNHEALTHY
        return None

    def is_free(self) -> bool:
        """Tell whether it takes one more request now."""
        return self.in_flight < self.effective_capacity

    def next_waiter(self) -> "Waiter | None":
        """Return the request to serve next: the first in the queue, else the first in the overflow."""
        return next(iter(self.queue or self.overflow), None)

    def has_queue_room(self) -> bool:
        """Tell whether the queue has room for one more request."""
        return len(self.queue) < self.present.queue.limit

    def last_in_queue(self) -> "Waiter | None":
        """Return the request at the end of the queue."""
        return next(reversed(self.queue), None)

    def sort_queue(self, last: "Waiter | None") -> None:
        """Restore the order of arrival after requests have joined, in order, behind `last`.

        All at once: many requests may join a queue in which many wait.
        """
        joined = [] if last is None else list(takewhile(lambda waiter: waiter is not last, reversed(self.queue)))
        if last is None or not joined or last.arrival < joined[-1].arrival:
            return
        if joined[0].arrival < next(iter(self.queue)).arrival:
            for waiter in joined:
                self.queue.move_to_end(waiter, last=False)
        else:
            self.queue = OrderedDict.fromkeys(sorted(self.queue, key=by_arrival))


Turn = tuple[int, int, int, int]
"""Least in flight first, then lower priority number, then longest without a request (POL-01), then as written."""


def _turn(slot: Slot, position: int) -> Turn:
    return slot.in_flight, slot.priority, slot.turn, position


class Group:
    """The slots that serve one model group or route, and the requests that wait for one of them.

    A heap holds the free slots by turn. An entry may be out of date, since other groups use the same slots: one that
    promises too much is corrected when it reaches the top, and a slot whose turn comes earlier is offered again.
    """

    __slots__ = ("_heap", "key", "slots", "targets", "waiters")

    def __init__(self, key: DispatchKey) -> None:
        self.key = key
        self.slots: tuple[Slot, ...] = ()
        self.targets: Mapping[ProviderId, Target] = {}
        self.waiters: dict[Waiter, None] = {}
        self._heap: list[Turn] = []

    def set_members(self, slots: tuple[Slot, ...], targets: Mapping[ProviderId, Target]) -> None:
        """Replace the slots, and the names by which their backends know the model."""
        for slot in self.slots:
            del slot.groups[self]
        self.slots = slots
        self.targets = targets
        for position, slot in enumerate(slots):
            slot.groups[self] = position
        self._rebuild()

    def best(self, avoid: Collection[ProviderId]) -> Slot | None:
        """Return the free slot whose turn it is; None: no slot is free."""
        if avoid:
            free = [turn for turn in self._free() if self.slots[turn[3]].id not in avoid]
            return self.slots[min(free)[3]] if free else None
        heap = self._heap
        while heap:
            entry = heap[0]
            position = entry[3]
            slot = self.slots[position]
            if slot.in_flight >= slot.effective_capacity:
                heappop(heap)
                continue
            # `_turn`, written out: this is where the time of a dispatch goes.
            now = slot.in_flight, slot.priority, slot.turn, position
            if entry == now:
                return slot
            heapreplace(heap, now)
        return None

    def in_order(self) -> list[Slot]:
        """Return the free slots in the order in which they would be chosen."""
        return [self.slots[entry[3]] for entry in sorted(self._free())]

    def chosen(self, slot: Slot) -> None:
        """Update the heap after a slot has got a request."""
        heap = self._heap
        position = slot.groups[self]
        if heap and heap[0][3] == position:
            if slot.in_flight < slot.effective_capacity:
                heapreplace(heap, (slot.in_flight, slot.priority, slot.turn, position))
            else:
                heappop(heap)

    def offer(self, slot: Slot) -> None:
        """Update the heap after a slot has become free, or its turn has moved forward."""
        heap = self._heap
        heappush(heap, (slot.in_flight, slot.priority, slot.turn, slot.groups[self]))
        if len(heap) > 2 * len(self.slots) + _TURN_SLACK:
            self._rebuild()

    def _free(self) -> list[Turn]:
        return [_turn(slot, position) for position, slot in enumerate(self.slots) if slot.is_free()]

    def _rebuild(self) -> None:
        self._heap = self._free()
        heapify(self._heap)


class Lease:
    """The right to run one request at a provider, until `release` is called.

    Run the request as `target` on `adapter` of the Node. All of it stays as it was when the lease was granted, and the
    request counts against the provider's capacity, whatever the config becomes meanwhile (POL-05).

    Attributes:
        key: the requested model group or route.
        target: the name by which the backend knows the model.
    """

    __slots__ = ("_give_back", "_provider", "_slot", "key", "target")

    def __init__(self, key: DispatchKey, slot: Slot, target: Target, give_back: Callable[[Slot], None]) -> None:
        """Hold a slot; `give_back` is called with it, once."""
        self.key = key
        self.target = target
        self._slot = slot
        self._provider = slot.present
        self._give_back: Callable[[Slot], None] | None = give_back

    @property
    def provider_id(self) -> ProviderId:
        """The provider."""
        return self._provider.id

    @property
    def node_id(self) -> NodeId:
        """The provider's Node."""
        return self._provider.node_id

    @property
    def adapter(self) -> AdapterName:
        """The adapter instance on that Node."""
        return self._provider.adapter

    @property
    def category(self) -> str:
        """The provider's category, which decides whether it may get the caller's own token (POL-08)."""
        return self._provider.category

    @property
    def released(self) -> bool:
        """Whether the lease has been released."""
        return self._give_back is None

    def release(self) -> None:
        """End the lease. Only the first call counts."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back(self._slot)

    def __repr__(self) -> str:
        state = "released" if self.released else "held"
        # The target may have come from a reference: its value is for the request alone (CFG-08).
        return f"Lease({self.key}, provider={self.provider_id!r}, {state})"


@dataclass(slots=True, eq=False, repr=False)
class Waiter:
    """A request that waits until `outcome` is set: to a lease, or to the reason why it is refused.

    `wake`, where it is set, is called then. `arrival` numbers the requests in the order in which they began to wait, at
    the time `since`. `queues` are the slots at which it waits, `overflows` those whose queue was full, and `deadlines`
    says when it leaves each that it has waited at; None: never.
    """

    group: Group
    avoid: Collection[ProviderId]
    arrival: int
    since: float
    queues: dict[Slot, None] = field(default_factory=dict)
    overflows: dict[Slot, None] = field(default_factory=dict)
    deadlines: dict[ProviderId, float | None] = field(default_factory=dict)
    outcome: Lease | RefusalReason | None = None
    wake: Callable[[], None] | None = None

    def slots(self) -> tuple[Slot, ...]:
        """Return the slots in whose queue or overflow the request is."""
        return (*self.queues, *self.overflows)

    def leave(self, slot: Slot) -> bool:
        """Leave a slot; tell whether that made room in its queue."""
        if slot in self.queues:
            del self.queues[slot]
            del slot.queue[self]
            return True
        if slot in self.overflows:
            del self.overflows[slot]
            del slot.overflow[self]
        return False

    def best(self) -> Slot:
        """Return the free slot whose turn it is, of those that the request waits for; there is one."""
        free = [slot for slot in self.slots() if slot.is_free()]
        return free[0] if len(free) == 1 else min(free, key=lambda slot: _turn(slot, slot.groups[self.group]))

    def settle(self, outcome: Lease | RefusalReason) -> None:
        """End the wait."""
        self.outcome = outcome
        if self.wake is not None:
            self.wake()


_Deadline = tuple[float, int, int, Waiter, Slot]


class Deadlines:
    """When requests leave queues, earliest first. What has ended otherwise is dropped in time."""

    def __init__(self) -> None:
        self._heap: list[_Deadline] = []
        self._numbers = count()
        self._keep = _DEADLINE_SLACK

    def add(self, deadline: float, waiter: Waiter, slot: Slot) -> None:
        """Let a request leave a slot at a time, unless it has left by then."""
        if len(self._heap) >= self._keep:
            self._heap = list({entry[3:]: entry for entry in self._heap if _is_live(entry)}.values())
            heapify(self._heap)
            self._keep = 2 * len(self._heap) + _DEADLINE_SLACK
        heappush(self._heap, (deadline, waiter.arrival, next(self._numbers), waiter, slot))

    def earliest(self) -> float | None:
        """Return the next deadline; None: there is none."""
        heap = self._heap
        while heap and not _is_live(heap[0]):
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> Iterator[tuple[Waiter, Slot]]:
        """Yield which request leaves which slot by now, by deadline, then by arrival."""
        while (deadline := self.earliest()) is not None and deadline <= now:
            _, _, _, waiter, slot = heappop(self._heap)
            yield waiter, slot


def _is_live(entry: _Deadline) -> bool:
    _, _, _, waiter, slot = entry
    return slot in waiter.queues or slot in waiter.overflows
