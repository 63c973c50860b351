"""Notices by itself that an Edge's own files say something else."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import Report
from iop_edge.serve.own_files import OwnFiles
from iop_edge.serve.places import Place, places

_LOG: Final = logging.getLogger(__name__)

_QUIET_MS: Final = 100
"""Files are looked at when nothing has happened for so long: whoever writes has written."""

_LONGEST_MS: Final = 1000
"""They are looked at after so long though something happens all the time."""

_ANYWAY_MS: Final = 30_000
"""They are looked at so often whatever is heard: network file systems do not tell what others do to them."""


async def watch(files: OwnFiles, seen: Snapshot | Report, changed: Callable[[], Awaitable[Any]]) -> None:
    """Call back whenever the files, or what they refer to, have another content; run until cancelled (REF-10).

    Other bytes of the same meaning are no other content. Files that cannot be used are one until what is wrong with
    them differs, so that they are told of once.

    Args:
        files: the files.
        seen: what came of the files when they were read last.
        changed: called after a change, and waited for.
    """
    while True:
        watched = await asyncio.to_thread(places, files.paths)
        notifier = await asyncio.to_thread(_notifier, watched)
        try:
            while True:
                # After the notifier has begun: what happens from here on is heard.
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
    """Waits until something happens in directories."""

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
            # The thread must not outlive its task: the end of the process would wait for it.
            self._stop.set()
            await waiting
            raise

    def close(self) -> None:
        self._rust.close()


class _Deaf:
    """Stands in where the system does not tell what happens."""

    async def wait(self) -> None:
        await asyncio.sleep(_ANYWAY_MS / 1000)

    def close(self) -> None:
        """Nothing is held."""


def _notifier(watched: Iterable[Place]) -> _Notifier | _Deaf:
    try:
        return _Notifier(path for path, _ in watched)
    except FileNotFoundError:
        # It went away in this moment: the places differ when they are looked at next.
        return _Deaf()
    except (OSError, WatchfilesRustInternalError) as error:
        _LOG.warning("files are looked at every %d seconds: they cannot be watched: %s", _ANYWAY_MS // 1000, error)
        return _Deaf()
