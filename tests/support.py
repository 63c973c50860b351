"""What many tests need."""

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Final, TypeVar

ROOT: Final = Path(__file__).resolve().parent.parent
EXAMPLES: Final = ROOT / "examples"

COMMAND: Final = Path(sys.executable).with_name("iop-edge")
"""The installed command."""

PATIENCE: Final = 60.0
"""Seconds after which a test that hangs fails. Nothing that works comes near it."""

_Result = TypeVar("_Result")


def run(coroutine: Coroutine[object, object, _Result]) -> _Result:
    """Run a coroutine in a loop of its own; one that hangs fails."""

    async def patiently() -> _Result:
        async with asyncio.timeout(PATIENCE):
            return await coroutine

    return asyncio.run(patiently())
