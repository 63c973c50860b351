"""What the config makes of a request, from one end to the other."""

import copy
import hashlib
import json
import pickle
from dataclasses import asdict, replace
from typing import Any

import pytest

from iop_edge.ids import ModelId, ModelKey, ProviderId, RouteId, RouteKey
from iop_edge.requests.policy import Execution
from tests.unit.requests.policies import OWN, THRESHOLD, TOKEN, facts, policy, refusal

P = ProviderId("p")


@pytest.mark.contract("POL-10")
def test_a_name_means_a_model_group_first_then_a_route_and_never_a_provider() -> None:
    rules = policy(routes=("m", "r"))
    assert rules.prepare(facts("m")).key == ModelKey(ModelId("m"))
    assert rules.prepare(facts("r")).key == RouteKey(RouteId("r"))
    assert len({ModelKey(ModelId("m")), RouteKey(RouteId("m"))}) == 2
    assert rules.names() == ("m", "r")


@pytest.mark.contract("POL-10")
@pytest.mark.parametrize(
    ("model", "code"),
    [
        ("nope", "model_not_found"),
        ("M", "model_not_found"),
        ("m ", "model_not_found"),
        ("x" * 100_000, "model_not_found"),
        ("\udcff\n\x00", "model_not_found"),
        ("", "invalid_value"),
        (None, "invalid_value"),
        (7, "invalid_value"),
        (["m"], "invalid_value"),
        ({}, "invalid_value"),
    ],
)
def test_what_names_no_model_is_refused(model: object, code: str) -> None:
    refused = refusal(policy().prepare, facts(model))
    assert (refused.code, refused.param) == (code, "model")
    assert len(str(refused)) < 400
    assert str(refused).encode().isascii()


@pytest.mark.contract("POL-07")
@pytest.mark.parametrize(
    ("estimated", "expected"), [(0, False), (THRESHOLD - 1, False), (THRESHOLD, True), (THRESHOLD + 1, True)]
)
@pytest.mark.parametrize("model", ["m", "r"])
def test_a_request_is_long_context_from_the_threshold_on(model: str, estimated: int, *, expected: bool) -> None:
    prepared = policy(routes=("r",)).prepare(facts(model, estimated=estimated))
    assert prepared.is_long_context is expected


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize(("asked", "expected"), [("m", ("m", None, {"team": "x"})), ("r", (None, "r", {}))])
def test_usage_is_attributed_to_what_was_asked_for_and_to_who_asked(asked: str, expected: tuple[Any, ...]) -> None:
    rules = policy(tokens=(TOKEN,), routes=("r",))
    prepared = rules.prepare(facts(asked, headers={"Authorization": f"Bearer {TOKEN}"}))
    record = prepared.usage(P, 12, 34)
    assert (record.model_id, record.route_id, dict(record.labels)) == expected
    assert (record.provider_id, record.principal_ref, record.principal_alias) == ("p", "alice", "Alice")
    assert (record.token_ref, record.input_tokens, record.output_tokens) == ("ref-0", 12, 34)
    assert replace(prepared, principal=None).usage(P, 1, 2).principal_ref == ""


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize(
    ("sent", "recorded"),
    [(0, 0), (2**63 - 1, 2**63 - 1), (None, None), (-1, None), (True, None), (1.0, None), ("1", None), (2**63, None)],
)
def test_a_count_of_a_backend_that_is_none_is_unknown(sent: object, recorded: int | None) -> None:
    record = policy().prepare(facts()).usage(P, sent, sent)
    assert (record.input_tokens, record.output_tokens) == (recorded, recorded)


@pytest.mark.contract("POL-09")
def test_a_usage_record_can_be_written_as_json_and_stored() -> None:
    record = policy().prepare(facts()).usage(P, 1, None)
    assert json.loads(json.dumps(asdict(record)))["labels"] == {"team": "x"}
    assert pickle.loads(pickle.dumps(record)) == record


def test_who_changes_a_record_changes_no_policy() -> None:
    rules = policy()
    prepared = rules.prepare(facts())
    labels: Any = prepared.labels
    labels["team"] = "y"
    other: Any = prepared.usage(P, 1, 1).labels
    other["team"] = "z"
    assert dict(prepared.labels) == {"team": "y"}
    assert dict(rules.prepare(facts()).labels) == {"team": "x"}


def prepared_with_tokens() -> tuple[object, ...]:
    """All that is made on the way of a request that holds two tokens."""
    rules = policy(tokens=(TOKEN,), auth={})
    asked = facts(headers={"Authorization": f"Bearer {TOKEN}", "X-Own": OWN})
    prepared = rules.prepare(asked)
    return asked, asked.headers, rules, rules._principals, prepared, prepared._token, prepared.usage(P, 1, 1)


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("number", range(7))
def test_no_token_shows_in_what_is_printed(number: int) -> None:
    held = prepared_with_tokens()[number]
    copied: Any = held
    shown = [repr(held), str(held), f"{held}", repr(copy.copy(held)), repr([held])]
    if isinstance(held, Execution) or number in (0, 6):
        shown.append(repr(asdict(copied)))
    for text in shown:
        assert TOKEN not in text
        assert OWN not in text
        assert hashlib.sha256(TOKEN.encode()).hexdigest() not in text


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("number", [0, 1, 4, 5])
def test_what_holds_a_token_is_not_stored(number: int) -> None:
    with pytest.raises(TypeError, match="not stored"):
        pickle.dumps(prepared_with_tokens()[number])


@pytest.mark.parametrize("estimate", [-1, True, 1.5, "10", None, 2**63, pytest.param(10**5000, id="too long to print")])
def test_an_estimate_that_is_none_is_the_fronts_own_fault(estimate: Any) -> None:
    with pytest.raises(ValueError, match="estimated_input_tokens"):
        facts(estimated=estimate)
