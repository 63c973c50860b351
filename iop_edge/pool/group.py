"""A model group or a route at work: its seats, the order of their turns, and who waits for one of them."""

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Final

from iop_edge.ids import DispatchKey, ProviderId, Target
from iop_edge.pool.seat import Seat

if TYPE_CHECKING:
    from iop_edge.pool.waiter import Waiter

Turn = tuple[int, int, int, int]
"""Least loaded first, then the lower priority number, then whoever was chosen longest ago (POL-01), then as written."""

_SLACK: Final = 16


class Group:
    """The seats that serve one key.

    Whose turn it is stands in a heap. An entry is right when it says what its seat says now; one that is wrong is
    mended when it comes to the top, so that a seat that many groups share costs each of them little. A seat that comes
    earlier than its entry says must be offered anew.
    """

    __slots__ = ("_heap", "key", "seats", "targets", "waiters")

    def __init__(self, key: DispatchKey) -> None:
        self.key = key
        self.seats: tuple[Seat, ...] = ()
        self.targets: Mapping[ProviderId, Target] = {}
        self.waiters: dict[Waiter, None] = {}
        self._heap: list[Turn] = []

    def set_members(self, seats: tuple[Seat, ...], targets: Mapping[ProviderId, Target]) -> None:
        """Be served by these seats from now on."""
        for seat in self.seats:
            del seat.groups[self]
        self.seats = seats
        self.targets = targets
        for position, seat in enumerate(seats):
            seat.groups[self] = position
        self._rebuild()

    def best(self, avoid: Collection[ProviderId]) -> Seat | None:
        """Return the free seat whose turn it is, or None where none is free."""
        if avoid:
            free = [
                turn(seat, place) for place, seat in enumerate(self.seats) if _is_free(seat) and seat.id not in avoid
            ]
            return self.seats[min(free)[3]] if free else None
        heap = self._heap
        while heap:
            entry = heap[0]
            position = entry[3]
            seat = self.seats[position]
            if seat.in_flight >= seat.places:
                heappop(heap)
                continue
            # In the words of `turn`: this is where the time of a dispatch goes.
            now = seat.in_flight, seat.priority, seat.turn, position
            if entry == now:
                return seat
            heapreplace(heap, now)
        return None

    def in_order(self) -> list[Seat]:
        """Return the free seats in the order in which they would be chosen."""
        free = sorted(turn(seat, place) for place, seat in enumerate(self.seats) if _is_free(seat))
        return [self.seats[entry[3]] for entry in free]

    def chosen(self, seat: Seat) -> None:
        """Note that a seat, which was first, has got a request."""
        heap = self._heap
        position = seat.groups[self]
        if heap and heap[0][3] == position:
            if seat.in_flight < seat.places:
                heapreplace(heap, (seat.in_flight, seat.priority, seat.turn, position))
            else:
                heappop(heap)

    def offer(self, seat: Seat) -> None:
        """Note that a seat is free, or comes earlier than before."""
        heap = self._heap
        heappush(heap, (seat.in_flight, seat.priority, seat.turn, seat.groups[self]))
        if len(heap) > 2 * len(self.seats) + _SLACK:
            self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [turn(seat, place) for place, seat in enumerate(self.seats) if _is_free(seat)]
        heapify(self._heap)


def _is_free(seat: Seat) -> bool:
    return seat.in_flight < seat.places


def turn(seat: Seat, position: int) -> Turn:
    """Return where a seat stands in the order of a group that it serves at a position."""
    return seat.in_flight, seat.priority, seat.turn, position
