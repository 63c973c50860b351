"""The provider pool, as an asyncio program uses it."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from types import TracebackType

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.ids import DispatchKey, NodeId, ProviderId
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.dispatcher import NONE_AVOIDED, Dispatcher, Observer
from iop_edge.pool.errors import NoProviderError
from iop_edge.pool.explain import DispatchExplanation, explain, statuses
from iop_edge.pool.slots import Lease, Waiter
from iop_edge.pool.status import Health, ProviderStatus


class Acquisition:
    """Holds a lease for as long as an `async with` block runs, however that ends; it may be entered again."""

    __slots__ = ("_avoid", "_dispatcher", "_is_entered", "_lease", "_model")

    def __init__(self, dispatcher: Dispatcher, model: str | DispatchKey, avoid: Collection[ProviderId]) -> None:
        self._dispatcher = dispatcher
        self._model = model
        self._avoid = avoid
        self._lease: Lease | None = None
        self._is_entered = False

    async def __aenter__(self) -> Lease:
        if self._is_entered:
            raise RuntimeError("this acquisition is already waiting, or holds a lease")
        outcome = self._dispatcher.take_or_wait(self._model, self._avoid)
        self._is_entered = True
        if isinstance(outcome, Waiter):
            try:
                outcome = await _granted(self._dispatcher, outcome)
            except BaseException:
                self._is_entered = False
                raise
        self._lease = outcome
        return outcome

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        lease, self._lease = self._lease, None
        self._is_entered = False
        if lease is not None:
            lease.release()


async def _granted(dispatcher: Dispatcher, waiter: Waiter) -> Lease:
    settled = asyncio.get_running_loop().create_future()

    def wake() -> None:
        if not settled.done():
            settled.set_result(None)

    waiter.wake = wake
    try:
        await settled
    except BaseException:
        # Cancelled, or closed unfinished. A lease granted in the same turn of the loop goes to the next request.
        dispatcher.cancel(waiter)
        raise
    outcome = waiter.outcome
    assert outcome is not None
    if isinstance(outcome, Lease):
        return outcome
    raise NoProviderError(waiter.group.key, outcome)


class ProviderPool:
    """Chooses a provider for each request, and lets requests wait for one (POL-01 to POL-05, POL-10).

    A model is named by its external name, which means a model group or, where there is none of that name, a route; or
    by its key, such as `execution.key`, which means just that.

    The pool belongs to the thread of its event loop. Nodes are unreachable until `set_node_reachable` is called. Until
    `set_health` is, the health of a provider is unknown, which is good enough for dispatch.

    Example:
        async with edge.pool.acquire("qwen3-coder") as lease:
            await send(lease.node_id, lease.adapter, lease.target)
    """

    def __init__(self, catalogue: Catalogue, observer: Observer | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        """Make a pool.

        Args:
            catalogue: the providers, model groups and routes of the running config.
            observer: is told what becomes of requests that are not served at once.
            clock: the time.
        """
        self._clock = clock
        self._dispatcher = Dispatcher(clock.monotonic, self._wake_at, observer)
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._dispatcher.reconfigure(catalogue)

    @property
    def keys(self) -> Collection[DispatchKey]:
        """The model groups and routes of the running config."""
        return self._dispatcher.catalogue.groups.keys()

    def acquire(self, model: str | DispatchKey, *, avoid: Collection[str] = ()) -> Acquisition:
        """Hold a lease for as long as an `async with` block runs; wait where no provider is free (POL-01, POL-02).

        Args:
            model: the name or key of a model group or a route.
            avoid: ids of providers that are not wanted, such as those that have failed already.

        Raises:
            NoProviderError: on entering: no provider takes the request, or none became free in time.
        """
        return Acquisition(self._dispatcher, model, _ids(avoid) if avoid else NONE_AVOIDED)

    def try_acquire(self, model: str | DispatchKey, *, avoid: Collection[str] = ()) -> Lease:
        """Return a lease, without waiting. The caller releases it.

        Args:
            model: the name or key of a model group or a route.
            avoid: ids of providers that are not wanted.

        Raises:
            NoProviderError: no provider takes the request now.
        """
        return self._dispatcher.take(model, _ids(avoid))

    def explain(self, model: str | DispatchKey) -> DispatchExplanation:
        """Return what would become of a new request for a model, and why. Nothing is leased."""
        return explain(self._dispatcher, model)

    def statuses(self) -> tuple[ProviderStatus, ...]:
        """Return the status of each configured provider, by id."""
        return statuses(self._dispatcher)

    def reconfigure(self, catalogue: Catalogue) -> None:
        """Dispatch by a new config from now on; this cannot fail.

        No running request is touched: load and turn belong to the provider id, which may be disabled, removed, added
        again or moved to another Node (POL-05). Waiting requests keep their places, and are served at once where the
        new config has room.
        """
        self._dispatcher.reconfigure(catalogue)

    def set_node_reachable(self, node_id: NodeId, reachable: bool) -> None:  # noqa: FBT001 - a state that has two values
        """Set whether a Node can take requests for its providers."""
        self._dispatcher.set_reachable(node_id, reachable=reachable)

    def set_health(self, node_id: NodeId, provider_id: ProviderId, health: Health, detail: str = "") -> None:
        """Set the health that a Node reports, and what it saw; ignored unless the provider is on that Node."""
        self._dispatcher.set_health(node_id, provider_id, health, detail)

    def close(self) -> None:
        """Refuse the requests that wait, and all new ones. Running requests keep their leases."""
        self._dispatcher.close()
        if self._timer is not None:
            self._timer.cancel()

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
        raise TypeError("avoid must be a collection of provider ids, not a single one")
    return frozenset(map(ProviderId, names)) if names else NONE_AVOIDED
