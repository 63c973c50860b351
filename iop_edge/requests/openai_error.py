"""Refusals as an OpenAI-compatible front answers them."""

from dataclasses import dataclass
from typing import Any, Final

from iop_edge.pool.refusal import Refusal, RefusalReason
from iop_edge.requests.request_refusal import RequestRefusal, RequestRefusalReason

_INVALID: Final = "invalid_request_error"
_SERVER: Final = "server_error"
_NO_PRINCIPAL: Final = "invalid_api_key"


@dataclass(frozen=True, slots=True)
class OpenAIError:
    """An error answer: the HTTP status, and what stands in the body under `error`."""

    status: int
    type: str
    code: str
    message: str
    param: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the answer needs beside those of its body."""
        return {"WWW-Authenticate": "Bearer"} if self.code == _NO_PRINCIPAL else {}

    def body(self) -> dict[str, Any]:
        """Return the body, ready to be written as JSON."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


_OF_REQUESTS: Final = {
    RequestRefusalReason.INVALID_VALUE: (400, _INVALID, "invalid_value"),
    RequestRefusalReason.UNKNOWN_MODEL: (404, _INVALID, "model_not_found"),
    RequestRefusalReason.CONTEXT_LENGTH: (400, _INVALID, "context_length_exceeded"),
    RequestRefusalReason.UNKNOWN_PRINCIPAL: (401, _INVALID, _NO_PRINCIPAL),
    RequestRefusalReason.PROVIDER_TOKEN_MISSING: (401, _INVALID, "provider_token_missing"),
    RequestRefusalReason.PROVIDER_TOKEN_INVALID: (400, _INVALID, "provider_token_invalid"),
}

# A full pool is the server's state, not the caller's doing: clients try again after a 503 as after a 429.
_OF_THE_POOL: Final = {
    RefusalReason.UNKNOWN: (404, _INVALID, "model_not_found"),
    RefusalReason.NO_PROVIDER: (503, _SERVER, "no_provider"),
    RefusalReason.BUSY: (503, _SERVER, "overloaded"),
    RefusalReason.QUEUE_FULL: (503, _SERVER, "queue_full"),
    RefusalReason.TIMEOUT: (503, _SERVER, "queue_timeout"),
    RefusalReason.CLOSED: (503, _SERVER, "shutting_down"),
}


def openai_error(refusal: RequestRefusal | Refusal) -> OpenAIError:
    """Return the error answer to a request that the config, or the pool, refuses."""
    if isinstance(refusal, RequestRefusal):
        return OpenAIError(*_OF_REQUESTS[refusal.reason], refusal.message, refusal.param)
    param = "model" if refusal.reason is RefusalReason.UNKNOWN else None
    return OpenAIError(*_OF_THE_POOL[refusal.reason], str(refusal), param)
