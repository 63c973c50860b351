"""An applied config that goes by itself again unless somebody confirms it.

It is for changes that could shut out whoever makes them: no confirmation is what comes of that. The wait belongs to the
process. A restart ends it, since then the files decide (REF-10).
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.coordinator import Load, Origin, Request, fault_text
from iop_edge.edge.rejection import rejection
from iop_edge.edge.running import Running
from iop_edge.refresh.result import Mode, RefreshOptions, RefreshResult, Status, Trigger

_LOG: Final = logging.getLogger(__name__)
_LONGEST_MS: Final = 366 * 24 * 3600 * 1000

Submit = Callable[[Load, Mode, RefreshOptions, Origin], Awaitable[RefreshResult]]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Awaited:
    """The running revision, what comes back unless it is confirmed, and when, in milliseconds since 1970 UTC."""

    revision: int
    reverts_to: Running
    until_ms: int


class Confirmation:
    """Watches over the one revision that has to be confirmed.

    Args:
        submit: proposes a config.
        sleep: waits for seconds.
    """

    def __init__(self, submit: Submit, sleep: Sleep = asyncio.sleep) -> None:
        self._submit = submit
        self._sleep = sleep
        self._awaited: Awaited | None = None
        self._timer: asyncio.Task[None] | None = None
        self._is_reverting = False
        self._confirmed = 0

    @property
    def awaited(self) -> Awaited | None:
        """What has to be confirmed; None where nothing has."""
        return self._awaited

    def take(self, request: Request, result: RefreshResult, before: Running) -> None:
        """Take up what a refresh means for the wait.

        One that commits and asks for a confirmation begins it. While one waits already, the wait begins anew and the
        config that comes back stays the one that was confirmed last; a refresh without a change asks again likewise.
        One that commits and asks for none ends it: whoever sent that has looked.
        """
        within_ms = min(request.options.confirm_within_ms, _LONGEST_MS)
        awaited = self._awaited
        if request.mode is Mode.DRY_RUN or result.status is Status.REJECTED:
            return
        if result.committed and not within_ms:
            self._end()
        elif within_ms and (result.committed or (awaited and result.status is Status.APPLIED)):
            self._end()
            base = awaited.reverts_to if awaited else before
            self._begin(Awaited(result.revision_after, base, 0), within_ms)

    def confirm(self, running: int, expected: int | None) -> bool:
        """Keep the running revision, if it is the expected one; return whether it has been confirmed, now or before."""
        if expected is not None and expected != running:
            return False
        if self._awaited is not None and not self._is_reverting:
            self._confirmed = self._awaited.revision
            self._end()
        return self._confirmed == running

    async def close(self) -> None:
        """End the wait; nothing is reverted any more."""
        timer = self._timer
        self._end()
        if timer is not None:
            with suppress(asyncio.CancelledError):
                await timer

    def _begin(self, awaited: Awaited, within_ms: int) -> None:
        self._postpone(awaited, within_ms)
        self._timer = asyncio.create_task(self._revert_after(within_ms))

    def _postpone(self, awaited: Awaited, within_ms: int) -> None:
        self._awaited = replace(awaited, until_ms=time.time_ns() // 1_000_000 + within_ms)

    def _end(self) -> None:
        self._awaited = None
        if self._timer is not None and not self._is_reverting:
            self._timer.cancel()
        self._timer = None

    async def _revert_after(self, within_ms: int) -> None:
        """Revert when the time is over; where that is rejected, as by a Node, try again after as long a time."""
        while True:
            await self._sleep(within_ms / 1000)
            awaited = self._awaited
            if awaited is None:
                return
            _LOG.warning("revision %d was not confirmed: reverting it", awaited.revision)
            if await self._revert(awaited) or self._awaited is not awaited:
                return
            self._postpone(awaited, within_ms)

    async def _revert(self, awaited: Awaited) -> bool:
        def load() -> Snapshot:
            # In the turn of the revert: until now it could be confirmed.
            if self._awaited is not awaited:
                raise rejection("refresh.confirmed", "the revision has been confirmed or replaced meanwhile")
            self._is_reverting = True
            return awaited.reverts_to.snapshot

        options = RefreshOptions(expected_revision=awaited.revision)
        try:
            result = await self._submit(load, Mode.APPLY, options, Origin(trigger=Trigger.REVERT))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again
            _LOG.error("revision %d could not be reverted: %s", awaited.revision, fault_text(error))
            return False
        finally:
            self._is_reverting = False
        if result.status is Status.REJECTED:
            return False
        if self._awaited is awaited:
            # Nothing had to change: what comes back runs already.
            self._awaited = self._timer = None
        return True
