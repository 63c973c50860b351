"""A place at a provider: taken for one request, given back once."""

from collections.abc import Callable

from iop_edge.ids import AdapterName, DispatchKey, NodeId, ProviderId, Target
from iop_edge.pool.seat import Seat


class Lease:
    """One request's place at a provider.

    The request is executed as `adapter` and `target` on the node, as the config said when the place was taken. Its
    provider keeps the place until `release`, whatever happens to the config meanwhile.
    """

    __slots__ = ("_give_back", "_provider", "_seat", "key", "target")

    def __init__(self, key: DispatchKey, seat: Seat, target: Target, give_back: Callable[[Seat], None]) -> None:
        """Hold a place at a seat for what `key` names; `give_back` is called with the seat, once."""
        self.key = key
        self.target = target
        self._seat = seat
        self._provider = seat.present
        self._give_back: Callable[[Seat], None] | None = give_back

    @property
    def provider_id(self) -> ProviderId:
        """The provider."""
        return self._provider.id

    @property
    def node_id(self) -> NodeId:
        """The Node that it is on."""
        return self._provider.node_id

    @property
    def adapter(self) -> AdapterName:
        """The adapter instance on that Node."""
        return self._provider.adapter

    @property
    def category(self) -> str:
        """The provider's category, which decides what may be forwarded to it (POL-08)."""
        return self._provider.category

    @property
    def released(self) -> bool:
        """Whether the place has been given back."""
        return self._give_back is None

    def release(self) -> None:
        """Give the place back. Only the first call counts, so that a count can never fall below the truth (POL-05)."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back(self._seat)

    def __repr__(self) -> str:
        state = "released" if self.released else "held"
        return f"Lease({self.key}, provider={self.provider_id!r}, target={self.target!r}, {state})"
