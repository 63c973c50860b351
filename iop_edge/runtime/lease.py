"""A place at a provider: taken for one request, given back once."""

from collections.abc import Callable
from dataclasses import dataclass, field

from iop_edge.ids import AdapterName, ModelId, NodeId, ProviderId, Target


@dataclass(eq=False, slots=True)
class Lease:
    """One request's place at a provider.

    The request is executed as `adapter` and `target` on the node; its provider keeps the place until `release`,
    whatever happens to the config meanwhile.
    """

    model_id: ModelId
    provider_id: ProviderId
    node_id: NodeId
    adapter: AdapterName
    target: Target
    _give_back: Callable[[], None] = field(repr=False)
    _released: bool = field(default=False, init=False, repr=False)

    @property
    def released(self) -> bool:
        """Whether the place has been given back."""
        return self._released

    def release(self) -> None:
        """Give the place back. Only the first call counts, so that a count can never fall below the truth (POL-05)."""
        if not self._released:
            self._released = True
            self._give_back()
