"""Asks a running Edge again and again: to show its state, its progress, or what still drains."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.render.text import counted
from iop_edge.client.status import StatusSnapshot
from iop_edge.errors import EdgeError, Violation
from iop_edge.pool.status import ProviderStatus
from iop_edge.refresh.result import RefreshResult
from iop_edge.schema.paths import ROOT

Ask = Callable[[], Awaitable[StatusSnapshot]]
Sleep = Callable[[float], Awaitable[None]]

_DRAIN_LOOK_SECONDS: Final = 0.5
_PROGRESS_SECONDS: Final = 1.0


async def follow(
    ask: Ask, show: Callable[[StatusSnapshot | EdgeError], None], seconds: float, sleep: Sleep = asyncio.sleep
) -> None:
    """Show the state of an Edge every few seconds, for ever. An Edge that goes away is shown so, and asked again.

    Raises:
        EdgeError: the Edge cannot be reached at the first try.
    """
    show(await ask())
    while True:
        await sleep(seconds)
        try:
            show(await ask())
        except EdgeError as error:
            show(error)


async def drained(
    result: RefreshResult, within_ms: int, ask: Ask, console: Console, sleep: Sleep = asyncio.sleep
) -> RefreshResult:
    """Wait until no changed provider runs more requests than it takes now.

    Returns:
        the result, with a warning for each provider that still does when the time is over, or where the Edge does not
        answer any more: the refresh was carried out all the same.
    """
    left = within_ms / 1000
    while True:
        try:
            over = [provider for provider in (await ask()).providers if _is_over(provider, result)]
        except EdgeError as error:
            console.progress("")
            return replace(result, warnings=(*result.warnings, _unknown(error)))
        if not over or left <= 0:
            console.progress("")
            return replace(result, warnings=(*result.warnings, *map(_draining, over)))
        requests = sum(provider.in_flight - provider.capacity for provider in over)
        console.progress(f"draining: {counted(requests, 'request')} too many at {counted(len(over), 'provider')}")
        pause = min(_DRAIN_LOOK_SECONDS, left)
        left -= pause
        await sleep(pause)


@asynccontextmanager
async def progress(ask: Ask, console: Console, sleep: Sleep = asyncio.sleep) -> AsyncIterator[None]:
    """Tell on a terminal, for as long as the block runs, how many Nodes have taken what is being applied."""
    if not console.shows_progress:
        yield
        return
    task = asyncio.create_task(_tell(ask, console, sleep))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        console.progress("")


async def _tell(ask: Ask, console: Console, sleep: Sleep) -> None:
    with suppress(EdgeError):
        while True:
            await sleep(_PROGRESS_SECONDS)
            status = await ask()
            taken = sum(node.revision > status.revision for node in status.nodes)
            console.progress(f"applying: {taken} of {len(status.nodes)} Nodes have taken the next revision")


def _is_over(provider: ProviderStatus, result: RefreshResult) -> bool:
    return provider.provider_id in result.changed_providers and provider.in_flight > provider.capacity


def _unknown(error: EdgeError) -> Violation:
    return Violation("provider.draining", "", None, f"whether providers have drained is not known: {error}")


def _draining(provider: ProviderStatus) -> Violation:
    path = ROOT.child("nodes").key(provider.node_id).child("providers").key(provider.provider_id)
    return Violation(
        "provider.draining",
        str(path),
        None,
        f"it still runs {provider.in_flight} requests and takes {provider.capacity}",
        "nothing is cut off: it takes no new one until it has drained",
    )
