"""What a fleet leaves behind."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

_PATIENCE: Final = 10.0


@asynccontextmanager
async def nothing_left() -> AsyncIterator[None]:
    """Fail where more tasks or descriptors are open after the block than before it.

    The other ends of connections, in this process too, need some turns of the loop to find out that they are over.
    """
    tasks, descriptors = asyncio.all_tasks(), _descriptors()
    yield
    gc.collect()
    try:
        async with asyncio.timeout(_PATIENCE):
            while (asyncio.all_tasks() - tasks) or (_descriptors() - descriptors):  # noqa: ASYNC110
                await asyncio.sleep(0)
    except TimeoutError:
        left = [*(asyncio.all_tasks() - tasks), *(_descriptors() - descriptors)]
        raise AssertionError(f"left behind: {left}") from None


def _descriptors() -> set[tuple[str, str]]:
    found = set()
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))  # noqa: PTH115
        except FileNotFoundError:
            continue  # the directory's own descriptor
    return found
