"""Commands that go on: they work until a signal stops them, or poll a running Edge."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from iop_edge.cli.console import Console
from iop_edge.cli.render.text import counted
from iop_edge.client.status import StatusSnapshot
from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.errors import EdgeError, Violation
from iop_edge.pool.status import ProviderStatus
from iop_edge.refresh.result import RefreshResult
from iop_edge.rules import Rule
from iop_edge.schema.paths import ROOT

Ask = Callable[[], Awaitable[StatusSnapshot]]

_DRAIN_SECONDS: Final = 0.5
_PROGRESS_SECONDS: Final = 1.0
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def until_stopped(work: Coroutine[Any, Any, None], on_hangup: Callable[[], None] | None = None) -> bool:
    """Run the work until it ends or a signal stops it; return whether it ended by itself.

    The first signal cancels the work. Later ones are ignored: they would interrupt its cleanup. With `on_hangup`,
    SIGHUP calls that instead, and the work goes on.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            task.cancel()

    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, stop)
    if on_hangup is not None:
        loop.add_signal_handler(signal.SIGHUP, on_hangup)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for number in _STOP_SIGNALS:
            loop.remove_signal_handler(number)
    return not stopped


async def follow(
    ask: Ask, show: Callable[[StatusSnapshot | EdgeError], None], seconds: float, clock: Clock = SYSTEM_CLOCK
) -> None:
    """Show the state of an Edge every few seconds, forever. An Edge that goes away is shown as an error.

    Raises:
        EdgeError: the first attempt did not reach the Edge.
    """
    show(await ask())
    while True:
        await clock.sleep(seconds)
        try:
            show(await ask())
        except EdgeError as error:
            show(error)


async def drained(
    result: RefreshResult, within_ms: int, ask: Ask, console: Console, clock: Clock = SYSTEM_CLOCK
) -> RefreshResult:
    """Wait until no changed provider runs more requests than its capacity.

    Returns:
        the result, with a warning for each provider that has not drained in time, or when the Edge stops answering:
        the refresh itself was carried out.
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
        console.progress(f"draining: {counted(requests, 'request')} over capacity at {counted(len(over), 'provider')}")
        pause = min(_DRAIN_SECONDS, left)
        left -= pause
        await clock.sleep(pause)


@asynccontextmanager
async def progress(ask: Ask, console: Console, clock: Clock = SYSTEM_CLOCK) -> AsyncIterator[None]:
    """Show on a terminal, while the block runs, how many Nodes have taken the new revision."""
    if not console.shows_progress:
        yield
        return
    task = asyncio.create_task(_show_progress(ask, console, clock))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        console.progress("")


async def _show_progress(ask: Ask, console: Console, clock: Clock) -> None:
    with suppress(EdgeError):
        while True:
            await clock.sleep(_PROGRESS_SECONDS)
            status = await ask()
            taken = sum(node.revision > status.revision for node in status.nodes)
            console.progress(f"applying: {taken} of {len(status.nodes)} Nodes have taken the next revision")


def _is_over(provider: ProviderStatus, result: RefreshResult) -> bool:
    return provider.provider_id in result.changed_providers and provider.in_flight > provider.capacity


def _unknown(error: EdgeError) -> Violation:
    return Violation(Rule.PROVIDER_DRAINING, "", None, f"cannot tell whether the providers have drained: {error}")


def _draining(provider: ProviderStatus) -> Violation:
    return Violation(
        Rule.PROVIDER_DRAINING,
        str(ROOT.child("nodes").key(provider.node_id).child("providers").key(provider.provider_id)),
        None,
        f"still runs {provider.in_flight} requests, with a capacity of {provider.capacity}",
        "running requests are never cut off; it takes no new one until it has drained",
    )
