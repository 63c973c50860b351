"""Reverts an applied config that is not confirmed in time.

It is for changes that could lock out whoever makes them: unconfirmed, they are undone. The wait belongs to the process;
a restart ends it, since then the files decide (REF-10).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from iop_edge.clock import Clock
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.coordinator import Origin, Request, fault_text
from iop_edge.edge.running import Running, rejection
from iop_edge.refresh.result import Mode, RefreshOptions, RefreshResult, Status, Trigger
from iop_edge.rules import Rule

_LOG: Final = logging.getLogger(__name__)
_LONGEST_MS: Final = 366 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Awaited:
    """A revision that awaits confirmation, what it is reverted to otherwise, and when, in Unix milliseconds."""

    revision: int
    reverts_to: Running
    until_ms: int


class Confirmation:
    """Reverts the running revision if it is not confirmed in time.

    Args:
        refresh: carries out a refresh.
        clock: the source of time.
    """

    def __init__(self, refresh: Callable[[Request], Awaitable[RefreshResult]], clock: Clock) -> None:
        self._refresh = refresh
        self._clock = clock
        self._awaited: Awaited | None = None
        self._timer: asyncio.Task[None] | None = None
        self._is_reverting = False
        self._confirmed = 0

    @property
    def awaited(self) -> Awaited | None:
        """What awaits confirmation; None if nothing does."""
        return self._awaited

    def take(self, request: Request, result: RefreshResult, before: Running) -> None:
        """Begin, restart or end the wait after a refresh.

        A refresh that commits and asks for confirmation begins a wait. If there is one already, it starts over, and the
        config to revert to stays the one confirmed last; a refresh that changes nothing restarts a wait too. A refresh
        that commits without asking for confirmation ends the wait: whoever sent it is not locked out.
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
        """Keep the running revision if it is the expected one; return whether it is confirmed, now or before."""
        if expected is not None and expected != running:
            return False
        if self._awaited is not None and not self._is_reverting:
            self._confirmed = self._awaited.revision
            self._end()
        return self._confirmed == running

    async def close(self) -> None:
        """End the wait without reverting anything."""
        timer = self._timer
        self._end()
        if timer is not None:
            with suppress(asyncio.CancelledError):
                await timer

    def _begin(self, awaited: Awaited, within_ms: int) -> None:
        self._postpone(awaited, within_ms)
        self._timer = asyncio.create_task(self._revert_after(within_ms))

    def _postpone(self, awaited: Awaited, within_ms: int) -> None:
        self._awaited = replace(awaited, until_ms=self._clock.wall_ms() + within_ms)

    def _end(self) -> None:
        self._awaited = None
        if self._timer is not None and not self._is_reverting:
            self._timer.cancel()
        self._timer = None

    async def _revert_after(self, within_ms: int) -> None:
        """Revert when the time is over. If that is rejected, by a Node for instance, try again after the same time."""
        while True:
            await self._clock.sleep(within_ms / 1000)
            awaited = self._awaited
            if awaited is None:
                return
            _LOG.warning("revision %d was not confirmed: reverting it", awaited.revision)
            if await self._revert(awaited) or self._awaited is not awaited:
                return
            self._postpone(awaited, within_ms)

    async def _revert(self, awaited: Awaited) -> bool:
        def load() -> Snapshot:
            # The turn of the revert has come; until now the revision could be confirmed.
            if self._awaited is not awaited:
                raise rejection(Rule.REFRESH_CONFIRMED, "the revision has been confirmed or replaced in the meantime")
            self._is_reverting = True
            return awaited.reverts_to.snapshot

        options = RefreshOptions(expected_revision=awaited.revision)
        try:
            result = await self._refresh(Request(load, Mode.APPLY, options, Origin(trigger=Trigger.REVERT)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the revert is tried again
            _LOG.error("revision %d could not be reverted: %s", awaited.revision, fault_text(error))
            return False
        finally:
            self._is_reverting = False
        if result.status is Status.REJECTED:
            return False
        if self._awaited is awaited:
            # Nothing had to change: the config to revert to is running already.
            self._awaited = self._timer = None
        return True
