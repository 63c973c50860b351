"""Counts what an Edge does, for whoever watches it."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self

from iop_edge.edge.coordinator import Request
from iop_edge.ids import DispatchKey, NodeId
from iop_edge.pool.lease import Lease
from iop_edge.pool.refusal import Refusal, RefusalReason
from iop_edge.pool.status import ProviderStatus
from iop_edge.push.model import NodeState, Pushed
from iop_edge.refresh.result import Mode, RefreshResult, Status

PUSH_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
WAIT_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The upper bounds of the classes that durations are counted in, in seconds."""


class Durations:
    """How many durations fell in each class, the last without a bound, and their sum in seconds."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.classes = [0] * (len(bounds) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.classes[bisect_left(self.bounds, seconds)] += 1
        self.seconds += seconds

    def copied(self) -> Self:
        """Return a copy that does not change."""
        copy = type(self)(self.bounds)
        copy.classes, copy.seconds = self.classes.copy(), self.seconds
        return copy


class QueueTally:
    """What has become of requests that were not served at once: an observer of the pool.

    Counters are by what was asked for, and a word. What the config does not have is counted without its name, which is
    the caller's to choose; so nobody who asks can make them more.
    """

    def __init__(self) -> None:
        self.waits: Counter[tuple[DispatchKey | None, str]] = Counter()
        self.refusals: Counter[tuple[DispatchKey | None, str]] = Counter()
        self.wait_durations = Durations(WAIT_BOUNDS)

    def take_wait(self, key: DispatchKey, outcome: Lease | Refusal | None, seconds: float) -> None:
        """Count a wait that has ended."""
        if isinstance(outcome, Refusal):
            self.waits[_bounded(outcome), outcome.reason.value] += 1
        else:
            self.waits[key, "cancelled" if outcome is None else "granted"] += 1
        self.wait_durations.add(seconds)

    def take_refusal(self, refusal: Refusal) -> None:
        """Count a request that was refused before it waited."""
        self.refusals[_bounded(refusal), refusal.reason.value] += 1

    def copied(self) -> Self:
        """Return a copy that does not change; its keys, of which there may be thousands, are the same ones."""
        copy = type(self)()
        copy.waits, copy.refusals = self.waits.copy(), self.refusals.copy()
        copy.wait_durations = self.wait_durations.copied()
        return copy

    def keep(self, keys: Container[DispatchKey]) -> None:
        """Forget the counters of all but these model groups and routes."""
        for counter in (self.waits, self.refusals):
            for entry in [entry for entry in counter if entry[0] is not None and entry[0] not in keys]:
                del counter[entry]


def _bounded(refusal: Refusal) -> DispatchKey | None:
    return None if refusal.reason is RefusalReason.UNKNOWN else refusal.key


@dataclass(slots=True)
class Tally:
    """What has happened since the start.

    `refreshes` counts by mode, status and reason: the first rule that a rejected candidate broke, and nothing else, so
    that no text of a config ever becomes a label. `last_apply_at` is in seconds since 1970 UTC; 0: there was none.
    """

    refreshes: Counter[tuple[Mode, Status, str]] = field(default_factory=Counter)
    last_apply_at: float = 0
    last_apply_succeeded: bool = True
    last_success_at: float = 0
    pushes: Counter[str] = field(default_factory=Counter)
    push_durations: Durations = field(default_factory=lambda: Durations(PUSH_BOUNDS))
    queues: QueueTally = field(default_factory=QueueTally)

    def take_result(self, request: Request, result: RefreshResult) -> None:
        """Count a refresh that has ended. One that needs a restart is no success: what was asked for does not run."""
        reason = result.violations[0].rule if result.violations else ""
        self.refreshes[request.mode, result.status, reason] += 1
        if request.mode is Mode.APPLY:
            self.last_apply_at = time.time()
            self.last_apply_succeeded = result.status is Status.APPLIED
            if self.last_apply_succeeded:
                self.last_success_at = self.last_apply_at

    def copied(self) -> Self:
        """Return a copy that does not change."""
        return replace(
            self,
            refreshes=self.refreshes.copy(),
            pushes=self.pushes.copy(),
            push_durations=self.push_durations.copied(),
            queues=self.queues.copied(),
        )

    def take_push(self, pushed: Pushed) -> None:
        """Count a push that was sent."""
        self.pushes[pushed.outcome.value if pushed.outcome else "lost"] += 1
        self.push_durations.add(pushed.seconds)


@dataclass(frozen=True, slots=True)
class Moment:
    """What there is to show at one moment."""

    revision: int
    pending: int
    awaits_confirmation: bool
    nodes: Mapping[NodeId, NodeState]
    providers: tuple[ProviderStatus, ...]
    tally: Tally
