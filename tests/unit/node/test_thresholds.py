"""How results become health, as a table and against a slow, obvious model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.node.health import HEALTHY, UNHEALTHY, UNKNOWN, MonitoredResource, Thresholds, ThresholdState
from iop_pb.iop.runtime.v1 import Resource, ResourceHealthCheck, ResourceHealthState

pytestmark = pytest.mark.contract("PSH-05")

LETTERS = {
    ResourceHealthState.UNKNOWN: "?",
    ResourceHealthState.HEALTHY: "H",
    ResourceHealthState.UNHEALTHY: "U",
}


def states(begin: ThresholdState, results: str, thresholds: Thresholds) -> str:
    """Return the state after each result: `+` is a good one, `-` a bad one."""
    current, seen = begin, ""
    for result in results:
        current = current.after(thresholds, good=result == "+")
        seen += LETTERS[current.state]
    return seen


@pytest.mark.parametrize(
    ("begin", "healthy", "unhealthy", "results", "expected"),
    [
        pytest.param(UNKNOWN, 3, 3, "+", "H", id="the first good result is enough when nothing is known"),
        pytest.param(UNKNOWN, 1, 3, "--", "??", id="a few bad ones are not, while requests still go there"),
        pytest.param(UNKNOWN, 1, 3, "---", "??U", id="as many as it takes are"),
        pytest.param(UNKNOWN, 1, 1, "-", "U", id="one, where one is enough"),
        pytest.param(HEALTHY, 1, 3, "---", "HHU", id="out after the threshold"),
        pytest.param(HEALTHY, 1, 3, "--+--+--", "HHHHHHHH", id="bad ones that do not follow each other never count up"),
        pytest.param(UNHEALTHY, 2, 1, "++", "UH", id="back after the threshold"),
        pytest.param(UNHEALTHY, 2, 1, "+-+-+", "UUUUU", id="good ones that do not follow each other never count up"),
        pytest.param(UNHEALTHY, 2, 2, "++--++", "UHHUUH", id="out and back again"),
        pytest.param(UNHEALTHY, 1, 3, "+--", "HHH", id="back means that it takes as many to be out again"),
        pytest.param(UNHEALTHY, 3, 3, "------", "UUUUUU", id="worse than unhealthy there is nothing"),
    ],
)
def test_state_follows_results_in_a_row(
    begin: ThresholdState, healthy: int, unhealthy: int, results: str, expected: str
) -> None:
    assert states(begin, results, Thresholds(healthy, unhealthy)) == expected


@pytest.mark.parametrize(("results", "expected"), [("-", "U"), ("+", "H"), ("+-", "HH")])
def test_when_half_open_the_next_result_decides(results: str, expected: str) -> None:
    thresholds = Thresholds(healthy=2, unhealthy=3)
    assert states(UNHEALTHY.half_open(thresholds), results, thresholds) == expected


@pytest.mark.parametrize("given_", [0, -1])
def test_one_result_is_the_least_that_changes_anything(given_: int) -> None:
    check = ResourceHealthCheck(healthy_threshold=given_, unhealthy_threshold=given_)
    assert MonitoredResource(Resource(health=check), None).thresholds == Thresholds(1, 1)


def expected_states(results: str, healthy: int, unhealthy: int) -> str:
    """Look at all results so far, again after each."""
    state, seen, since = "?", "", 0
    for end in range(1, len(results) + 1):
        recent = results[since:end]
        if state == "U" and recent.endswith("+" * healthy):
            state, since = "H", end
        elif state != "U" and recent.endswith("-" * unhealthy):
            state, since = "U", end
        elif state == "?" and recent.endswith("+"):
            state = "H"
        seen += state
    return seen


@given(st.text("+-", max_size=40), st.integers(1, 5), st.integers(1, 5))
def test_it_does_what_the_model_does(results: str, healthy: int, unhealthy: int) -> None:
    assert states(UNKNOWN, results, Thresholds(healthy, unhealthy)) == expected_states(results, healthy, unhealthy)
