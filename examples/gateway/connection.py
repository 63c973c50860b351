"""Cancels the work for a client that goes away."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.types import Receive


async def while_connected(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Do the work to its end, or until the client goes away: then it is cancelled, wherever it waits.

    When this returns, the work has left every `async with` block. To call it, the request's body must have been read.
    """
    working = asyncio.create_task(work)
    watching = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait((working, watching), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        watching.cancel()
        await asyncio.wait((working, watching))
    if not working.cancelled():
        working.result()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
