"""Looks after the health of a Node's resources for as long as they run."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from iop_edge.ids import ProviderId
from iop_edge.node.health import HealthBook
from iop_edge.node.probe import Finding, Probe, probe_of
from iop_edge.node.subject import Subject
from iop_pb.iop.config.v1 import HealthMode

FIRST_WITHIN_SECONDS: Final = 1.0
"""The first probes of a payload are spread over this time, so that they do not all begin at once."""

_log = logging.getLogger(__name__)


class Asker(Protocol):
    """Asks backends."""

    async def ask(self, probe: Probe) -> Finding:
        """Ask once; what goes wrong is a finding too."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Where time and chance come from, in seconds and from 0 to 1."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random


class HealthKeeper:
    """Keeps a task for each resource that needs one: it ends with the generation that has it no more, or changed.

    An active resource is probed, at its interval, one probe at a time. A passive one that is unhealthy gets no
    requests that could show that it is well again: after its interval it is put on trial.

    Args:
        book: where results are noted.
        asker: asks backends.
        pace: time and chance.
    """

    def __init__(self, book: HealthBook, asker: Asker, pace: Pace) -> None:
        self._book = book
        self._asker = asker
        self._pace = pace
        self._kept: dict[ProviderId, tuple[Subject, asyncio.Task[None]]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def follow(self, subjects: Iterable[Subject]) -> None:
        """Look after these from now on; one that stays as it was goes on undisturbed. The book has them already."""
        old, self._kept = self._kept, {}
        for subject in subjects:
            kept = old.get(subject.provider_id)
            if kept is not None and kept[0] == subject:
                self._kept[subject.provider_id] = old.pop(subject.provider_id)
            elif (work := self._work(subject)) is not None:
                task = asyncio.create_task(work, name=f"the health check of {subject.provider_id}")
                task.add_done_callback(_tell_of_fault)
                self._kept[subject.provider_id] = subject, task
        for _, task in old.values():
            self._end(task)

    async def close(self) -> None:
        """End all tasks, and with them what they were asking."""
        self.follow(())
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _work(self, subject: Subject) -> Coroutine[None, None, None] | None:
        if subject.mode is HealthMode.PASSIVE:
            return self._try_again(subject)
        probe = probe_of(subject)
        return self._probe(subject, probe) if probe is not None else None

    async def _probe(self, subject: Subject, probe: Probe) -> None:
        interval = subject.check.interval_ms / 1000
        await self._pace.sleep(self._pace.chance() * min(interval, FIRST_WITHIN_SECONDS))
        while True:
            due = self._pace.clock() + interval
            good, detail = await self._asker.ask(probe)
            self._book.observe(subject.provider_id, good=good, detail=detail)
            await self._pace.sleep(max(0.0, due - self._pace.clock()))

    async def _try_again(self, subject: Subject) -> None:
        while True:
            await self._book.unhealthy(subject.provider_id)
            await self._pace.sleep(subject.check.interval_ms / 1000)
            self._book.put_on_trial(subject.provider_id)

    def _end(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _tell_of_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        # Only its kind: texts of foreign errors quote what they were given.
        _log.error("%s ended by a fault of the Node's own: %s", task.get_name(), type(error).__name__)
