"""Where a caller's own token for a provider goes, and where not (POL-08)."""

from collections.abc import Mapping
from typing import Any

import pytest

from iop_edge.ids import ProviderId
from tests.unit.requests.policies import OWN, TOKEN, facts, policy, refusal


def sent(auth: Mapping[str, Any], headers: Any, configured: Mapping[str, str], category: str = "api") -> Any:
    """What a request with the token of a principal and these headers sends to provider `p`."""
    rules = policy(tokens=(TOKEN,), auth=auth)
    pairs = list(headers.items() if isinstance(headers, dict) else headers)
    prepared = rules.prepare(facts(headers=[("Authorization", f"Bearer {TOKEN}"), *pairs]))
    return prepared.headers_for(ProviderId("p"), category, configured)


@pytest.mark.contract("POL-08")
@pytest.mark.case("A6")
@pytest.mark.parametrize(
    ("auth", "headers", "configured", "expected"),
    [
        ({}, {"x-own": OWN}, {}, {"Authorization": f"Bearer {OWN}"}),
        ({}, {"X-Own": f"Bearer {OWN}"}, {}, {"Authorization": f"Bearer {OWN}"}),
        ({}, {"X-Own": f" bearer  {OWN} "}, {}, {"Authorization": f"Bearer {OWN}"}),
        ({}, {"X-Own": OWN}, {"authorization": "Bearer k", "X-T": "1"}, {"X-T": "1", "Authorization": f"Bearer {OWN}"}),
        (
            {},
            {"X-Own": OWN},
            {"Authorization": "k", "authorization": "k", "AUTHORIZATION": "k"},
            {"Authorization": f"Bearer {OWN}"},
        ),
        ({}, {"X-Own": OWN}, {"x-own": "k", "X-T": "1"}, {"X-T": "1", "Authorization": f"Bearer {OWN}"}),
        ({"target_header": "X-Own"}, {"X-Own": OWN}, {"x-own": "k"}, {"X-Own": f"Bearer {OWN}"}),
        ({"required": False}, {}, {"X-Own": "k"}, {"X-Own": "k"}),
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
    before = dict(configured)
    assert sent(auth, headers, configured) == expected
    assert configured == before


@pytest.mark.contract("POL-08")
@pytest.mark.case("A6")
@pytest.mark.parametrize("category", ["cli", "local_inference", "API", ""])
@pytest.mark.parametrize("headers", [{}, {"X-Own": OWN}, {"X-Own": "two words"}, [("X-Own", OWN)] * 2])
def test_another_kind_of_provider_gets_no_token_and_does_not_care_how_it_is(category: str, headers: Any) -> None:
    assert sent({"providers": ["p"]}, headers, {"Authorization": "k"}, category) == {"Authorization": "k"}


@pytest.mark.contract("POL-08")
def test_each_try_is_judged_by_the_provider_that_it_goes_to() -> None:
    rules = policy(auth={"providers": ["p", "q"]})
    prepared = rules.prepare(facts(headers={"X-Own": OWN}))
    own, configured = {"Authorization": f"Bearer {OWN}"}, {"Authorization": "k"}
    tries = [("p", "api"), ("elsewhere", "api"), ("q", "local_inference"), ("q", "api"), ("p", "api")]
    outcomes = [prepared.headers_for(ProviderId(name), category, configured) for name, category in tries]
    assert outcomes == [own, configured, configured, own, own]


@pytest.mark.contract("POL-08")
@pytest.mark.case("A6")
def test_where_forwarding_is_off_nothing_of_the_caller_is_sent_or_kept() -> None:
    headers = {"X-Own": OWN, "X-IOP-Provider-Authorization": OWN, "Authorization": "Bearer x", "Cookie": "c"}
    prepared = policy().prepare(facts(headers=headers))
    assert prepared.headers_for(ProviderId("p"), "api", {"A": "b"}) == {"A": "b"}
    assert prepared._token is None


@pytest.mark.contract("POL-08")
@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"X-Own": "two words"}, "provider_token_invalid"),
        ({"X-Own": f"Basic {OWN}"}, "provider_token_invalid"),
        ({"X-Own": f"{OWN}\r\nX-Evil: 1"}, "provider_token_invalid"),
        ({"X-Own": f"{OWN}\n"}, "provider_token_invalid"),
        ({"X-Own": f"\r{OWN}"}, "provider_token_invalid"),
        ({"X-Own": f"{OWN}\x00"}, "provider_token_invalid"),
        ({"X-Own": "tökén"}, "provider_token_invalid"),
        ([("X-Own", OWN), ("x-own", "other")], "provider_token_invalid"),
        ({"X-Own": TOKEN}, "provider_token_invalid"),
        ({"X-Own": f"Bearer {TOKEN}"}, "provider_token_invalid"),
    ],
    ids=[
        "words",
        "another scheme",
        "line break within",
        "line break after",
        "return before",
        "NUL",
        "not ASCII",
        "twice",
        "principal's",
        "principal's, schemed",
    ],
)
def test_a_token_that_cannot_be_forwarded_is_refused_and_not_shown(headers: Any, code: str, required: bool) -> None:
    refused = refusal(sent, {"required": required}, headers, {})
    assert (refused.code, refused.param) == (code, "X-Own")
    assert OWN not in str(refused)
    assert TOKEN not in str(refused)


@pytest.mark.contract("POL-08")
@pytest.mark.parametrize("headers", [{}, {"X-Own": " \t"}, {"X-Own": "Bearer "}])
def test_a_token_that_is_required_and_missing_is_refused_with_the_name_of_its_header(headers: Any) -> None:
    refused = refusal(sent, {}, headers, {"Authorization": "k"})
    assert (refused.code, refused.param) == ("provider_token_missing", "X-Own")
    assert "X-Own" in refused.message


@pytest.mark.contract("POL-08")
@pytest.mark.case("A6")
@pytest.mark.parametrize("value", [f"Bearer {TOKEN}", f"Basic {TOKEN}", TOKEN])
def test_the_principals_token_does_not_leave_without_a_scheme_either(value: str) -> None:
    refused = refusal(sent, {"scheme": ""}, {"X-Own": value}, {})
    assert refused.code == "provider_token_invalid"
