"""How a refused request is answered: in OpenAI's form."""

import pytest

from iop_edge.errors import RequestRefusedError
from iop_edge.ids import ModelId, ModelKey
from iop_edge.pool.errors import NoProviderError, RefusalReason
from tests.unit.requests.policies import refusals


def test_what_a_policy_refuses_is_answered_with_status_and_code() -> None:
    answers = [(error.status, error.code, error.param) for error in refusals()]
    assert answers == [
        (401, "invalid_api_key", None),
        (404, "model_not_found", "model"),
        (400, "invalid_value", "max_tokens"),
        (400, "context_length_exceeded", "messages"),
        (401, "provider_token_missing", "X-Own"),
        (400, "provider_token_invalid", "X-Own"),
    ]
    for error in refusals():
        assert error.body() == {
            "error": {
                "message": str(error),
                "type": "invalid_request_error",
                "param": error.param,
                "code": error.code,
            }
        }


@pytest.mark.parametrize(
    ("reason", "status", "code", "retry_after"),
    [
        (RefusalReason.UNKNOWN, 404, "model_not_found", None),
        (RefusalReason.NO_PROVIDER, 503, "no_provider", None),
        (RefusalReason.BUSY, 503, "overloaded", 1),
        (RefusalReason.QUEUE_FULL, 503, "queue_full", 1),
        (RefusalReason.TIMEOUT, 503, "queue_timeout", 1),
        (RefusalReason.CLOSED, 503, "shutting_down", None),
    ],
)
def test_a_request_without_a_provider_is_answered_with_status_and_code(
    reason: RefusalReason, status: int, code: str, retry_after: int | None
) -> None:
    error: RequestRefusedError = NoProviderError(ModelKey(ModelId("m")), reason)
    kind = "server_error" if status == 503 else "invalid_request_error"
    assert (error.status, error.code, error.retry_after) == (status, code, retry_after)
    assert error.body()["error"] == {
        "message": str(error),
        "type": kind,
        "param": "model" if reason is RefusalReason.UNKNOWN else None,
        "code": code,
    }
    assert error.headers == ({"Retry-After": "1"} if retry_after else {})


def test_every_reason_of_the_pool_has_an_answer() -> None:
    for reason in RefusalReason:
        assert NoProviderError(ModelKey(ModelId("m")), reason).status >= 400


def test_only_an_answer_to_an_unknown_caller_asks_for_a_bearer_token() -> None:
    asking = [error.code for error in refusals() if "WWW-Authenticate" in error.headers]
    assert asking == ["invalid_api_key"]
