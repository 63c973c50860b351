"""A request for a place, as an asyncio program makes it."""

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from types import TracebackType
from typing import cast

from iop_edge.ids import ProviderId
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.lease import Lease
from iop_edge.pool.refusal import NoProviderError, Refusal
from iop_edge.pool.waiter import Waiter

Outcome = Lease | Refusal | Waiter
Ask = Callable[[str, Collection[ProviderId]], Outcome]


class Acquisition:
    """Holds a place for as long as an `async with` block runs. It can be entered again when it has been left.

    Ending the block, or the wait for it, by whatever exception gives back what it holds.

    Args:
        dispatcher: who gives places.
        ask: asks it for one.
        name: the id of what is asked for.
        avoid: the providers that are not wanted.
    """

    __slots__ = ("_ask", "_avoid", "_dispatcher", "_is_entered", "_lease", "_name")

    def __init__(self, dispatcher: Dispatcher, ask: Ask, name: str, avoid: Collection[ProviderId]) -> None:
        self._dispatcher = dispatcher
        self._ask = ask
        self._name = name
        self._avoid = avoid
        self._lease: Lease | None = None
        self._is_entered = False

    async def __aenter__(self) -> Lease:
        if self._is_entered:
            raise RuntimeError("this request waits for a place, or holds one, already")
        self._is_entered = True
        outcome = self._ask(self._name, self._avoid)
        if not isinstance(outcome, Lease):
            outcome = await self._awaited(outcome)
        self._lease = outcome
        return outcome

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        lease, self._lease = self._lease, None
        self._is_entered = False
        if lease is not None:
            lease.release()

    async def _awaited(self, outcome: Refusal | Waiter) -> Lease:
        try:
            settled = await _settled(self._dispatcher, outcome) if isinstance(outcome, Waiter) else outcome
            if isinstance(settled, Refusal):
                raise NoProviderError(settled)
        except BaseException:
            self._is_entered = False
            raise
        return settled


async def _settled(dispatcher: Dispatcher, waiter: Waiter) -> Lease | Refusal:
    settled = asyncio.get_running_loop().create_future()
    waiter.wake = partial(_set_done, settled)
    try:
        await settled
    except BaseException:
        # Cancelled, or closed as what never ran to its end. The place may have been given in the same turn of the loop;
        # then it goes to the next one.
        dispatcher.cancel(waiter)
        raise
    return cast("Lease | Refusal", waiter.outcome)


def _set_done(settled: "asyncio.Future[None]") -> None:
    if not settled.done():
        settled.set_result(None)
