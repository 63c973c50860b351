"""Why a request does not become an execution."""

from dataclasses import dataclass
from enum import StrEnum


class RequestRefusalReason(StrEnum):
    """What is wrong with a request."""

    INVALID_VALUE = "invalid_value"
    """A field holds what it must not hold."""

    UNKNOWN_MODEL = "unknown_model"
    """Neither a model group nor a route has this id."""

    CONTEXT_LENGTH = "context_length"
    """The input leaves no room for an answer in the model's context window (POL-06)."""

    UNKNOWN_PRINCIPAL = "unknown_principal"
    """The bearer token is missing, or nobody's (POL-09)."""

    PROVIDER_TOKEN_MISSING = "provider_token_missing"  # noqa: S105 - a reason, not a token
    """The provider wants the caller's own token, and there is none (POL-08)."""

    PROVIDER_TOKEN_INVALID = "provider_token_invalid"  # noqa: S105 - a reason, not a token
    """The caller's own token cannot or must not be forwarded (POL-08)."""


@dataclass(frozen=True, slots=True)
class RequestRefusal:
    """A request that is refused, for a person; `param` is the body's field or the header that is at fault."""

    reason: RequestRefusalReason
    message: str
    param: str | None = None

    def __str__(self) -> str:
        return self.message
