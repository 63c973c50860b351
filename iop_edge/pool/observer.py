"""Who counts how requests fare that are not served at once."""

from typing import Protocol

from iop_edge.ids import DispatchKey
from iop_edge.pool.lease import Lease
from iop_edge.pool.refusal import Refusal


class Observer(Protocol):
    """Is told by a pool what happens in it, while it happens: it must be quick, and must not raise."""

    def take_wait(self, key: DispatchKey, outcome: Lease | Refusal | None, seconds: float) -> None:
        """Take note that a request has waited so long, and how that ended; None: its caller went away."""

    def take_refusal(self, refusal: Refusal) -> None:
        """Take note that a request was refused that was ready to wait, before it had begun to."""
