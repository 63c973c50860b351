"""How many handshakes or pushes, and how much of them, are sent at once (PSH-04)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class SendGate:
    """Bounds what is being sent, in number and in bytes.

    Senders get in in the order in which they came. One that is larger than the whole budget gets in alone.

    Args:
        width: how many are sent at once.
        hold: the longest that one of them keeps its place, in seconds. A Node that does not read what it is sent goes
            on being sent to, but no longer keeps others waiting.
        budget: how many bytes are being sent at once. They are in memory until they are sent, place or no place.
    """

    def __init__(self, width: int, hold: float, budget: int) -> None:
        self._free_places = width
        self._hold = hold
        self._budget = budget
        self._bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def place(self, size: int) -> AsyncIterator[Callable[[], None]]:
        """Wait for a place and hold it until the yielded function is called, the block ends, or the hold is over.

        The bytes count until the function is called or the block ends.
        """
        await self._enter(size)
        holds_place = holds_bytes = True

        def give_up_place() -> None:
            nonlocal holds_place
            if holds_place:
                holds_place = False
                self._leave(places=1)

        def sent() -> None:
            nonlocal holds_bytes
            give_up_place()
            if holds_bytes:
                holds_bytes = False
                self._leave(size=size)

        expiry = asyncio.get_running_loop().call_later(self._hold, give_up_place)
        try:
            yield sent
        finally:
            expiry.cancel()
            sent()

    async def _enter(self, size: int) -> None:
        if not self._waiting and self._has_room(size):
            self._take(size)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._let_in()  # whoever came after may fit where this one did not
            else:
                self._leave(places=1, size=size)
            raise

    def _has_room(self, size: int) -> bool:
        return self._free_places > 0 and (not self._bytes or self._bytes + size <= self._budget)

    def _take(self, size: int) -> None:
        self._free_places -= 1
        self._bytes += size

    def _leave(self, *, places: int = 0, size: int = 0) -> None:
        self._free_places += places
        self._bytes -= size
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting:
            size, turn = self._waiting[0]
            if not turn.cancelled():
                if not self._has_room(size):
                    return
                self._take(size)
                turn.set_result(None)
            self._waiting.popleft()
