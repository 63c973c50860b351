"""Commands that run until they are stopped."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, Final

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def until_stopped(work: Coroutine[Any, Any, None]) -> bool:
    """Run the work until it ends, or until a signal asks it to; return whether it ended by itself.

    The first signal cancels the work. Those after it do nothing: they would cut short what the work does to
    leave nothing behind.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            task.cancel()

    for number in _STOPPING:
        loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for number in _STOPPING:
            loop.remove_signal_handler(number)
    return not stopped
