"""`iop-edge serve`: an Edge as a process of its own."""

import asyncio
import fcntl
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from iop_edge.config.files import FileResolver
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.coordinator import MOST_LOGGED, Origin, fault_text
from iop_edge.edge.edge import Edge, metrics_snapshot
from iop_edge.edge.restore import present_secrets, restore
from iop_edge.errors import ConfigError, EdgeError, Report
from iop_edge.refresh.result import Trigger
from iop_edge.serve.admin import SERVICE_NAME, AdminService
from iop_edge.serve.health import HealthService
from iop_edge.serve.listeners import listeners, listening
from iop_edge.serve.logs import announce_ready, faults_logged, logging_to
from iop_edge.serve.own_files import OwnFiles
from iop_edge.serve.watch import watch
from iop_edge.store.sqlite import SqliteStore

_LOG: Final = logging.getLogger(__name__)
_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True))
class ServeOptions:
    """The settings of a serving Edge that are not in its config; pydantic checks them.

    Args:
        files: the tracked config files; `-` is standard input.
        state_dir: the directory of the history; it belongs to one process at a time.
        private: the private overlays.
        admin: the address of the admin service, instead of the config's `listen.admin`.
        secrets_dir: a directory besides those of the config files that `${file:}` of a proposed config may read.
        watch: take up changes of the config files as they happen.
        last_good: start with the newest applied revision when the config files cannot be used.
        take_over: take over, once, each Node that belongs to another Edge id.
    """

    files: Annotated[tuple[str, ...], Field(min_length=1)]
    state_dir: Path
    private: tuple[str, ...] = ()
    admin: str = ""
    secrets_dir: Path | None = None
    watch: bool = False
    last_good: bool = False
    take_over: bool = False


async def serve(options: ServeOptions) -> None:
    """Run an Edge until SIGTERM or SIGINT; SIGHUP makes it read its files again.

    It logs to standard error, in the format of the config's `logging`. Once it serves, the line `iop-edge: ready` tells
    its revision and addresses.

    Raises:
        ConfigError: the config files cannot be used.
        LoggedError: an address is in use, or another process has the state directory.
    """
    files = OwnFiles(options.files, options.private)
    with _signals() as signals:
        found = await asyncio.to_thread(files.look)
        roots = (*files.directories, *((options.secrets_dir,) if options.secrets_dir else ()))
        admin, health = AdminService(roots), HealthService(SERVICE_NAME)
        async with AsyncExitStack() as stack:
            snapshot = await _start_config(stack, options, files, found)
            wanted = listeners(snapshot, options.admin)
            addresses = await stack.enter_async_context(listening(wanted, [admin, health]))
            started: asyncio.Future[Edge] = asyncio.get_running_loop().create_future()
            if snapshot.tree["metrics"]["enabled"]:
                await stack.enter_async_context(_metrics(started, snapshot.tree["metrics"]["listen"]))
            # The start is recorded only now: a config whose addresses cannot be listened on has never run.
            store = stack.enter_context(closing(SqliteStore(options.state_dir)))
            edge = await stack.enter_async_context(
                Edge.start(snapshot, store=store, files=files, take_over=options.take_over)
            )
            admin.attach(edge)
            started.set_result(edge)
            await health.set_ready(True)
            await stack.enter_async_context(_beside(_reload_whenever(edge, signals.reload)))
            if options.watch:
                reload = partial(_reload, edge, Trigger.WATCH)
                await stack.enter_async_context(_beside(watch(files, found, reload)))
            announce_ready(_LOG, edge.revision, [str(address) for address in addresses])
            await signals.stop.wait()
            await health.end()
            _LOG.info("stopping")


async def _start_config(
    stack: AsyncExitStack, options: ServeOptions, files: OwnFiles, found: Snapshot | Report
) -> Snapshot:
    """Begin to log and to own the state directory, and return the config to start with.

    Only a config says how to log, so the log begins with the first usable one.
    """
    if isinstance(found, Snapshot):
        _begin_log(stack, found)
        stack.enter_context(owned(options.state_dir))
        return found
    if not options.last_good:
        raise ConfigError(found)
    stack.enter_context(owned(options.state_dir))
    snapshot = await asyncio.to_thread(_last_good, options.state_dir, files, found)
    _begin_log(stack, snapshot)
    _LOG.error("the config files cannot be used: starting with the newest applied revision instead")
    for violation in found.violations[:MOST_LOGGED]:
        _LOG.error("%s", violation)
    return snapshot


def _begin_log(stack: AsyncExitStack, snapshot: Snapshot) -> None:
    stack.enter_context(logging_to(sys.stderr, snapshot.tree["logging"]))
    stack.enter_context(faults_logged())


def _last_good(state_dir: Path, files: OwnFiles, found: Report) -> Snapshot:
    """Return the config that was applied last and is not awaiting confirmation (REF-10).

    History holds no raw secrets: they come from the private overlays, as far as these can be used.

    Raises:
        ConfigError: there is none, or it cannot be used; the report includes what is wrong with the files.
        EdgeError: the history cannot be used.
    """
    with closing(SqliteStore(state_dir)) as store:
        newest = store.newest_confirmed()
    if newest is None:
        raise ConfigError(found)
    try:
        return restore(newest, present_secrets(files), FileResolver())
    except ConfigError as error:
        both = (*found.violations, *error.violations)
        raise ConfigError(Report(both, found.warnings, found.total + error.total, found.excerpts)) from None


@contextmanager
def owned(state_dir: Path) -> Iterator[None]:
    """Own a state directory, which only its owner can read, while the block runs.

    Raises:
        EdgeError: the directory cannot be used, or another process owns it.
    """
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        state_dir.chmod(0o700)
        lock = os.open(state_dir / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise EdgeError(f"cannot use the state directory {state_dir}: {error.strerror}") from None
    with closing(os.fdopen(lock)):
        try:
            # The kernel drops the lock with its process, however that ends: no stale lock is ever in the way.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EdgeError(f"another Edge uses the state directory {state_dir}") from None
        yield


@asynccontextmanager
async def _metrics(started: asyncio.Future[Edge], address: str) -> AsyncIterator[None]:
    """Serve the metrics of an Edge; requests that come before it has started wait for it."""
    # Imported only where it is enabled: imports take most of the time of a start.
    from iop_edge.serve.metrics import exposition, serving_metrics

    async def page() -> bytes:
        edge = await asyncio.shield(started)
        return await asyncio.to_thread(exposition, metrics_snapshot(edge))

    async with serving_metrics(address, page) as real:
        _LOG.info("metrics on http://%s/metrics", real)
        yield


class _Signals:
    """Events of signals. Several SIGHUPs that come before one is handled count as one: files are read after them."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.reload = asyncio.Event()


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
    """Run the work as a task while the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _reload_whenever(edge: Edge, requested: asyncio.Event) -> None:
    while True:
        await requested.wait()
        requested.clear()
        await _reload(edge, Trigger.RELOAD)


async def _reload(edge: Edge, trigger: Trigger) -> None:
    try:
        await edge.reload(origin=Origin(trigger=trigger))
    except Exception as error:  # noqa: BLE001 - the task must survive for the next request
        _LOG.error("the config files were not read again: %s", fault_text(error))
