"""How many pushes are sent at once (PSH-04)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class SendGate:
    """Bounds the pushes that are being sent; waiting for answers is not bounded.

    Args:
        width: how many are sent at once.
        hold: the longest that one of them keeps its place, in seconds. A Node that does not read what it is sent goes
            on being sent to, but no longer keeps others waiting.
    """

    def __init__(self, width: int, hold: float) -> None:
        self._places = asyncio.Semaphore(width)
        self._hold = hold

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Callable[[], None]]:
        """Wait for a place and hold it until the yielded function is called, the block ends, or the hold is over."""
        await self._places.acquire()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._places.release()

        expiry = asyncio.get_running_loop().call_later(self._hold, leave)
        try:
            yield leave
        finally:
            expiry.cancel()
            leave()
