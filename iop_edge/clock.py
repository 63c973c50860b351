"""Time, from one source: whoever needs it is handed a `Clock`, so that a test decides what time it is."""

import asyncio
import time
from typing import Final, Protocol


class Clock(Protocol):
    """What time it is, and how to wait."""

    def wall_ms(self) -> int:
        """Return the time of day, in milliseconds since 1970 UTC."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, from an arbitrary start."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class _SystemClock:
    """The time of this machine."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


SYSTEM_CLOCK: Final[Clock] = _SystemClock()
