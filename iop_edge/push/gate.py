"""How many handshakes or pushes, and how much of them, are sent at once (PSH-04)."""

import asyncio
from collections import deque
from collections.abc import Callable


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

    def place(self, size: int) -> "Place":
        """Return a context that waits for a place, and yields what is to be called when all is sent.

        The place is held until then, until the block ends, or until the hold is over; the bytes count until then or
        until the block ends.
        """
        return Place(self, size, self._hold)

    async def enter(self, size: int) -> None:
        """Take a place, once there is one."""
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
                self.leave(places=1, size=size)
            raise

    def _has_room(self, size: int) -> bool:
        return self._free_places > 0 and (not self._bytes or self._bytes + size <= self._budget)

    def _take(self, size: int) -> None:
        self._free_places -= 1
        self._bytes += size

    def leave(self, *, places: int = 0, size: int = 0) -> None:
        """Give up what was taken, and let in who waits for it."""
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


class Place:
    """A place in a gate, for as long as a block runs or something is being sent."""

    __slots__ = ("_expiry", "_gate", "_has_sent", "_hold", "_holds_place", "_size")

    def __init__(self, gate: SendGate, size: int, hold: float) -> None:
        self._gate = gate
        self._size = size
        self._hold = hold
        self._holds_place = False
        self._has_sent = False

    async def __aenter__(self) -> Callable[[], None]:
        await self._gate.enter(self._size)
        self._holds_place = True
        self._expiry = asyncio.get_running_loop().call_later(self._hold, self._give_up_place)
        return self._sent

    async def __aexit__(self, *_: object) -> None:
        self._sent()

    def _give_up_place(self) -> None:
        if self._holds_place:
            self._holds_place = False
            self._gate.leave(places=1)

    def _sent(self) -> None:
        self._expiry.cancel()
        self._give_up_place()
        if not self._has_sent:
            self._has_sent = True
            self._gate.leave(size=self._size)
