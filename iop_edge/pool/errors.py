"""Why a request gets no provider."""

from enum import StrEnum
from typing import Final

from iop_edge.errors import RequestRefusedError
from iop_edge.ids import DispatchKey


class RefusalReason(StrEnum):
    """Why the pool refuses a request."""

    UNKNOWN = "unknown"
    """There is no such model group or route, or it was removed while the request waited."""

    NO_PROVIDER = "no_provider"
    """Every provider is disabled, unreachable, unhealthy, or avoided by the request."""

    BUSY = "busy"
    """Every provider is busy, and the request does not wait."""

    QUEUE_FULL = "queue_full"
    """Every provider is busy, and its queue is full."""

    TIMEOUT = "timeout"
    """The request has waited as long as its queues allow."""

    CLOSED = "closed"
    """The Edge is stopping."""


# A full pool is the server's state, not the caller's doing: clients retry after a 503 as they do after a 429.
_ANSWERS: Final = {
    RefusalReason.UNKNOWN: (404, "model_not_found", "there is no {key}"),
    RefusalReason.NO_PROVIDER: (503, "no_provider", "every provider{of} is disabled, unreachable or unhealthy"),
    RefusalReason.BUSY: (503, "overloaded", "every provider{of} is busy"),
    RefusalReason.QUEUE_FULL: (503, "queue_full", "every provider{of} is busy, and its queue is full"),
    RefusalReason.TIMEOUT: (503, "queue_timeout", "no provider{of} became free in time"),
    RefusalReason.CLOSED: (503, "shutting_down", "the Edge is stopping"),
}
_PASSING: Final = frozenset({RefusalReason.BUSY, RefusalReason.QUEUE_FULL, RefusalReason.TIMEOUT})
_RETRY_AFTER: Final = 1


def refusal_text(reason: RefusalReason, key: DispatchKey | None = None) -> str:
    """Return why the pool refuses a request; for an unknown model, the requested key must be given."""
    return _ANSWERS[reason][2].format(key=key, of=f" of {key}" if key else "")


class NoProviderError(RequestRefusedError):
    """No provider takes the request.

    Attributes:
        key: the requested model group or route.
        reason: why. `BUSY`, `QUEUE_FULL` and `TIMEOUT` pass as running requests end.
    """

    def __init__(self, key: DispatchKey, reason: RefusalReason) -> None:
        status, code, _ = _ANSWERS[reason]
        super().__init__(
            refusal_text(reason, key),
            status=status,
            code=code,
            param="model" if reason is RefusalReason.UNKNOWN else None,
            retry_after=_RETRY_AFTER if reason in _PASSING else None,
        )
        self.key = key
        self.reason = reason
