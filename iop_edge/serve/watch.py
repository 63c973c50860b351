"""Notices that the content of an Edge's own files has changed (REF-10)."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import Report
from iop_edge.serve.own_files import OwnFiles

_LOG: Final = logging.getLogger(__name__)

_QUIET_MS: Final = 100
"""Files are read when nothing has happened for this long: the writer has finished."""

_LONGEST_MS: Final = 1000
"""They are read after this long even if something happens all the time."""

_ANYWAY_MS: Final = 30_000
"""They are read this often without any event: network file systems do not report what other machines do."""

_MAX_LINKS: Final = 40
"""The symbolic links that Linux follows on one path."""

Place = tuple[str, int]
"""A directory with its inode number: a directory that was replaced is another place."""


async def watch(
    files: OwnFiles, seen: Snapshot | Report, changed: Callable[[], Awaitable[Any]], clock: Clock = SYSTEM_CLOCK
) -> None:
    """Call back whenever the content of the files, or of files that they refer to, changes; run until cancelled.

    Content is what the bytes mean. Files that cannot be used count as unchanged until another thing is wrong with them,
    so they are reported once.

    Args:
        files: the files.
        seen: the result of reading the files last.
        changed: called and awaited after a change.
        clock: waits where the system reports no events.
    """
    while True:
        watched = await asyncio.to_thread(places, files.paths)
        notifier = await asyncio.to_thread(_notifier, watched, clock)
        try:
            while True:
                # Only after the notifier has started, so that no later change is missed.
                found = await asyncio.to_thread(files.look)
                if found != seen:
                    seen = found
                    await changed()
                if await asyncio.to_thread(places, files.paths) != watched:
                    break
                await notifier.wait()
        finally:
            notifier.close()


class _Notifier:
    """Waits for an event in directories."""

    def __init__(self, directories: Iterable[str]) -> None:
        self._stop = threading.Event()
        self._rust = RustNotify(sorted(directories), False, False, 0, False, True)  # noqa: FBT003 - no names there

    async def wait(self) -> None:
        waiting = asyncio.create_task(
            asyncio.to_thread(self._rust.watch, _LONGEST_MS, _QUIET_MS, _ANYWAY_MS, self._stop)
        )
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            # The thread must not outlive its task: the process would wait for it at exit.
            self._stop.set()
            await waiting
            raise

    def close(self) -> None:
        self._rust.close()


class _Timer:
    """Replaces the notifier where the system reports no events."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def wait(self) -> None:
        await self._clock.sleep(_ANYWAY_MS / 1000)

    def close(self) -> None:
        """Nothing is open."""


def _notifier(watched: Iterable[Place], clock: Clock) -> _Notifier | _Timer:
    try:
        return _Notifier(path for path, _ in watched)
    except FileNotFoundError:
        # A directory has just gone away: the next look finds other places.
        return _Timer(clock)
    except (OSError, WatchfilesRustInternalError) as error:
        _LOG.warning("the config files cannot be watched and are read every %d seconds: %s", _ANYWAY_MS // 1000, error)
        return _Timer(clock)


def places(paths: Iterable[Path]) -> frozenset[Place]:
    """Return the directories in which an event can change what the paths lead to.

    They hold the files and each symbolic link on the way; for what does not exist it is the nearest directory that
    does.
    """
    found: set[Path] = set()
    for path in paths:
        _trace(path.absolute(), found)
    return frozenset((str(place), number) for place in found if (number := _inode(place)))


def _trace(path: Path, found: set[Path]) -> None:
    here, names, links = Path("/"), deque(path.parts[1:]), 0
    while names:
        name = names.popleft()
        if name == "..":
            here = here.parent
            continue
        step = here / name
        target = _link(step)
        if target is not None and links < _MAX_LINKS:
            links += 1
            found.add(here)
            if target.is_absolute():
                here = Path("/")
            names.extendleft(reversed([part for part in target.parts if part != "/"]))
        elif names and step.is_dir():
            here = step
        else:
            found.add(here)
            return


def _link(path: Path) -> Path | None:
    try:
        return path.readlink()
    except OSError:
        return None


def _inode(place: Path) -> int:
    try:
        return place.stat().st_ino
    except OSError:
        return 0
