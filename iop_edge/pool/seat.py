"""What is remembered of a provider id while configs come and go: its requests, its turn, its health, its line."""

from collections import OrderedDict
from itertools import takewhile
from typing import TYPE_CHECKING

from iop_edge.ids import ProviderId
from iop_edge.pool.catalogue import Provider
from iop_edge.pool.status import Health, ProviderState

if TYPE_CHECKING:
    from iop_edge.pool.group import Group
    from iop_edge.pool.waiter import Waiter


class Seat:
    """One provider id.

    `provider` is None between the removal of a provider and the end of its last request. `turn` is the number of the
    dispatch that chose it last. `places` is how many requests it takes at once: 0 while it takes none.

    `queue` holds who waits, in the order of arrival. `outside` holds who would, but found the queue full.
    """

    __slots__ = (
        "groups",
        "health",
        "health_detail",
        "id",
        "in_flight",
        "outside",
        "places",
        "priority",
        "provider",
        "queue",
        "turn",
    )

    def __init__(self, provider_id: ProviderId, turn: int = 0) -> None:
        self.id = provider_id
        self.provider: Provider | None = None
        self.in_flight = 0
        self.turn = turn
        self.health = Health.UNKNOWN
        self.health_detail = ""
        self.places = 0
        self.priority = 0
        self.groups: dict[Group, int] = {}
        # Taking the first of a plain dict again and again costs more with each that was taken before.
        self.queue: OrderedDict[Waiter, None] = OrderedDict()
        self.outside: OrderedDict[Waiter, None] = OrderedDict()

    @property
    def present(self) -> Provider:
        """The provider, of a seat that has one."""
        assert self.provider is not None
        return self.provider

    def follow(self, provider: Provider | None) -> None:
        """Take up what a new config says; a provider that left its Node has an unknown health."""
        if self.provider is None or provider is None or self.provider.node_id != provider.node_id:
            self.health, self.health_detail = Health.UNKNOWN, ""
        self.provider = provider
        if provider is None:
            self.places = 0
        else:
            self.priority = provider.priority

    def obstacle(self, *, reachable: bool) -> ProviderState | None:
        """Return what keeps new requests away, apart from load; None: nothing does (POL-01, POL-04)."""
        provider = self.provider
        if provider is None or not provider.enabled:
            return ProviderState.DISABLED
        if not reachable:
            return ProviderState.UNREACHABLE
        if provider.watched and self.health is Health.UNHEALTHY:
            return ProviderState.UNHEALTHY
        return None

    def first_in_line(self) -> "Waiter | None":
        """Return who gets the next place: whoever waits, then whoever would have waited."""
        return next(iter(self.queue or self.outside), None)

    def has_queue_room(self) -> bool:
        """Tell whether one more may wait."""
        return len(self.queue) < self.present.queue.limit

    def last_in_queue(self) -> "Waiter | None":
        """Return who stands at the end of the queue."""
        return next(reversed(self.queue), None)

    def put_in_order(self, last: "Waiter | None") -> None:
        """Move those up who came earlier than others in the queue. They have joined, in order, behind `last`.

        All at once: many may join a line in which many stand.
        """
        joined = [] if last is None else list(takewhile(lambda waiter: waiter is not last, reversed(self.queue)))
        if last is None or not joined or last.arrival < joined[-1].arrival:
            return
        if joined[0].arrival < next(iter(self.queue)).arrival:
            for waiter in joined:
                self.queue.move_to_end(waiter, last=False)
        else:
            self.queue = OrderedDict.fromkeys(sorted(self.queue, key=arrival))


def arrival(waiter: "Waiter") -> int:
    """Return the number by which a request stands in line."""
    return waiter.arrival
