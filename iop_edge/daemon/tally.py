"""Counts what an Edge does, for whoever watches it."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from iop_edge.daemon.coordinator import Request
from iop_edge.ids import NodeId
from iop_edge.push.model import NodeState, Pushed
from iop_edge.refresh.result import Mode, RefreshResult, Status
from iop_edge.runtime.status import ProviderStatus

PUSH_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The upper bounds of the classes that the durations of pushes are counted in, in seconds."""


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
    push_classes: list[int] = field(default_factory=lambda: [0] * (len(PUSH_BOUNDS) + 1))
    push_seconds: float = 0

    def take_result(self, request: Request, result: RefreshResult) -> None:
        """Count a refresh that has ended. One that needs a restart is no success: what was asked for does not run."""
        reason = result.violations[0].rule if result.violations else ""
        self.refreshes[request.mode, result.status, reason] += 1
        if request.mode is Mode.APPLY:
            self.last_apply_at = time.time()
            self.last_apply_succeeded = result.status is Status.APPLIED
            if self.last_apply_succeeded:
                self.last_success_at = self.last_apply_at

    def take_push(self, pushed: Pushed) -> None:
        """Count a push that was sent."""
        self.pushes[pushed.outcome.value if pushed.outcome else "lost"] += 1
        self.push_classes[bisect_left(PUSH_BOUNDS, pushed.seconds)] += 1
        self.push_seconds += pushed.seconds


@dataclass(frozen=True, slots=True)
class Moment:
    """What there is to show at one moment."""

    revision: int
    pending: int
    awaits_confirmation: bool
    nodes: Mapping[NodeId, NodeState]
    providers: tuple[ProviderStatus, ...]
    tally: Tally
