"""What many tests need."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType
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


def calls_of(function: Callable[[], object]) -> int:
    """Return how many calls a function makes, whatever else the machine does."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls
