"""Why a request got no provider."""

from dataclasses import dataclass
from enum import StrEnum

from iop_edge.errors import EdgeError
from iop_edge.ids import ModelId


class RefusalReason(StrEnum):
    """What stood in the way."""

    UNKNOWN_MODEL = "unknown_model"
    NO_PROVIDER = "no_provider"
    BUSY = "busy"


_PROSE = {
    RefusalReason.UNKNOWN_MODEL: "no model group has the id {model!r}",
    RefusalReason.NO_PROVIDER: "every provider of model {model!r} is disabled, unreachable or unhealthy",
    RefusalReason.BUSY: "every provider of model {model!r} has as many requests as it takes",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that no provider takes now. Only `BUSY` passes by itself, when a request ends."""

    model_id: ModelId
    reason: RefusalReason

    def __str__(self) -> str:
        return _PROSE[self.reason].format(model=self.model_id)


class NoProviderError(EdgeError):
    """No provider takes the request; `refusal` says why."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
