"""The order of queues when several things change at once, and what is left in the end."""

import sys
from types import FrameType

import pytest

from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.explain import explain
from iop_edge.pool.status import Health
from tests.unit.pool.configs import provider
from tests.unit.pool.script import Script


@pytest.mark.contract("POL-02")
def test_the_earlier_request_is_served_first_even_if_it_joined_the_queue_last() -> None:
    providers = provider("a", max_queue=2), provider("z")
    script = Script(*providers, models={"m": ["a"], "n": ["z"]})
    script.ask("on_z", "early", model="n")
    script.ask("on_a", "r1", "r2")
    script.configure(*providers, models={"m": ["a"], "n": ["z", "a"]})
    assert script.queued("a") == 2
    script.cancel("r1")
    script.end("on_a")
    assert script.shown("early", "r2") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_room_in_a_queue_goes_to_the_earliest_request() -> None:
    providers = provider("a", max_queue=1), provider("y"), provider("z")
    script = Script(*providers, models={"leaves": ["a", "y"], "stays": ["a", "z"], "joins": ["z"]})
    for name, model in (("on_a", "leaves"), ("on_y", "leaves"), ("on_z", "joins")):
        script.ask(name, model=model)
    script.ask("early", model="joins")
    script.ask("in_queue", model="leaves")
    script.ask("in_overflow", model="stays")
    script.configure(*providers, models={"leaves": ["y"], "stays": ["a", "z"], "joins": ["z", "a"]})
    assert script.queued("a") == 1
    script.end("on_a")
    assert script.shown("early", "in_overflow") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_a_deadline_that_has_passed_holds_in_the_overflow_too() -> None:
    slow = provider("b", queue_timeout_ms=0)
    script = Script(provider("a", queue_timeout_ms=1000), slow)
    script.ask("on_a", "on_b", "r")
    script.configure(provider("a", enabled=False), slow)
    script.configure(provider("a", max_queue=0), slow)
    script.at(1)
    script.end("on_a")
    assert script["r"] == "waits"
    script.end("on_b")
    assert script["r"] == "b"


@pytest.mark.contract("POL-02")
def test_no_timeout_begins_at_a_provider_that_the_same_refresh_removes() -> None:
    slow = provider("b", queue_timeout_ms=0)
    both = {"m": ["a", "b"], "n": ["a", "b"]}
    script = Script(provider("a", max_queue=1, queue_timeout_ms=1000), slow, models=both)
    script.ask("on_a", "on_b", "in_queue")
    script.ask("in_overflow", model="n")
    script.configure(provider("a", enabled=False), slow, models={"m": ["b"], "n": ["a", "b"]})
    script.now = 5
    script.configure(provider("a", max_queue=1, queue_timeout_ms=1000), slow)
    assert (script.queued("a"), script.dispatcher.next_deadline()) == (1, 6)


@pytest.mark.contract("POL-02")
def test_of_requests_with_one_deadline_the_earlier_leaves_first() -> None:
    a, b = (provider(name, max_queue=1, queue_timeout_ms=1000) for name in "ab")
    script = Script(a, b, models={"m": ["a"], "n": ["a", "b"]})
    script.ask("on_a")
    script.ask("on_b", model="n")
    script.ask("on_a_only")
    script.ask("on_both", model="n")
    script.at(1)
    assert script.shown("on_a_only", "on_both") == ["timeout", "waits"]
    assert script.dispatcher.next_deadline() == 2


@pytest.mark.contract("POL-01")
def test_the_rotation_survives_removing_and_adding_again() -> None:
    script = Script(provider("a"), provider("b"))
    script.ask("r1")
    script.end("r1")
    script.configure(provider("b"))
    script.configure(provider("a"), provider("b"))
    script.ask("r2")
    assert script.shown("r1", "r2") == ["a", "b"]


@pytest.mark.contract("POL-05")
@pytest.mark.parametrize("node", ["n1", "n2"])
def test_requests_in_flight_count_when_their_provider_is_removed_and_added_again(node: str) -> None:
    script = Script(provider("a", capacity=2), provider("b"), models={"m": ["a"]})
    script.ask("r1", "r2")
    script.configure(provider("b"), models={"m": ["b"]})
    script.configure(provider("a", node=node, capacity=2), provider("b"), models={"m": ["a"]})
    script.ask("r3", "r4")
    assert script.shown("r3", "r4") == ["waits", "waits"]
    script.end("r1")
    assert script.shown("r3", "r4") == ["a", "waits"]
    script.end("r2")
    assert script["r4"] == "a"


def test_a_request_that_leaves_and_comes_back_often_costs_no_more_memory_each_time() -> None:
    script = Script(provider("a"), provider("b"))
    script.ask("on_a", "on_b", "r")
    for _ in range(1000):
        script.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY)
        script.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.HEALTHY)
    assert script.queued("a") == 1
    assert len(script.dispatcher._deadlines._heap) < 200


def calls_of_a_provider_gained_by_a_model(waiting: int) -> int:
    """Count the calls that it takes to let so many requests join a queue in which as many later ones wait."""
    providers = provider("a", max_queue=10_000), provider("z", max_queue=10_000)
    script = Script(*providers, models={"m": ["a"], "n": ["z"]})
    script.ask("on_a")
    script.ask("on_z", *(f"early {number}" for number in range(waiting)), model="n")
    script.ask(*(f"late {number}" for number in range(waiting)))
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        script.configure(*providers, models={"m": ["a"], "n": ["z", "a"]})
    finally:
        sys.setprofile(None)
    assert script.queued("a") == 2 * waiting
    return calls


@pytest.mark.contract("POL-02")
def test_joining_a_long_queue_costs_each_request_no_more_than_a_short_one() -> None:
    assert calls_of_a_provider_gained_by_a_model(1600) < 3 * calls_of_a_provider_gained_by_a_model(800)


@pytest.mark.contract("POL-02")
@pytest.mark.parametrize(
    ("arrivals", "room"),
    [
        (["n:1", "n:2", "m:3", "m:4"], 4),
        (["m:1", "n:2", "m:3", "n:4"], 4),
        (["m:1", "m:2", "n:3", "n:4"], 4),
        (["n:1", "m:2", "n:3", "m:4"], 3),
    ],
    ids=["who join came first", "they came in between", "they came last", "not all of them have room"],
)
def test_a_queue_that_others_join_is_served_in_the_order_of_arrival(arrivals: list[str], room: int) -> None:
    providers = provider("a", max_queue=room), provider("z")
    script = Script(*providers, models={"m": ["a"], "n": ["z"]})
    script.ask("0")
    script.ask("on_z", model="n")
    names = [name for _, name in (item.split(":") for item in arrivals)]
    for item in arrivals:
        model, name = item.split(":")
        script.ask(name, model=model)
    script.configure(*providers, models={"m": ["a"], "n": ["z", "a"]})
    if room < len(arrivals):
        # A request from the overflow moves in before all that came later.
        script.cancel("4")
    for before, name in zip(["0", *names], names[:room], strict=False):
        script.end(before)
        assert script[name] == "a"


def test_ids_that_never_come_back_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iop_edge.pool.dispatcher._MAX_REMEMBERED", 2)
    script = Script(provider("stays"))
    for name in ("1", "2", "3", "4"):
        script.configure(provider("stays"), provider(name, capacity=9))
        script.ask(f"{name}a", f"{name}b")
        script.end(f"{name}a")
        script.end(f"{name}b")
    script.configure(provider("stays"))
    assert list(script.dispatcher._turns_of_removed) == ["3", "4"]


def test_a_closed_dispatcher_explains_that_it_refuses() -> None:
    script = Script(provider("a"), provider("b", enabled=False))
    script.dispatcher.close()
    found = explain(script.dispatcher, "m")
    assert (found.chosen, found.queues, found.refusal) == (None, (), RefusalReason.CLOSED)
