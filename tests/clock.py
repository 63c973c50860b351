"""A clock that a test moves."""

import asyncio
from itertools import count


class ManualClock:
    """A `Clock` that stands still until a test moves it."""

    def __init__(self, wall_ms: int = 1_800_000_000_000) -> None:
        self._wall_ms = wall_ms
        self._seconds = 0.0
        self._order = count()
        self._sleeps: asyncio.PriorityQueue[tuple[float, int, float, asyncio.Future[None]]] = asyncio.PriorityQueue()

    def wall_ms(self) -> int:
        return self._wall_ms + round(self._seconds * 1000)

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        over = asyncio.get_running_loop().create_future()
        self._sleeps.put_nowait((self._seconds + seconds, next(self._order), seconds, over))
        await over

    def advance(self, seconds: float) -> None:
        """Move the time and end every sleep that is due by then."""
        until = self._seconds + seconds
        while not self._sleeps.empty():
            sleep = self._sleeps.get_nowait()
            due, *_, over = sleep
            if due > until:
                self._sleeps.put_nowait(sleep)
                break
            if not over.done():
                over.set_result(None)
        self._seconds = until

    async def next_sleep(self) -> tuple[float, asyncio.Future[None]]:
        """Wait until somebody sleeps; return the sleep that ends first: its seconds, and what ends it."""
        while True:
            *_, seconds, over = await self._sleeps.get()
            if not over.done():
                return seconds, over

    async def end_next_sleep(self) -> float:
        """Move the time to the end of the next sleep; return how many seconds it was to last."""
        seconds, over = await self.next_sleep()
        over.set_result(None)
        self._seconds += seconds
        return seconds
