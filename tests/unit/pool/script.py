"""A scripted dispatcher: a test names requests, and sets the time."""

from collections.abc import Mapping, Sequence
from typing import Any

from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.slots import Lease, Waiter
from tests.unit.pool.configs import catalogue


class Script:
    """A dispatcher, a clock, and the requests by the names that a test gives them."""

    def __init__(self, *providers: dict[str, Any], models: Mapping[str, Sequence[str]] | None = None) -> None:
        self.now = 0.0
        self.dispatcher = Dispatcher(lambda: self.now, lambda _: None)
        self.requests: dict[str, Lease | RefusalReason | Waiter] = {}
        self.models = models
        self.configure(*providers)
        for node in ("n1", "n2"):
            self.dispatcher.set_reachable(NodeId(node), reachable=True)

    def configure(self, *providers: dict[str, Any], models: Mapping[str, Sequence[str]] | None = None) -> None:
        self.models = models or self.models
        self.dispatcher.reconfigure(catalogue(providers, self.models or {"m": [item["id"] for item in providers]}))

    def ask(self, *names: str, model: str = "m", avoid: Sequence[str] = ()) -> None:
        for name in names:
            wanted = frozenset(map(ProviderId, avoid))
            try:
                self.requests[name] = self.dispatcher.take_or_wait(model, wanted)
            except NoProviderError as error:
                self.requests[name] = error.reason

    def end(self, name: str) -> None:
        request = self.requests[name]
        lease = request.outcome if isinstance(request, Waiter) else request
        assert isinstance(lease, Lease), lease
        lease.release()

    def cancel(self, name: str) -> None:
        waiter = self.requests[name]
        assert isinstance(waiter, Waiter)
        self.dispatcher.cancel(waiter)

    def at(self, seconds: float) -> None:
        self.now = seconds
        self.dispatcher.expire()

    def __getitem__(self, name: str) -> str:
        """Where a request runs, `waits`, or why it was refused."""
        request = self.requests[name]
        outcome = request.outcome if isinstance(request, Waiter) else request
        if outcome is None:
            return "waits"
        return outcome.provider_id if isinstance(outcome, Lease) else outcome

    def shown(self, *names: str) -> list[str]:
        return [self[name] for name in names]

    def queued(self, name: str) -> int:
        return len(self.dispatcher.slots[ProviderId(name)].queue)
