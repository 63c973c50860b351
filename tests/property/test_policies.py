"""What the config makes of any request at all."""

import json
from dataclasses import asdict
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import RequestRefusedError
from iop_edge.ids import ModelKey, ProviderId, RouteKey
from iop_edge.requests.facts import RequestFacts
from iop_edge.requests.policy import Execution, RequestPolicy
from tests.unit.requests.policies import policy

COUNTS = st.one_of(st.integers(1, 50), st.integers(1, 2**31 - 1))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
SECRETS = st.text("0123456789abcdef", min_size=16, max_size=24).map("s3cr3t-".__add__)
NAMES = st.sampled_from(["a", "b", "c", "d", "A"])
HEADER_NAMES = st.sampled_from(
    ["Authorization", "authorization", "X-Own", "x-OWN", "Cookie", "X-Key", "x-key", "Accept"]
)


@st.composite
def models(draw: st.DrawFn) -> dict[str, int]:
    """The token counts of a valid model group: any of them may be missing, and they are in order (VAL-07)."""
    least, usual, window = sorted((draw(COUNTS), draw(COUNTS), draw(COUNTS)))
    counts = {"min_max_tokens": least, "default_max_tokens": usual, "context_window_tokens": window}
    return {name: count for name, count in counts.items() if draw(st.booleans())}


def prepared(rules: RequestPolicy, facts: RequestFacts) -> Execution | RequestRefusedError:
    try:
        return rules.prepare(facts)
    except RequestRefusedError as error:
        return error


@pytest.mark.contract("POL-06")
@given(
    models(),
    st.integers(0, 60) | st.integers(0, 2**31),
    st.none() | COUNTS,
    st.sampled_from(["max_tokens", "max_completion_tokens"]),
)
def test_what_is_allowed_fits_the_window_and_reaches_the_minimum(
    model: dict[str, int], estimated: int, asked: int | None, name: str
) -> None:
    limits: dict[str, Any] = {name: asked}
    outcome = prepared(policy(model=model), RequestFacts("m", {}, estimated, **limits))
    least = model.get("min_max_tokens", 1)
    room = model.get("context_window_tokens", 2**63) - estimated
    if isinstance(outcome, RequestRefusedError):
        assert outcome.code == "context_length_exceeded"
        assert room < least
        return
    assert room >= least
    wanted = model.get("default_max_tokens") if asked is None else asked
    if wanted is None:
        assert outcome.max_tokens is None
    else:
        assert outcome.max_tokens is not None
        assert least <= outcome.max_tokens <= room
        assert outcome.max_tokens in (wanted, least, room)
        assert outcome.max_tokens == wanted or (wanted < least) or (wanted > room)


@given(JSON, JSON, JSON, JSON, st.integers(0, 2**63 - 1))
def test_whatever_a_body_holds_is_executed_or_answered(
    model: Any, older: Any, newer: Any, thinking: Any, estimated: int
) -> None:
    rules = policy(routes=("r",), model={"context_window_tokens": 100, "min_max_tokens": 2})
    for name in (model, "m", "r"):
        outcome = prepared(rules, RequestFacts(name, {}, estimated, older, newer, thinking))
        if isinstance(outcome, RequestRefusedError):
            assert 400 <= outcome.status < 500
            assert len(json.dumps(outcome.body())) < 10_000
        else:
            assert outcome.key.id == name
            assert all(
                count is None or type(count) is int for count in (outcome.max_tokens, outcome.thinking_token_budget)
            )


@pytest.mark.contract("POL-10")
@given(st.lists(NAMES, unique=True), st.lists(NAMES, unique=True), NAMES)
def test_a_name_is_a_model_first_then_a_route_and_nothing_else(
    groups: list[str], routes: list[str], asked: str
) -> None:
    # Every name is a provider's too: a provider is nothing that one can ask for.
    provider = {"type": "vllm", "category": "api", "models": ["t"], "adapter": "v"}
    rules = RequestPolicy.of(
        Snapshot(
            {
                "openai": {
                    "model_routes": [{"model": name, "adapter": "v", "target": "t"} for name in routes],
                    "provider_auth": {"enabled": False},
                },
                "models": [{"id": name} for name in groups],
                "nodes": [{"id": "n", "providers": [{**provider, "id": name} for name in "abcdA"]}],
                "long_context_threshold_tokens": 1,
            }
        )
    )
    outcome = prepared(rules, RequestFacts(asked, {}, 0))
    key = outcome.key if isinstance(outcome, Execution) else None
    assert isinstance(key, ModelKey) == (asked in groups)
    assert isinstance(key, RouteKey) == (asked in routes and asked not in groups)
    assert sorted(rules.names()) == sorted({*groups, *routes})
    assert (asked in rules.names()) == (key is not None)


@pytest.mark.contract("POL-09")
@given(st.lists(SECRETS, unique=True, max_size=5), SECRETS)
def test_each_token_stands_for_its_own_entry_and_any_other_for_none(tokens: list[str], stranger: str) -> None:
    assume(stranger not in tokens)
    principals = policy(tokens=tokens)._principals
    found = [principals.find(token) for token in tokens]
    assert [principal and principal.token_ref for principal in found] == [f"ref-{i}" for i in range(len(tokens))]
    assert principals.find(stranger) is None


class Try(NamedTuple):
    """One try at a provider of a request that shows the token of a principal, and perhaps one of its own."""

    token: str
    own: str
    shown: tuple[str, ...]
    others: list[tuple[str, str]]
    configured: dict[str, str]
    auth: dict[str, Any] | None
    provider: str
    category: str

    def expected(self) -> dict[str, str] | None:
        """The headers that are sent; None: it is refused."""
        auth = self.auth
        if auth is None or self.category != "api" or self.provider not in auth.get("providers", ["p", "q"]):
            return self.configured
        if self.shown == ():
            return None if auth["required"] else self.configured
        if self.shown != (self.own,):
            return None
        target = auth["target_header"]
        replaced = (target.lower(), "x-own")
        kept = {name: value for name, value in self.configured.items() if name.lower() not in replaced}
        return {**kept, target: f"{auth['scheme']} {self.own}" if auth["scheme"] else self.own}


@st.composite
def tries(draw: st.DrawFn) -> Try:
    """A try in which each header of the request holds a secret."""
    token, own, other = draw(st.lists(SECRETS, min_size=3, max_size=3, unique_by=lambda text: text[:12]))
    auth = st.fixed_dictionaries(
        {"target_header": HEADER_NAMES, "scheme": st.sampled_from(["Bearer", "", "Token"]), "required": st.booleans()},
        optional={"providers": st.just(["p"])},
    )
    return Try(
        token,
        own,
        shown=draw(st.sampled_from([(), (own,), (own,), (token,), (own, token), (own, own)])),
        others=draw(st.lists(st.tuples(st.sampled_from(["Cookie", "X-Key", "Accept", "X-Owner"]), st.just(other)))),
        configured=draw(st.dictionaries(HEADER_NAMES, st.just("configured"))),
        auth=draw(st.none() | auth),
        provider=draw(st.sampled_from(["p", "q"])),
        category=draw(st.sampled_from(["api", "api", "cli", "local_inference"])),
    )


@pytest.mark.contract("POL-08", "POL-09", "CFG-08")
@pytest.mark.case("A6")
@given(tries())
def test_a_token_goes_nowhere_but_in_the_one_header_of_a_provider_that_may_have_it(case: Try) -> None:
    headers = [*case.others, ("Authorization", f"Bearer {case.token}"), *(("X-Own", value) for value in case.shown)]
    rules = policy(tokens=(case.token,), auth=case.auth)
    facts = RequestFacts("m", headers, 0)
    execution = rules.prepare(facts)
    printed = [repr(facts), repr(rules), repr(execution), repr(asdict(execution)), repr(asdict(facts))]
    sent: dict[str, str] | None = None
    try:
        sent = execution.headers_for(ProviderId(case.provider), case.category, case.configured)
    except RequestRefusedError as error:
        printed += [repr(error), str(error), repr(error.body())]
    assert sent == case.expected()
    assert [text for text in printed if "s3cr3t" in text] == []
