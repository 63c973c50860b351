"""Bounds how much is sent at once (PSH-04)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class SendGate:
    """Bounds concurrent sends, in number and in bytes. Senders enter in order of arrival.

    Args:
        slots: the maximum number of concurrent sends.
        hold: the longest that a send keeps its slot, in seconds. After that a Node that does not read no longer keeps
            others waiting.
        max_bytes: the maximum number of bytes being sent, with or without a slot: they are in memory until they are
            sent. A larger send enters alone.
    """

    def __init__(self, slots: int, hold: float, max_bytes: int) -> None:
        self._free_slots = slots
        self._hold = hold
        self._max_bytes = max_bytes
        self._bytes = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @asynccontextmanager
    async def slot(self, size: int) -> AsyncIterator[Callable[[], None]]:
        """Wait for a slot and yield what must be called when everything is sent.

        The slot is held until that call, the end of the block, or the end of the hold. The bytes count until that call
        or the end of the block.
        """
        await self._enter(size)
        holds_slot = is_sending = True

        def release_slot() -> None:
            nonlocal holds_slot
            if holds_slot:
                holds_slot = False
                self._release(slots=1)

        def sent() -> None:
            nonlocal is_sending
            expiry.cancel()
            release_slot()
            if is_sending:
                is_sending = False
                self._release(size=size)

        expiry = asyncio.get_running_loop().call_later(self._hold, release_slot)
        try:
            yield sent
        finally:
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
                self._admit()  # a smaller send behind this one may fit
            else:
                self._release(slots=1, size=size)
            raise

    def _has_room(self, size: int) -> bool:
        return self._free_slots > 0 and (not self._bytes or self._bytes + size <= self._max_bytes)

    def _take(self, size: int) -> None:
        self._free_slots -= 1
        self._bytes += size

    def _release(self, *, slots: int = 0, size: int = 0) -> None:
        self._free_slots += slots
        self._bytes -= size
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            size, turn = self._waiting[0]
            if not turn.cancelled():
                if not self._has_room(size):
                    return
                self._take(size)
                turn.set_result(None)
            self._waiting.popleft()
