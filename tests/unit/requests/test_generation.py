"""How many tokens a request may make (POL-06)."""

from typing import Any

import pytest

from tests.unit.requests.policies import facts, policy, refusal

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

ALL = {"context_window_tokens": 1000, "default_max_tokens": 400, "min_max_tokens": 100}
WINDOW = {"context_window_tokens": 1000}
MINIMUM = {"min_max_tokens": 100}
WINDOW_AND_MINIMUM = {**WINDOW, **MINIMUM}
LARGEST = dict.fromkeys(ALL, INT32_MAX)


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize(
    ("model", "estimated", "asked", "expected"),
    [
        pytest.param({}, 10, {}, None, id="nothing said"),
        pytest.param({}, 10, {"max_tokens": 7}, 7, id="no policy"),
        pytest.param({}, 10, {"max_completion_tokens": 7}, 7, id="newer name"),
        pytest.param({}, 10, {"max_tokens": 7, "max_completion_tokens": 7}, 7, id="both names agree"),
        pytest.param({}, 10, {"max_tokens": 7, "max_completion_tokens": None}, 7, id="newer name is null"),
        pytest.param({}, 10, {"max_tokens": None, "max_completion_tokens": 7}, 7, id="older name is null"),
        pytest.param({}, 10, {"max_tokens": None, "max_completion_tokens": None}, None, id="both are null"),
        pytest.param({}, 10, {"max_tokens": INT64_MAX}, INT64_MAX, id="largest, no policy"),
        pytest.param({"default_max_tokens": 400}, 10, {}, 400, id="default"),
        pytest.param({"default_max_tokens": 400}, 10, {"max_tokens": None}, 400, id="default for null"),
        pytest.param({"default_max_tokens": 400}, 10, {"max_tokens": 1}, 1, id="less than the default"),
        pytest.param({"default_max_tokens": 400}, 10, {"max_tokens": 500}, 500, id="more than the default"),
        pytest.param(MINIMUM, 10, {"max_tokens": 1}, 100, id="raised"),
        pytest.param(MINIMUM, 10, {"max_tokens": 99}, 100, id="one below the minimum"),
        pytest.param(MINIMUM, 10, {"max_tokens": 100}, 100, id="the minimum"),
        pytest.param(MINIMUM, 10, {"max_tokens": 101}, 101, id="one above the minimum"),
        pytest.param(MINIMUM, 10, {"max_completion_tokens": 1}, 100, id="newer name raised"),
        pytest.param(MINIMUM, 10, {}, None, id="a minimum makes no limit of none"),
        pytest.param({**MINIMUM, "default_max_tokens": 100}, 10, {}, 100, id="default is the minimum"),
        pytest.param(WINDOW, 999, {"max_tokens": 1}, 1, id="exact fit of one"),
        pytest.param(WINDOW, 999, {"max_tokens": 50}, 1, id="lowered to the last one"),
        pytest.param(WINDOW, 999, {}, None, id="window alone makes no limit of none"),
        pytest.param(WINDOW, 0, {"max_tokens": 1000}, 1000, id="no input, whole window"),
        pytest.param(WINDOW, 0, {"max_tokens": 1001}, 1000, id="no input, one too many"),
        pytest.param(ALL, 600, {}, 400, id="default fits exactly"),
        pytest.param(ALL, 601, {}, 399, id="default lowered by one"),
        pytest.param(ALL, 900, {}, 100, id="the minimum remains"),
        pytest.param(ALL, 900, {"max_tokens": 1}, 100, id="raised to all that remains"),
        pytest.param(ALL, 900, {"max_tokens": 5000}, 100, id="lowered to the minimum"),
        pytest.param(ALL, 0, {"max_tokens": INT64_MAX}, 1000, id="largest lowered"),
        pytest.param(LARGEST, 0, {}, INT32_MAX, id="largest config"),
        pytest.param(LARGEST, 0, {"max_tokens": 1}, INT32_MAX, id="largest minimum"),
    ],
)
def test_max_tokens_are_filled_in_raised_and_lowered(
    model: dict[str, int], estimated: int, asked: dict[str, int | None], expected: int | None
) -> None:
    assert policy(model=model).prepare(facts(estimated=estimated, **asked)).max_tokens == expected


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize(
    ("model", "estimated", "remaining"),
    [
        pytest.param(ALL, 901, 99, id="less than the minimum remains"),
        pytest.param(ALL, 1000, 0, id="nothing remains"),
        pytest.param(ALL, 10**9, 0, id="far too long"),
        pytest.param(ALL, INT64_MAX, 0, id="the longest estimate"),
        pytest.param(WINDOW, 1000, 0, id="input fills the window"),
        pytest.param(WINDOW, 1001, 0, id="input is longer than the window"),
        pytest.param(WINDOW_AND_MINIMUM, 901, 99, id="minimum without default"),
        pytest.param(LARGEST, 1, INT32_MAX - 1, id="largest config"),
    ],
)
@pytest.mark.parametrize("asked", [{}, {"max_tokens": 1}])
def test_an_input_that_leaves_no_room_is_refused_with_the_numbers(
    model: dict[str, int], estimated: int, remaining: int, asked: dict[str, int]
) -> None:
    refused = refusal(policy(model=model).prepare, facts(estimated=estimated, **asked))
    assert refused.code == "context_length_exceeded"
    numbers = [model["context_window_tokens"], estimated, remaining, model.get("min_max_tokens", 1)]
    assert [number for number in numbers if str(number) not in refused.message.replace(",", "").split()] == []


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        -INT64_MAX,
        True,
        False,
        1.5,
        10.0,
        float("nan"),
        "100",
        "",
        [],
        {},
        INT64_MAX + 1,
        pytest.param(10**5000, id="too long to print"),
    ],
)
def test_a_limit_that_is_none_is_a_bad_request(name: str, value: object) -> None:
    limits: dict[str, Any] = {name: value}
    for model in ({}, ALL):
        refused = refusal(policy(model=model).prepare, facts(**limits))
        assert (refused.code, refused.param) == ("invalid_value", name)
        assert len(str(refused)) < 200


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize("one", [5, 0, "5", True])
def test_two_limits_that_differ_are_a_bad_request(one: object) -> None:
    refused = refusal(policy().prepare, facts(max_tokens=one, max_completion_tokens=1))
    assert refused.code == "invalid_value"


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize(
    ("model", "asked", "expected"),
    [
        ({}, {}, None),
        ({"default_thinking_token_budget": 50}, {}, 50),
        ({"default_thinking_token_budget": 50}, {"thinking_token_budget": None}, 50),
        ({"default_thinking_token_budget": 50}, {"thinking_token_budget": 0}, 0),
        ({"default_thinking_token_budget": 50}, {"thinking_token_budget": 51}, 51),
        ({"default_thinking_token_budget": 0}, {}, 0),
        ({"default_thinking_token_budget": 500}, {"max_tokens": 5}, 500),
        ({}, {"thinking_token_budget": 9}, 9),
        ({}, {"thinking_token_budget": 9, "max_tokens": 5}, 9),
    ],
)
def test_a_thinking_budget_is_filled_in_and_otherwise_left(
    model: dict[str, int], asked: dict[str, Any], expected: int | None
) -> None:
    assert policy(model=model).prepare(facts(**asked)).thinking_token_budget == expected


@pytest.mark.contract("POL-06")
@pytest.mark.parametrize("value", [-1, True, False, "5", 0.5, [], INT64_MAX + 1])
def test_a_thinking_budget_that_is_none_is_a_bad_request(value: object) -> None:
    refused = refusal(policy().prepare, facts(thinking_token_budget=value))
    assert (refused.code, refused.param) == ("invalid_value", "thinking_token_budget")


@pytest.mark.contract("POL-06", "POL-10")
def test_a_route_has_no_policy_of_its_own_but_a_bad_limit_stays_one() -> None:
    rules = policy(routes=("r",), model={**ALL, "default_thinking_token_budget": 50})
    prepared = rules.prepare(facts("r", estimated=10**9))
    assert (prepared.max_tokens, prepared.thinking_token_budget) == (None, None)
    assert rules.prepare(facts("r", max_tokens=1)).max_tokens == 1
    assert refusal(rules.prepare, facts("r", max_tokens=0)).param == "max_tokens"
