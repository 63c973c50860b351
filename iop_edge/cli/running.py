"""Commands that run until they are stopped."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def until_stopped(work: Coroutine[Any, Any, None], on_hangup: Callable[[], None] | None = None) -> bool:
    """Run the work until it ends, or until a signal asks it to; return whether it ended by itself.

    The first signal cancels the work. Those after it do nothing: they would cut short what the work does to
    leave nothing behind. Where there is something to do on SIGHUP, that is done, and the work goes on.
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
    if on_hangup is not None:
        loop.add_signal_handler(signal.SIGHUP, on_hangup)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for number in _STOPPING:
            loop.remove_signal_handler(number)
    return not stopped
