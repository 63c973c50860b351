"""What the config makes of a request."""

import copy
import hashlib
import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from iop_edge.ids import ModelId, ProviderId, RouteId
from iop_edge.load.snapshot import Snapshot
from iop_edge.runtime.keys import ModelKey, RouteKey
from iop_edge.runtime.prepare import Execution, RequestPolicy
from iop_edge.runtime.request import RequestFacts
from iop_edge.runtime.request_refusal import RequestRefusal, RequestRefusalReason

TOKEN = "principal-token-of-alice"
OWN = "own-provider-token"
AUTH = {"from_header": "X-Own", "target_header": "Authorization", "scheme": "Bearer", "required": True}


def policy(
    *,
    tokens: tuple[str, ...] = (),
    routes: tuple[str, ...] = (),
    auth: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
) -> RequestPolicy:
    front: dict[str, Any] = {
        "model_routes": [{"model": name, "adapter": "v", "target": "t"} for name in routes],
        "principal_tokens": [
            {
                "token_ref": f"ref-{number}",
                "token_hash_sha256": hashlib.sha256(token.encode()).hexdigest(),
                "principal_ref": "alice",
                "principal_alias": "Alice",
            }
            for number, token in enumerate(tokens)
        ],
        "provider_auth": {"enabled": True, **AUTH, **auth} if auth is not None else {"enabled": False},
    }
    models = [{"id": "m", "usage_attribution": {"team": "x"}, **(model or {})}]
    return RequestPolicy.of(Snapshot({"openai": front, "models": models, "long_context_threshold_tokens": 1000}))


def facts(model: object = "m", headers: Any = (), estimated: int = 10, **limits: object) -> RequestFacts:
    return RequestFacts(model, headers, estimated, **limits)


def execution(outcome: Execution | RequestRefusal) -> Execution:
    assert isinstance(outcome, Execution), outcome
    return outcome


def refusal(outcome: object) -> RequestRefusal:
    assert isinstance(outcome, RequestRefusal), outcome
    return outcome


@pytest.mark.contract("POL-10")
def test_a_name_means_a_model_group_first_then_a_route_and_never_a_provider() -> None:
    rules = policy(routes=("m", "r"))
    assert execution(rules.prepare(facts("m"))).key == ModelKey(ModelId("m"))
    assert execution(rules.prepare(facts("r"))).key == RouteKey(RouteId("r"))
    assert len({ModelKey(ModelId("m")), RouteKey(RouteId("m"))}) == 2
    assert rules.names() == ("m", "r")


@pytest.mark.contract("POL-10")
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("nope", RequestRefusalReason.UNKNOWN_MODEL),
        ("M", RequestRefusalReason.UNKNOWN_MODEL),
        ("x" * 100_000, RequestRefusalReason.UNKNOWN_MODEL),
        ("", RequestRefusalReason.INVALID_VALUE),
        (None, RequestRefusalReason.INVALID_VALUE),
        (["m"], RequestRefusalReason.INVALID_VALUE),
        ({}, RequestRefusalReason.INVALID_VALUE),
    ],
)
def test_what_names_no_model_is_refused(model: object, reason: RequestRefusalReason) -> None:
    refused = refusal(policy().prepare(facts(model)))
    assert (refused.reason, refused.param) == (reason, "model")
    assert len(str(refused)) < 400


_ALL = {"context_window_tokens": 1000, "default_max_tokens": 400, "min_max_tokens": 100}


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize(
    ("model", "estimated", "asked", "expected"),
    [
        ({}, 10, {}, None),
        ({}, 10, {"max_tokens": 7}, 7),
        ({}, 10, {"max_completion_tokens": 7}, 7),
        ({}, 10, {"max_tokens": 7, "max_completion_tokens": 7}, 7),
        ({}, 10, {"max_tokens": None, "max_completion_tokens": None}, None),
        ({"default_max_tokens": 400}, 10, {}, 400),
        ({"default_max_tokens": 400}, 10, {"max_tokens": None}, 400),
        ({"default_max_tokens": 400}, 10, {"max_tokens": 500}, 500),
        ({"min_max_tokens": 100}, 10, {"max_tokens": 1}, 100),
        ({"min_max_tokens": 100}, 10, {"max_tokens": 101}, 101),
        ({"min_max_tokens": 100}, 10, {}, None),
        ({"min_max_tokens": 100, "default_max_tokens": 100}, 10, {}, 100),
        (_ALL, 600, {}, 400),
        (_ALL, 601, {}, 399),
        (_ALL, 900, {}, 100),
        (_ALL, 900, {"max_tokens": 5000}, 100),
        (_ALL, 0, {"max_tokens": 2**40}, 1000),
        ({"context_window_tokens": 1000}, 999, {"max_tokens": 50}, 1),
        ({"context_window_tokens": 1000}, 999, {}, None),
    ],
)
def test_max_tokens_are_filled_in_raised_and_lowered(
    model: dict[str, int], estimated: int, asked: dict[str, int | None], expected: int | None
) -> None:
    prepared = execution(policy(model=model).prepare(facts(estimated=estimated, **asked)))
    assert prepared.max_tokens == expected


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize(
    ("model", "estimated"),
    [
        (_ALL, 901),
        (_ALL, 1000),
        (_ALL, 10**9),
        ({"context_window_tokens": 1000}, 1000),
        ({"context_window_tokens": 1000}, 1001),
    ],
)
def test_an_input_that_leaves_no_room_is_refused_with_the_numbers(model: dict[str, int], estimated: int) -> None:
    refused = refusal(policy(model=model).prepare(facts(estimated=estimated, max_tokens=5)))
    assert refused.reason is RequestRefusalReason.CONTEXT_LENGTH
    assert "1000" in refused.message
    assert str(estimated) in refused.message
    assert str(model.get("min_max_tokens", 1)) in refused.message


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("value", [0, -1, True, False, 1.5, 10.0, "100", [], {}, 2**63, 10**400])
def test_a_limit_that_is_none_is_a_bad_request(name: str, value: object) -> None:
    limits: dict[str, Any] = {name: value}
    refused = refusal(policy(model=_ALL).prepare(facts(**limits)))
    assert (refused.reason, refused.param) == (RequestRefusalReason.INVALID_VALUE, name)


@pytest.mark.contract("POL-06")
def test_two_limits_that_differ_are_a_bad_request() -> None:
    refused = refusal(policy().prepare(facts(max_tokens=5, max_completion_tokens=6)))
    assert (refused.reason, refused.param) == (RequestRefusalReason.INVALID_VALUE, "max_completion_tokens")


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize(
    ("model", "asked", "expected"),
    [
        ({}, {}, None),
        ({"default_thinking_token_budget": 50}, {}, 50),
        ({"default_thinking_token_budget": 50}, {"thinking_token_budget": None}, 50),
        ({"default_thinking_token_budget": 50}, {"thinking_token_budget": 0}, 0),
        ({"default_thinking_token_budget": 0}, {}, 0),
        ({}, {"thinking_token_budget": 9}, 9),
    ],
)
def test_a_thinking_budget_is_filled_in(model: dict[str, int], asked: dict[str, Any], expected: int | None) -> None:
    assert execution(policy(model=model).prepare(facts(**asked))).thinking_token_budget == expected


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize("value", [-1, True, "5", 0.5])
def test_a_thinking_budget_that_is_none_is_a_bad_request(value: object) -> None:
    refused = refusal(policy().prepare(facts(thinking_token_budget=value)))
    assert refused.param == "thinking_token_budget"


@pytest.mark.contract("POL-07")
@pytest.mark.parametrize(("estimated", "expected"), [(0, False), (999, False), (1000, True), (1001, True)])
def test_a_request_is_long_context_from_the_threshold_on(estimated: int, expected: bool) -> None:
    assert execution(policy().prepare(facts(estimated=estimated))).is_long_context is expected


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {TOKEN}"},
        {"authorization": f"bearer {TOKEN}"},
        [("AUTHORIZATION", f"  BEARER   {TOKEN}  ")],
    ],
)
def test_a_bearer_token_stands_for_its_principal(headers: Any) -> None:
    principal = execution(policy(tokens=("another", TOKEN, "last")).prepare(facts(headers=headers))).principal
    assert principal is not None
    assert (principal.ref, principal.alias, principal.token_ref) == ("alice", "Alice", "ref-1")


@pytest.mark.contract("POL-09")
@pytest.mark.case("A8")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {hashlib.sha256(TOKEN.encode()).hexdigest()}"},
        {"Authorization": "Bearer \udcff\x00"},
        {"X-Authorization": f"Bearer {TOKEN}"},
        [("Authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer stranger")],
        [("Authorization", "Bearer stranger"), ("authorization", f"Bearer {TOKEN}")],
    ],
)
def test_without_the_one_right_token_nobody_gets_in(headers: Any) -> None:
    refused = refusal(policy(tokens=(TOKEN,)).prepare(facts("no such model either", headers=headers)))
    assert refused.reason is RequestRefusalReason.UNKNOWN_PRINCIPAL
    assert TOKEN not in str(refused)


@pytest.mark.contract("POL-09")
def test_where_the_config_knows_no_tokens_everybody_gets_in() -> None:
    assert execution(policy().prepare(facts(headers={"Authorization": "Bearer whatever"}))).principal is None


@pytest.mark.contract("POL-09")
def test_all_hashes_are_compared_wherever_the_right_one_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def compare(known: bytes, presented: bytes) -> bool:
        compared.append(known)
        return known == presented

    monkeypatch.setattr("iop_edge.runtime.principals.hmac.compare_digest", compare)
    rules = policy(tokens=(TOKEN, "b", "c"))
    execution(rules.prepare(facts(headers={"Authorization": f"Bearer {TOKEN}"})))
    assert len(compared) == 3


def sent(auth: Mapping[str, Any], headers: Any, configured: Mapping[str, str], category: str = "api") -> Any:
    rules = policy(tokens=(TOKEN,), auth=auth)
    pairs = list(headers.items() if isinstance(headers, dict) else headers)
    outcome = rules.prepare(facts(headers=[("Authorization", f"Bearer {TOKEN}"), *pairs]))
    if isinstance(outcome, RequestRefusal):
        return outcome
    return outcome.headers_for(ProviderId("p"), category, configured)


@pytest.mark.contract("POL-08")
@pytest.mark.case("A6")
@pytest.mark.parametrize(
    ("auth", "headers", "configured", "expected"),
    [
        ({}, {"x-own": OWN}, {}, {"Authorization": f"Bearer {OWN}"}),
        ({}, {"X-Own": f"Bearer {OWN}"}, {}, {"Authorization": f"Bearer {OWN}"}),
        ({}, {"X-Own": OWN}, {"authorization": "Bearer k", "X-T": "1"}, {"X-T": "1", "Authorization": f"Bearer {OWN}"}),
        ({"scheme": ""}, {"X-Own": OWN}, {}, {"Authorization": OWN}),
        (
            {"scheme": "Token", "target_header": "X-Key"},
            {"X-Own": OWN},
            {"Authorization": "k"},
            {"Authorization": "k", "X-Key": f"Token {OWN}"},
        ),
        ({"required": False}, {}, {"Authorization": "Bearer k"}, {"Authorization": "Bearer k"}),
        ({"required": False}, {"X-Own": "  "}, {"A": "b"}, {"A": "b"}),
        ({"providers": ["p"]}, {"X-Own": OWN}, {}, {"Authorization": f"Bearer {OWN}"}),
        ({"providers": ["other"]}, {"X-Own": OWN}, {"Authorization": "k"}, {"Authorization": "k"}),
    ],
)
def test_the_callers_own_token_takes_the_place_of_a_configured_one(
    auth: dict[str, Any], headers: dict[str, str], configured: dict[str, str], expected: dict[str, str]
) -> None:
    assert sent(auth, headers, configured) == expected


@pytest.mark.contract("POL-08")
@pytest.mark.case("A6")
@pytest.mark.parametrize("category", ["cli", "local_inference"])
def test_the_callers_own_token_goes_to_no_other_kind_of_provider(category: str) -> None:
    assert sent({}, {"X-Own": OWN}, {"Authorization": "k"}, category) == {"Authorization": "k"}


@pytest.mark.contract("POL-08")
def test_where_forwarding_is_off_nothing_of_the_caller_is_sent() -> None:
    prepared = execution(policy().prepare(facts(headers={"X-Own": OWN, "X-IOP-Provider-Authorization": OWN})))
    assert prepared.headers_for(ProviderId("p"), "api", {"A": "b"}) == {"A": "b"}


@pytest.mark.contract("POL-08")
@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, RequestRefusalReason.PROVIDER_TOKEN_MISSING),
        ({"X-Own": " \t"}, RequestRefusalReason.PROVIDER_TOKEN_MISSING),
        ({"X-Own": "two words"}, RequestRefusalReason.PROVIDER_TOKEN_INVALID),
        ({"X-Own": f"{OWN}\r\nX-Evil: 1"}, RequestRefusalReason.PROVIDER_TOKEN_INVALID),
        ({"X-Own": f"{OWN}\x00"}, RequestRefusalReason.PROVIDER_TOKEN_INVALID),
        ({"X-Own": "tökén"}, RequestRefusalReason.PROVIDER_TOKEN_INVALID),
        ([("X-Own", OWN), ("x-own", "other")], RequestRefusalReason.PROVIDER_TOKEN_INVALID),
        ({"X-Own": TOKEN}, RequestRefusalReason.PROVIDER_TOKEN_INVALID),
        ({"X-Own": f"Bearer {TOKEN}"}, RequestRefusalReason.PROVIDER_TOKEN_INVALID),
    ],
    ids=["missing", "blank", "words", "line break", "NUL", "not ASCII", "twice", "principal's", "principal's, schemed"],
)
def test_a_token_that_cannot_be_forwarded_is_refused_and_not_shown(headers: Any, reason: RequestRefusalReason) -> None:
    refused = refusal(sent({}, headers, {}))
    assert (refused.reason, refused.param) == (reason, "X-Own")
    assert OWN not in str(refused)
    assert TOKEN not in str(refused)


@pytest.mark.contract("CFG-08")
def test_no_token_shows_in_what_is_printed_or_stored() -> None:
    rules = policy(tokens=(TOKEN,), auth={})
    asked = facts(headers={"Authorization": f"Bearer {TOKEN}", "X-Own": OWN})
    prepared = execution(rules.prepare(asked))
    for shown in map(repr, (asked, rules, prepared, prepared._token)):
        assert TOKEN not in shown
        assert OWN not in shown
        assert hashlib.sha256(TOKEN.encode()).hexdigest() not in shown
    with pytest.raises(TypeError):
        pickle.dumps(prepared._token)
    with pytest.raises(TypeError):
        copy.deepcopy(prepared._token)


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize(("asked", "expected"), [("m", ("m", None, {"team": "x"})), ("r", (None, "r", {}))])
def test_usage_is_attributed_to_what_was_asked_for_and_to_who_asked(asked: str, expected: tuple[Any, ...]) -> None:
    class Place:
        provider_id = ProviderId("p")

    rules = policy(tokens=(TOKEN,), routes=("r",))
    prepared = execution(rules.prepare(facts(asked, headers={"Authorization": f"Bearer {TOKEN}"})))
    record = prepared.usage(Place(), 12, 34)
    assert (record.model_id, record.route_id, dict(record.labels)) == expected
    assert (record.provider_id, record.principal_ref, record.principal_alias) == ("p", "alice", "Alice")
    assert (record.token_ref, record.input_tokens, record.output_tokens) == ("ref-0", 12, 34)
    assert replace(prepared, principal=None).usage(Place(), 1, 2).principal_ref == ""


def test_an_estimate_below_zero_is_the_fronts_own_fault() -> None:
    with pytest.raises(ValueError, match="estimated_input_tokens"):
        facts(estimated=-1)
