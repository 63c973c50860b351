"""`iop-edge serve`: an Edge as a process of its own."""

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.coordinator import Origin, fault_text
from iop_edge.edge.edge import Edge, metrics_snapshot
from iop_edge.errors import ConfigError, Report
from iop_edge.refresh.result import Trigger
from iop_edge.schema.values import plain
from iop_edge.serve.admin import SERVICE_NAME, AdminService
from iop_edge.serve.health import HealthService
from iop_edge.serve.last_good import last_good, tell_of_last_good
from iop_edge.serve.listeners import listeners, listening
from iop_edge.serve.logs import announce_ready, faults_logged, logging_to
from iop_edge.serve.own_files import OwnFiles
from iop_edge.serve.state_dir import owned
from iop_edge.serve.watch import watch
from iop_edge.store.sqlite import SqliteStore

_LOG: Final = logging.getLogger(__name__)
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What a serving Edge is told from outside its config.

    Args:
        files: the tracked config files; `-` is standard input.
        private: the private overlays.
        state_dir: the directory that the Edge keeps its history in; it belongs to one process at a time.
        admin: the address of the admin service, instead of the config's `listen.admin`.
        secrets_dir: a directory besides those of the config files that `${file:}` of a sent candidate may read.
        watch: take up changes of the config files by itself.
        last_good: start with the newest applied revision when the config files cannot be used.
        take_over: take each Node over, once, that belongs to another Edge id.
    """

    files: tuple[str, ...]
    private: tuple[str, ...] = ()
    state_dir: Path = Path("/var/lib/iop-edge")
    admin: str = ""
    secrets_dir: Path | None = None
    watch: bool = False
    last_good: bool = False
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class _Signals:
    """What signals have asked for. Several SIGHUPs before there was time for one are one: files are read after them."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    reload: asyncio.Event = field(default_factory=asyncio.Event)


async def serve(options: ServeOptions) -> None:
    """Run an Edge until SIGTERM or SIGINT; SIGHUP makes it read its files again.

    What it says goes to standard error, in the form of the config's `logging`; once it serves, `iop-edge: ready`, with
    its revision and addresses.

    Raises:
        ConfigError: the config files cannot be used.
        LoggedError: an address is taken, or another process has the state directory.
    """
    files = OwnFiles(options.files, options.private)
    with _signals() as signals:
        found = await asyncio.to_thread(files.look)
        roots = (*files.directories, *((options.secrets_dir,) if options.secrets_dir else ()))
        admin, health = AdminService(roots), HealthService(SERVICE_NAME)
        async with AsyncExitStack() as stack:
            if not isinstance(found, Report):
                _log_as_told(stack, found)
            elif not options.last_good:
                raise ConfigError(found)
            state_dir = stack.enter_context(owned(options.state_dir))
            snapshot = (
                await asyncio.to_thread(last_good, state_dir, files, found) if isinstance(found, Report) else found
            )
            if isinstance(found, Report):
                _log_as_told(stack, snapshot)
                tell_of_last_good(found)
            wanted = listeners(snapshot, options.admin)
            addresses = await stack.enter_async_context(listening(wanted, [admin, health]))
            store = stack.enter_context(closing(SqliteStore(state_dir)))
            edge = await stack.enter_async_context(
                Edge.start(snapshot, store=store, files=files, take_over=options.take_over)
            )
            admin.attach(edge)
            if plain(snapshot.tree["metrics"]["enabled"]):
                await stack.enter_async_context(_metrics(edge, plain(snapshot.tree["metrics"]["listen"])))
            await health.set_ready(True)
            await stack.enter_async_context(_beside(_reload_whenever(edge, signals.reload)))
            if options.watch:
                reload = partial(_reload, edge, Trigger.WATCH)
                await stack.enter_async_context(_beside(watch(files, found, reload)))
            announce_ready(_LOG, edge.revision, [str(address) for address in addresses])
            await signals.stop.wait()
            await health.end()
            _LOG.info("stopping")


def _log_as_told(stack: AsyncExitStack, snapshot: Snapshot) -> None:
    stack.enter_context(logging_to(sys.stderr, snapshot.tree["logging"]))
    stack.enter_context(faults_logged())


@asynccontextmanager
async def _metrics(edge: Edge, address: str) -> AsyncIterator[None]:
    # Imported where they are wanted: most of what it takes to start is imports.
    from iop_edge.serve.metrics import exposition
    from iop_edge.serve.metrics_server import serving_metrics

    async def page() -> bytes:
        return await asyncio.to_thread(exposition, metrics_snapshot(edge))

    async with serving_metrics(address, page) as real:
        _LOG.info("metrics on http://%s/metrics", real)
        yield


@contextmanager
def _signals() -> Iterator[_Signals]:
    signals, loop = _Signals(), asyncio.get_running_loop()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, signals.stop.set)
    loop.add_signal_handler(signal.SIGHUP, signals.reload.set)
    try:
        yield signals
    finally:
        for number in (*_STOP_SIGNALS, signal.SIGHUP):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Do the work for as long as the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _reload_whenever(edge: Edge, asked: asyncio.Event) -> None:
    while True:
        await asked.wait()
        asked.clear()
        await _reload(edge, Trigger.RELOAD)


async def _reload(edge: Edge, trigger: Trigger) -> None:
    try:
        await edge.reload(origin=Origin(trigger=trigger))
    except Exception as error:  # noqa: BLE001 - the next one must find somebody who listens
        _LOG.error("the files were not read again: %s", fault_text(error))
