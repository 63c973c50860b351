import pytest

from iop_edge.ids import ModelId, ModelKey
from iop_edge.pool.refusal import Refusal, RefusalReason
from iop_edge.requests.openai_error import openai_error
from iop_edge.requests.request_refusal import RequestRefusal, RequestRefusalReason


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        (RequestRefusalReason.INVALID_VALUE, 400, "invalid_value"),
        (RequestRefusalReason.UNKNOWN_MODEL, 404, "model_not_found"),
        (RequestRefusalReason.CONTEXT_LENGTH, 400, "context_length_exceeded"),
        (RequestRefusalReason.UNKNOWN_PRINCIPAL, 401, "invalid_api_key"),
        (RequestRefusalReason.PROVIDER_TOKEN_MISSING, 401, "provider_token_missing"),
        (RequestRefusalReason.PROVIDER_TOKEN_INVALID, 400, "provider_token_invalid"),
    ],
)
def test_a_refused_request_is_answered_in_openais_manner(reason: RequestRefusalReason, status: int, code: str) -> None:
    error = openai_error(RequestRefusal(reason, "why", "field"))
    assert error.status == status
    assert error.body() == {
        "error": {"message": "why", "type": "invalid_request_error", "param": "field", "code": code}
    }


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        (RefusalReason.UNKNOWN, 404, "model_not_found"),
        (RefusalReason.NO_PROVIDER, 503, "no_provider"),
        (RefusalReason.BUSY, 503, "overloaded"),
        (RefusalReason.QUEUE_FULL, 503, "queue_full"),
        (RefusalReason.TIMEOUT, 503, "queue_timeout"),
        (RefusalReason.CLOSED, 503, "shutting_down"),
    ],
)
def test_a_request_without_a_provider_is_answered_in_openais_manner(
    reason: RefusalReason, status: int, code: str
) -> None:
    refused = Refusal(ModelKey(ModelId("m")), reason)
    error = openai_error(refused)
    assert (error.status, error.code, error.message) == (status, code, str(refused))


def test_only_an_answer_to_a_stranger_asks_for_a_bearer_token() -> None:
    asking = {reason: openai_error(RequestRefusal(reason, "")).headers for reason in RequestRefusalReason}
    assert asking.pop(RequestRefusalReason.UNKNOWN_PRINCIPAL) == {"WWW-Authenticate": "Bearer"}
    assert set(map(len, asking.values())) == {0}


def test_every_reason_has_an_answer() -> None:
    for reason in RequestRefusalReason:
        assert openai_error(RequestRefusal(reason, "")).status >= 400
    for of_pool in RefusalReason:
        assert openai_error(Refusal(ModelKey(ModelId("m")), of_pool)).status >= 400
