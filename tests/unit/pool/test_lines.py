"""Who stands where in a line when several things change at once, and what is left when all is over."""

import sys
from types import FrameType

import pytest

from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.explain import explain
from iop_edge.pool.status import Health
from tests.unit.pool.configs import provider
from tests.unit.pool.desk import Desk


@pytest.mark.contract("POL-02")
def test_who_came_first_is_served_first_also_where_it_moved_in_last() -> None:
    providers = provider("a", max_queue=2), provider("z")
    desk = Desk(*providers, models={"m": ["a"], "n": ["z"]})
    desk.ask("on_z", "early", model="n")
    desk.ask("on_a", "r1", "r2")
    desk.configure(*providers, models={"m": ["a"], "n": ["z", "a"]})
    assert desk.queued("a") == 2
    desk.cancel("r1")
    desk.end("on_a")
    assert desk.shown("early", "r2") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_room_in_a_queue_that_several_want_goes_to_who_came_first() -> None:
    providers = provider("a", max_queue=1), provider("y"), provider("z")
    desk = Desk(*providers, models={"leaves": ["a", "y"], "stays": ["a", "z"], "joins": ["z"]})
    for name, model in (("on_a", "leaves"), ("on_y", "leaves"), ("on_z", "joins")):
        desk.ask(name, model=model)
    desk.ask("early", model="joins")
    desk.ask("in_queue", model="leaves")
    desk.ask("at_the_door", model="stays")
    desk.configure(*providers, models={"leaves": ["y"], "stays": ["a", "z"], "joins": ["z", "a"]})
    assert desk.queued("a") == 1
    desk.end("on_a")
    assert desk.shown("early", "at_the_door") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_a_time_that_is_up_is_up_also_for_who_stands_before_a_full_queue() -> None:
    slow = provider("b", queue_timeout_ms=0)
    desk = Desk(provider("a", queue_timeout_ms=1000), slow)
    desk.ask("on_a", "on_b", "r")
    desk.configure(provider("a", enabled=False), slow)
    desk.configure(provider("a", max_queue=0), slow)
    desk.at(1)
    desk.end("on_a")
    assert desk["r"] == "waits"
    desk.end("on_b")
    assert desk["r"] == "b"


@pytest.mark.contract("POL-02")
def test_no_time_begins_at_a_provider_that_the_same_refresh_takes_out() -> None:
    slow = provider("b", queue_timeout_ms=0)
    both = {"m": ["a", "b"], "n": ["a", "b"]}
    desk = Desk(provider("a", max_queue=1, queue_timeout_ms=1000), slow, models=both)
    desk.ask("on_a", "on_b", "in_queue")
    desk.ask("at_the_door", model="n")
    desk.configure(provider("a", enabled=False), slow, models={"m": ["b"], "n": ["a", "b"]})
    desk.now = 5
    desk.configure(provider("a", max_queue=1, queue_timeout_ms=1000), slow)
    assert (desk.queued("a"), desk.dispatcher.next_deadline()) == (1, 6)


@pytest.mark.contract("POL-02")
def test_of_those_whose_time_is_up_at_once_who_came_first_leaves_first() -> None:
    a, b = (provider(name, max_queue=1, queue_timeout_ms=1000) for name in "ab")
    desk = Desk(a, b, models={"m": ["a"], "n": ["a", "b"]})
    desk.ask("on_a")
    desk.ask("on_b", model="n")
    desk.ask("on_a_only")
    desk.ask("on_both", model="n")
    desk.at(1)
    assert desk.shown("on_a_only", "on_both") == ["timeout", "waits"]
    assert desk.dispatcher.next_deadline() == 2


@pytest.mark.contract("POL-01")
def test_the_rotation_survives_removing_and_adding_again() -> None:
    desk = Desk(provider("a"), provider("b"))
    desk.ask("r1")
    desk.end("r1")
    desk.configure(provider("b"))
    desk.configure(provider("a"), provider("b"))
    desk.ask("r2")
    assert desk.shown("r1", "r2") == ["a", "b"]


@pytest.mark.contract("POL-05")
@pytest.mark.parametrize("node", ["n1", "n2"])
def test_requests_in_flight_count_when_their_provider_is_removed_and_added_again(node: str) -> None:
    desk = Desk(provider("a", capacity=2), provider("b"), models={"m": ["a"]})
    desk.ask("r1", "r2")
    desk.configure(provider("b"), models={"m": ["b"]})
    desk.configure(provider("a", node=node, capacity=2), provider("b"), models={"m": ["a"]})
    desk.ask("r3", "r4")
    assert desk.shown("r3", "r4") == ["waits", "waits"]
    desk.end("r1")
    assert desk.shown("r3", "r4") == ["a", "waits"]
    desk.end("r2")
    assert desk["r4"] == "a"


def test_a_request_that_leaves_and_comes_back_often_costs_no_more_memory_each_time() -> None:
    desk = Desk(provider("a"), provider("b"))
    desk.ask("on_a", "on_b", "r")
    for _ in range(1000):
        desk.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY)
        desk.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.HEALTHY)
    assert desk.queued("a") == 1
    assert len(desk.dispatcher._deadlines._heap) < 200


def calls_of_a_provider_gained_by_a_model(waiting: int) -> int:
    """Count the calls that it takes to let so many join a line in which as many stand who came later."""
    providers = provider("a", max_queue=10_000), provider("z", max_queue=10_000)
    desk = Desk(*providers, models={"m": ["a"], "n": ["z"]})
    desk.ask("on_a")
    desk.ask("on_z", *(f"early {number}" for number in range(waiting)), model="n")
    desk.ask(*(f"late {number}" for number in range(waiting)))
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        desk.configure(*providers, models={"m": ["a"], "n": ["z", "a"]})
    finally:
        sys.setprofile(None)
    assert desk.queued("a") == 2 * waiting
    return calls


@pytest.mark.contract("POL-02")
def test_many_who_join_a_line_of_many_cost_each_no_more_than_few() -> None:
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
def test_a_line_that_others_join_is_served_in_the_order_of_arrival(arrivals: list[str], room: int) -> None:
    providers = provider("a", max_queue=room), provider("z")
    desk = Desk(*providers, models={"m": ["a"], "n": ["z"]})
    desk.ask("0")
    desk.ask("on_z", model="n")
    names = [name for _, name in (item.split(":") for item in arrivals)]
    for item in arrivals:
        model, name = item.split(":")
        desk.ask(name, model=model)
    desk.configure(*providers, models={"m": ["a"], "n": ["z", "a"]})
    if room < len(arrivals):
        # Who stands before the door moves in behind nobody who came later.
        desk.cancel("4")
    for before, name in zip(["0", *names], names[:room], strict=False):
        desk.end(before)
        assert desk[name] == "a"


def test_ids_that_never_come_back_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iop_edge.pool.dispatcher._MAX_REMEMBERED", 2)
    desk = Desk(provider("stays"))
    for name in ("1", "2", "3", "4"):
        desk.configure(provider("stays"), provider(name, capacity=9))
        desk.ask(f"{name}a", f"{name}b")
        desk.end(f"{name}a")
        desk.end(f"{name}b")
    desk.configure(provider("stays"))
    assert list(desk.dispatcher._turns_of_removed) == ["3", "4"]


def test_a_closed_pool_explains_that_it_takes_nobody() -> None:
    desk = Desk(provider("a"), provider("b", enabled=False))
    desk.dispatcher.close()
    found = explain(desk.dispatcher, "m")
    assert (found.chosen, found.queues, found.refusal) == (None, (), RefusalReason.CLOSED)
