"""A request that waits for a place."""

from collections.abc import Callable, Collection

from iop_edge.ids import ProviderId
from iop_edge.pool.group import Group, turn
from iop_edge.pool.lease import Lease
from iop_edge.pool.refusal import Refusal
from iop_edge.pool.seat import Seat


def _nobody() -> None:
    """Tell nobody."""


class Waiter:
    """One request that waits, until `outcome` is set; then `wake` is called, once.

    `arrival` numbers the requests that have ever waited. `since` is when it came, in seconds of the pool's clock, and
    `deadlines` says when it leaves each seat that it has waited at; None: it stays. `queues` are the seats that it
    waits at, `outside` those whose queue was full.
    """

    __slots__ = ("arrival", "avoid", "deadlines", "group", "outcome", "outside", "queues", "since", "wake")

    def __init__(self, group: Group, avoid: Collection[ProviderId], arrival: int, since: float) -> None:
        self.group = group
        self.avoid = avoid
        self.arrival = arrival
        self.since = since
        self.queues: dict[Seat, None] = {}
        self.outside: dict[Seat, None] = {}
        self.deadlines: dict[ProviderId, float | None] = {}
        self.outcome: Lease | Refusal | None = None
        self.wake: Callable[[], None] = _nobody

    def lines(self) -> tuple[Seat, ...]:
        """Return the seats in whose queues or before whose full queues the request is."""
        return (*self.queues, *self.outside)

    def step_out(self, seat: Seat) -> bool:
        """Leave a seat; tell whether that made room in its queue."""
        if seat in self.queues:
            del self.queues[seat]
            del seat.queue[self]
            return True
        if seat in self.outside:
            del self.outside[seat]
            del seat.outside[self]
        return False

    def best(self) -> Seat:
        """Return the free seat whose turn it is, of those that the request waits for; there is one."""
        free = [seat for seat in self.lines() if seat.in_flight < seat.places]
        return free[0] if len(free) == 1 else min(free, key=lambda seat: turn(seat, seat.groups[self.group]))

    def settle(self, outcome: Lease | Refusal) -> None:
        """End the wait."""
        self.outcome = outcome
        self.wake()
