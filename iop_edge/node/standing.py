"""How results become health: a few bad ones in a row make a resource unhealthy, a few good ones healthy again.

Nothing here waits or asks: results come in, and the state follows.
"""

from dataclasses import dataclass
from typing import Final

from iop_pb.iop.runtime.v1 import ResourceHealthCheck, ResourceHealthState


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Results in a row that change a state: good ones that make it healthy, bad ones that make it unhealthy."""

    healthy: int
    unhealthy: int

    @classmethod
    def of(cls, check: ResourceHealthCheck) -> "Thresholds":
        """Return what a payload says; one result is the least that can change anything."""
        return cls(max(check.healthy_threshold, 1), max(check.unhealthy_threshold, 1))


@dataclass(frozen=True, slots=True)
class Standing:
    """A state, and how many results in a row have spoken against it."""

    state: ResourceHealthState = ResourceHealthState.UNKNOWN
    against: int = 0

    def after(self, thresholds: Thresholds, *, good: bool) -> "Standing":
        """Return where one more result leads. Of what nothing is known, the first good one makes healthy."""
        if self.state is ResourceHealthState.UNHEALTHY:
            return self._after_bad_times(thresholds) if good else UNHEALTHY
        return HEALTHY if good else self._after_better_times(thresholds)

    def on_trial(self, thresholds: Thresholds) -> "Standing":
        """Return a state in which requests come again, and the next bad result is one too many."""
        return Standing(against=thresholds.unhealthy - 1)

    def _after_bad_times(self, thresholds: Thresholds) -> "Standing":
        against = self.against + 1
        return HEALTHY if against >= thresholds.healthy else Standing(self.state, against)

    def _after_better_times(self, thresholds: Thresholds) -> "Standing":
        against = self.against + 1
        return UNHEALTHY if against >= thresholds.unhealthy else Standing(self.state, against)


UNKNOWN: Final = Standing()
HEALTHY: Final = Standing(ResourceHealthState.HEALTHY)
UNHEALTHY: Final = Standing(ResourceHealthState.UNHEALTHY)
