"""Who calls (POL-09)."""

import hashlib
from typing import Any

import pytest

from iop_edge.config.marks import UNRESOLVED, Sourced
from iop_edge.requests.policy import RequestPolicy
from tests import trees
from tests.unit.requests.policies import TOKEN, facts, policy, refusal


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {TOKEN}"},
        {"authorization": f"bearer {TOKEN}"},
        [("AUTHORIZATION", f"  BEARER   {TOKEN}  ")],
        [("Authorization", f"\tBearer {TOKEN}\t"), ("X-Authorization", "Bearer stranger")],
        [(b"authorization", f"Bearer {TOKEN}".encode())],
    ],
)
def test_a_bearer_token_stands_for_its_principal(headers: Any) -> None:
    principal = policy(tokens=("another", TOKEN, "last")).prepare(facts(headers=headers)).principal
    assert principal is not None
    assert (principal.ref, principal.alias, principal.token_ref) == ("alice", "Alice", "ref-1")


@pytest.mark.contract("POL-09")
def test_a_token_beyond_ascii_is_known_by_its_octets() -> None:
    # `config hash-token` hashes the text as UTF-8; a front hands the octets of a header over as characters.
    token = "tökén-鍵"
    header = f"Bearer {token}".encode().decode("latin-1")
    principal = policy(tokens=(token,)).prepare(facts(headers={"Authorization": header})).principal
    assert principal is not None
    assert principal.token_ref == "ref-0"


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
        {"Authorization": f"Bearer{TOKEN}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN.upper()}"},
        {"Authorization": f"Bearer {TOKEN}, Bearer {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN} {TOKEN}"},
        {"Authorization": f"Bearer Bearer {TOKEN}"},
        {"Authorization": f"Bearer {hashlib.sha256(TOKEN.encode()).hexdigest()}"},
        {"Authorization": "Bearer \udcff\x00"},
        {"Authorization": "Bearer 鍵"},
        {"X-Authorization": f"Bearer {TOKEN}"},
        {"Authorization_": f"Bearer {TOKEN}"},
        [("Authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer stranger")],
        [("Authorization", "Bearer stranger"), ("authorization", f"Bearer {TOKEN}")],
        [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}")],
    ],
)
def test_without_the_one_right_token_nobody_gets_in_or_learns_anything(headers: Any) -> None:
    rules = policy(tokens=(TOKEN,))
    refused = {str(refusal(rules.prepare, facts(model, headers=headers))) for model in ("m", "no such model", 7)}
    assert len(refused) == 1
    refusing = refusal(rules.authenticate, facts(headers=headers))
    assert refusing.code == "invalid_api_key"
    assert TOKEN not in str(refusing)
    assert (refusing.status, refusing.headers) == (401, {"WWW-Authenticate": "Bearer"})


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer whatever"}, [("Authorization", "x")] * 2])
def test_where_the_config_names_no_tokens_everybody_gets_in_and_nobody_is_known(headers: Any) -> None:
    rules = policy()
    assert rules.prepare(facts(headers=headers)).principal is None
    assert rules.authenticate(facts(headers=headers)) is None


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize("place", range(3))
def test_all_hashes_are_compared_wherever_the_right_one_stands(monkeypatch: pytest.MonkeyPatch, place: int) -> None:
    compared: list[bytes] = []

    def compare(known: bytes, presented: bytes) -> bool:
        compared.append(known)
        return known == presented

    monkeypatch.setattr("iop_edge.requests.principals.hmac.compare_digest", compare)
    tokens = ["a", "b", "c"]
    tokens[place] = TOKEN
    principal = policy(tokens=tokens).prepare(facts(headers={"Authorization": f"Bearer {TOKEN}"})).principal
    assert compared == [hashlib.sha256(token.encode()).digest() for token in tokens]
    assert principal is not None
    assert principal.token_ref == f"ref-{place}"


@pytest.mark.contract("POL-09")
@pytest.mark.case("A8")
@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "bearer   ", ""])
def test_an_empty_token_is_nobodys_whatever_the_config_says(header: str) -> None:
    refused = refusal(policy(tokens=("",)).prepare, facts(headers={"Authorization": header}))
    assert refused.code == "invalid_api_key"


@pytest.mark.contract("POL-09")
@pytest.mark.case("A8")
def test_a_hash_that_was_left_unresolved_opens_nothing() -> None:
    entry = {"token_ref": "t", "token_hash_sha256": Sourced("${env:H}", UNRESOLVED), "principal_ref": "p"}
    front = {"principal_tokens": [entry], "provider_auth": {"enabled": False}}
    with pytest.raises(ValueError, match="unresolved"):
        RequestPolicy.of(trees.snapshot({"openai": front, "long_context_threshold_tokens": 1}))
