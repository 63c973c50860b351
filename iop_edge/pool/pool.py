"""The provider pool, as an asyncio program uses it: which provider takes a request, and who waits.

The pool belongs to one thread, that of the event loop, so that no two callers can take the same place.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.ids import DispatchKey, ModelId, ModelKey, NodeId, ProviderId, RouteId, RouteKey
from iop_edge.pool import explain
from iop_edge.pool.acquisition import Acquisition, Outcome
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.dispatcher import NOBODY, Dispatcher
from iop_edge.pool.explain import Dispatch
from iop_edge.pool.explanation import Explanation, explain_request
from iop_edge.pool.lease import Lease
from iop_edge.pool.observer import Observer
from iop_edge.pool.refusal import Refusal, RefusalReason
from iop_edge.pool.status import Health, ProviderStatus


class ProviderPool:
    """Chooses providers, counts their requests, and lets requests wait (POL-01 to POL-05, POL-10).

    A Node is unreachable until the pool hears otherwise, and a provider's health is unknown, which is good enough for
    dispatch.
    """

    def __init__(self, catalogue: Catalogue, observer: Observer | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        """Dispatch by a config; `observer` is told how requests fare that are not served at once."""
        self._clock = clock
        self._dispatcher = Dispatcher(clock.monotonic, self._wake_at, observer)
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._dispatcher.reconfigure(catalogue)

    def reconfigure(self, catalogue: Catalogue) -> None:
        """Dispatch by a new config from now on. It cannot fail: whatever can be wrong shows when the catalogue is made.

        No running request is touched: counts and the rotation belong to the provider id, through disabling, removing,
        adding again and moving to another Node (POL-05). Who waits keeps its place, and is served at once where the
        new config has room.
        """
        self._dispatcher.reconfigure(catalogue)

    def set_node_reachable(self, node_id: NodeId, reachable: bool) -> None:  # noqa: FBT001 - a state that has two values
        """Say whether a Node can take requests for its providers."""
        self._dispatcher.set_reachable(node_id, reachable=reachable)

    def set_health(self, node_id: NodeId, provider_id: ProviderId, health: Health, detail: str = "") -> None:
        """Say how a Node finds a provider, and what it saw. One that is gone, or another Node's, is passed over."""
        self._dispatcher.set_health(node_id, provider_id, health, detail)

    def close(self) -> None:
        """Refuse who waits, and every request from now on. Running requests keep their places."""
        self._dispatcher.close()
        if self._timer is not None:
            self._timer.cancel()

    def acquire(self, model: str, *, avoid: Collection[str] = ()) -> Acquisition:
        """Hold a place at a provider of a model group for as long as an `async with` block runs.

        The request waits where no provider is free (POL-02). The place is given back once, also when the block fails
        or its task is cancelled.

        Args:
            model: the id of the model group.
            avoid: ids of providers that are not wanted; those that have failed already, say.

        Raises:
            NoProviderError: on entering; no provider takes the request.
        """
        return Acquisition(self._dispatcher, self._ask_model, model, _ids(avoid) if avoid else NOBODY)

    def acquire_route(self, route: str, *, avoid: Collection[str] = ()) -> Acquisition:
        """Hold a place at a provider of a route, in the manner of `acquire` (POL-10).

        Args:
            route: the `model` of the route.
            avoid: ids of providers that are not wanted.

        Raises:
            NoProviderError: on entering; no provider takes the request.
        """
        return Acquisition(self._dispatcher, self._ask_route, route, _ids(avoid) if avoid else NOBODY)

    def acquire_for(self, key: DispatchKey, *, avoid: Collection[str] = ()) -> Acquisition:
        """Hold a place at a provider of a model group or a route, whichever a prepared request asks for."""
        if isinstance(key, ModelKey):
            return self.acquire(key.id, avoid=avoid)
        return self.acquire_route(key.id, avoid=avoid)

    def try_acquire(self, model: str, *, avoid: Collection[str] = ()) -> Lease | Refusal:
        """Take a place at the provider of a model group whose turn it is, without waiting (POL-01, POL-04)."""
        group = self._dispatcher.models.get(model)
        return _unknown(ModelKey(ModelId(model))) if group is None else self._dispatcher.take(group, _ids(avoid))

    def try_acquire_route(self, route: str, *, avoid: Collection[str] = ()) -> Lease | Refusal:
        """Take a place at the provider of a route whose turn it is, without waiting (POL-10)."""
        group = self._dispatcher.routes.get(route)
        return _unknown(RouteKey(RouteId(route))) if group is None else self._dispatcher.take(group, _ids(avoid))

    @property
    def keys(self) -> Collection[DispatchKey]:
        """The model groups and routes of the config in force."""
        return self._dispatcher.catalogue.groups.keys()

    def explain(self, model: str) -> Dispatch | Refusal:
        """Say what would become of a new request for a model group, and why. Nothing is taken."""
        group = self._dispatcher.models.get(model)
        return _unknown(ModelKey(ModelId(model))) if group is None else explain.dispatch(self._dispatcher, group)

    def explain_route(self, route: str) -> Dispatch | Refusal:
        """Say what would become of a new request for a route, and why. Nothing is taken."""
        group = self._dispatcher.routes.get(route)
        return _unknown(RouteKey(RouteId(route))) if group is None else explain.dispatch(self._dispatcher, group)

    def explain_request(self, model: str) -> Explanation:
        """Say what would become of a new request whose `model` may be a model group's or a route's, and why."""
        return explain_request(self._dispatcher, model)

    def statuses(self) -> tuple[ProviderStatus, ...]:
        """Return what can be said of each configured provider, by id."""
        return explain.statuses(self._dispatcher)

    def _ask_model(self, model: str, avoid: Collection[ProviderId]) -> Outcome:
        group = self._dispatcher.models.get(model)
        if group is None:
            return self._dispatcher.refuse(_unknown(ModelKey(ModelId(model))))
        return self._dispatcher.take_or_wait(group, avoid)

    def _ask_route(self, route: str, avoid: Collection[ProviderId]) -> Outcome:
        group = self._dispatcher.routes.get(route)
        if group is None:
            return self._dispatcher.refuse(_unknown(RouteKey(RouteId(route))))
        return self._dispatcher.take_or_wait(group, avoid)

    def _wake_at(self, deadline: float) -> None:
        loop = self._loop
        with suppress(RuntimeError):  # a lease may be released while no loop runs
            loop = asyncio.get_running_loop()
        if self._timer is not None:
            # The timer of a loop that has ended never fires.
            if loop is self._loop and self._wakes_at <= deadline:
                return
            self._timer.cancel()
        self._timer, self._loop, self._wakes_at = None, loop, deadline
        if loop is not None and not loop.is_closed():
            self._timer = loop.call_later(deadline - self._clock.monotonic(), self._expire)

    def _expire(self) -> None:
        self._timer = None
        self._dispatcher.expire()
        deadline = self._dispatcher.next_deadline()
        if deadline is not None:
            self._wake_at(deadline)


def _ids(names: Collection[str]) -> Collection[ProviderId]:
    if isinstance(names, str):
        raise TypeError("avoid must be a collection of provider ids; one id alone would be taken for its letters")
    return frozenset(map(ProviderId, names)) if names else NOBODY


def _unknown(key: DispatchKey) -> Refusal:
    return Refusal(key, RefusalReason.UNKNOWN)
