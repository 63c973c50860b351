"""Commands that run until they are stopped."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any


async def until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Run the work until it ends, or until SIGTERM or SIGINT cancels it: a stop that was asked for is no fault."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task
