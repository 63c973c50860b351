"""When waits end."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from iop_edge.pool.seat import Seat
from iop_edge.pool.waiter import Waiter

_SLACK: Final = 64

_Entry = tuple[float, int, int, Waiter, Seat]


class Deadlines:
    """Who leaves which seat when.

    Entries that have ended otherwise, and second ones of who left and came back, are thrown out in time.
    """

    def __init__(self) -> None:
        self._heap: list[_Entry] = []
        self._numbers = count()
        self._keep = _SLACK

    def add(self, deadline: float, waiter: Waiter, seat: Seat) -> None:
        """Note that a request leaves a seat at a time, unless it has left by then."""
        if len(self._heap) >= self._keep:
            self._heap = list({entry[3:]: entry for entry in self._heap if _is_live(entry)}.values())
            heapify(self._heap)
            self._keep = 2 * len(self._heap) + _SLACK
        heappush(self._heap, (deadline, waiter.arrival, next(self._numbers), waiter, seat))

    def earliest(self) -> float | None:
        """Return the next deadline, or None where nobody has one."""
        heap = self._heap
        while heap and not _is_live(heap[0]):
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> Iterator[tuple[Waiter, Seat]]:
        """Yield who leaves which seat by now, the earliest deadline first; of equal ones, who came first."""
        while (deadline := self.earliest()) is not None and deadline <= now:
            _, _, _, waiter, seat = heappop(self._heap)
            yield waiter, seat


def _is_live(entry: _Entry) -> bool:
    _, _, _, waiter, seat = entry
    return seat in waiter.queues or seat in waiter.outside
