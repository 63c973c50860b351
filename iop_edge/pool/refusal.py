"""Why a request got no provider."""

from dataclasses import dataclass
from enum import StrEnum

from iop_edge.errors import EdgeError
from iop_edge.ids import DispatchKey


class RefusalReason(StrEnum):
    """What stood in the way."""

    UNKNOWN = "unknown"
    """There is no such model group or route; also: it was removed while the request waited."""

    NO_PROVIDER = "no_provider"
    """Every provider is disabled, unreachable, unhealthy, gone or not wanted by the request."""

    BUSY = "busy"
    """Every provider is full, and the request was not to wait."""

    QUEUE_FULL = "queue_full"
    """Every provider is full, and so is its queue."""

    TIMEOUT = "timeout"
    """The request has waited as long as it may."""

    CLOSED = "closed"
    """The pool is closed: the Edge stops."""


_PROSE = {
    RefusalReason.UNKNOWN: "there is no {key}",
    RefusalReason.NO_PROVIDER: "every provider of {key} is disabled, unreachable or unhealthy",
    RefusalReason.BUSY: "every provider of {key} has as many requests as it takes",
    RefusalReason.QUEUE_FULL: "every provider of {key} is busy, and as many requests wait as may",
    RefusalReason.TIMEOUT: "no provider of {key} became free in time",
    RefusalReason.CLOSED: "no new request is taken for {key}: the Edge stops",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that no provider takes. `BUSY`, `QUEUE_FULL` and `TIMEOUT` pass by themselves, when requests end."""

    key: DispatchKey
    reason: RefusalReason

    def __str__(self) -> str:
        return _PROSE[self.reason].format(key=self.key)


class NoProviderError(EdgeError):
    """No provider takes the request; `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
