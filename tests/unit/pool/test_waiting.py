"""Who waits where, for how long, and who is served next: scripts on the core, with a clock that the test moves."""

import pytest

from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.status import Health
from tests.unit.pool.configs import provider
from tests.unit.pool.desk import Desk


@pytest.mark.contract("POL-02")
@pytest.mark.case("A5")
def test_who_came_first_is_served_first() -> None:
    desk = Desk(provider("a", capacity=2))
    desk.ask("r1", "r2", "r3", "r4", "r5")
    assert desk.shown("r1", "r2", "r3", "r4", "r5") == ["a", "a", "waits", "waits", "waits"]
    desk.end("r2")
    assert desk.shown("r3", "r4") == ["a", "waits"]
    desk.end("r1")
    assert desk.shown("r4", "r5") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_models_that_share_a_provider_share_its_line() -> None:
    desk = Desk(provider("a"), models={"m": ["a"], "n": ["a"]})
    desk.ask("r0")
    desk.ask("r1", model="n")
    desk.ask("r2", model="m")
    desk.ask("r3", model="n")
    served = []
    for ended, next_one in (("r0", "r1"), ("r1", "r2"), ("r2", "r3")):
        desk.end(ended)
        served.append(desk[next_one])
    assert served == ["a", "a", "a"]


@pytest.mark.contract("POL-02")
def test_a_request_waits_at_every_provider_and_takes_the_first_that_is_free() -> None:
    desk = Desk(provider("a"), provider("b"))
    desk.ask("on_a", "on_b", "r")
    assert (desk.queued("a"), desk.queued("b")) == (1, 1)
    desk.end("on_b")
    assert desk["r"] == "b"
    assert (desk.queued("a"), desk.queued("b")) == (0, 0)


@pytest.mark.contract("POL-02")
def test_a_full_queue_refuses_the_next_request() -> None:
    desk = Desk(provider("a", max_queue=2))
    desk.ask("r0", "r1", "r2", "r3")
    assert desk.shown("r1", "r2", "r3") == ["waits", "waits", "queue_full"]


@pytest.mark.contract("POL-03")
def test_nobody_waits_where_the_queue_holds_none() -> None:
    desk = Desk(provider("a", max_queue=0))
    desk.ask("r0", "r1")
    assert desk["r1"] == "queue_full"


@pytest.mark.contract("POL-02")
def test_who_found_one_queue_full_moves_in_when_there_is_room_before_any_later_request() -> None:
    desk = Desk(provider("a", max_queue=1), provider("b", max_queue=9))
    desk.ask("on_a", "on_b", "r1", "r2")
    assert (desk.queued("a"), desk.queued("b")) == (1, 2)
    desk.cancel("r1")
    desk.ask("r3")
    assert (desk.queued("a"), desk.queued("b")) == (1, 2)
    desk.end("on_a")
    assert desk.shown("r2", "r3") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_of_several_who_found_a_queue_full_the_first_moves_in() -> None:
    desk = Desk(provider("a", max_queue=1), provider("b"))
    desk.ask("on_a", "on_b", "r1", "r2", "r3")
    desk.cancel("r1")
    desk.end("on_a")
    assert desk.shown("r2", "r3") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_a_queue_that_opens_with_little_room_takes_who_came_first() -> None:
    desk = Desk(provider("a"), provider("b", enabled=False, max_queue=1))
    desk.ask("on_a", "r1", "r2", "r3")
    desk.configure(provider("a"), provider("b", max_queue=1))
    assert desk["r1"] == "b"
    desk.configure(provider("a", enabled=False), provider("b", max_queue=1))
    assert desk.shown("r2", "r3") == ["waits", "no_provider"]


@pytest.mark.contract("POL-02")
def test_who_came_earlier_stands_earlier_in_a_line_that_its_model_gains() -> None:
    desk = Desk(provider("a"), provider("x"), models={"m": ["a"], "n": ["x"]})
    desk.ask("on_a")
    desk.ask("on_x", "early", model="n")
    desk.ask("late")
    desk.configure(provider("a"), provider("x"), models={"m": ["a"], "n": ["x", "a"]})
    desk.end("on_a")
    assert desk.shown("early", "late") == ["a", "waits"]


@pytest.mark.contract("POL-01", "POL-02")
def test_lines_that_open_at_once_are_served_by_arrival_not_one_after_the_other() -> None:
    models = {"only_a": ["a"], "only_b": ["b"], "both": ["a", "b"], "x": ["x"]}
    here = {"a": provider("a", capacity=2), "b": provider("b", capacity=2, priority=1)}
    there = [provider("x", node="n2"), *here.values()]
    desk = Desk(*there, models={name: [*names, "x"] for name, names in models.items() if name != "x"})
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    for name, model in (("on_x", "both"), ("r1", "only_a"), ("r2", "only_b"), ("r3", "both")):
        desk.ask(name, model=model)
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert desk.shown("r1", "r2", "r3") == ["a", "b", "a"]


@pytest.mark.contract("POL-02")
def test_a_provider_that_comes_back_is_not_joined_by_who_does_not_want_it() -> None:
    desk = Desk(provider("a", enabled=False), provider("b"))
    desk.ask("on_b")
    desk.ask("picky", avoid=["a"])
    desk.configure(provider("a"), provider("b"))
    assert (desk["picky"], desk.queued("a")) == ("waits", 0)


@pytest.mark.contract("POL-02")
def test_a_place_that_came_free_goes_to_a_request_that_waits_elsewhere_when_nobody_waits_here() -> None:
    desk = Desk(provider("a", max_queue=0), provider("b"))
    desk.ask("on_a", "on_b", "r")
    assert (desk.queued("a"), desk.queued("b")) == (0, 1)
    desk.end("on_a")
    assert desk["r"] == "a"


@pytest.mark.contract("POL-03")
@pytest.mark.parametrize(
    ("queue", "still_waits_at", "ends_at"),
    [
        ({"queue_timeout_ms": 1500}, 1.4, 1.5),
        ({}, 29.9, 30.0),
        ({"queue_timeout_ms": 0}, 1e9, None),
        ({"max_queue": 5}, 1e9, None),
    ],
    ids=["set", "not configured", "timeout 0", "unset beside a bound"],
)
def test_a_wait_ends_when_its_time_is_up(queue: dict[str, int], still_waits_at: float, ends_at: float | None) -> None:
    desk = Desk({**provider("a"), **queue})
    desk.ask("r0", "r")
    desk.at(still_waits_at)
    assert desk["r"] == "waits"
    if ends_at is None:
        assert desk.dispatcher.next_deadline() is None
    else:
        assert desk.dispatcher.next_deadline() == ends_at
        desk.at(ends_at)
        assert desk["r"] == "timeout"
        assert desk.queued("a") == 0


@pytest.mark.contract("POL-03")
@pytest.mark.parametrize(("queue", "room"), [({}, 100), ({"queue_timeout_ms": 5}, 100), ({"max_queue": 3}, 3)])
def test_so_many_may_wait(queue: dict[str, int], room: int) -> None:
    desk = Desk({**provider("a"), **queue})
    names = [f"r{number}" for number in range(room + 2)]
    desk.ask(*names)
    assert desk.queued("a") == room
    assert desk[names[-1]] == "queue_full"


@pytest.mark.contract("POL-02")
def test_a_request_leaves_each_queue_in_its_own_time() -> None:
    desk = Desk(provider("a", queue_timeout_ms=1000), provider("b", queue_timeout_ms=3000))
    desk.ask("on_a", "on_b", "r")
    desk.at(1)
    assert (desk["r"], desk.queued("a"), desk.queued("b")) == ("waits", 0, 1)
    desk.end("on_a")
    assert desk["r"] == "waits"
    desk.at(3)
    assert desk["r"] == "timeout"


@pytest.mark.contract("POL-02")
def test_a_deadline_that_has_begun_stays_whatever_the_new_config_says() -> None:
    desk = Desk(provider("a", queue_timeout_ms=1000))
    desk.ask("r0", "early")
    desk.configure(provider("a", queue_timeout_ms=9000))
    desk.ask("late")
    desk.at(1)
    assert desk.shown("early", "late") == ["timeout", "waits"]
    desk.at(9)
    assert desk["late"] == "timeout"


@pytest.mark.contract("POL-02")
def test_a_deadline_goes_on_while_its_provider_is_away() -> None:
    desk = Desk(provider("a", node="n1", queue_timeout_ms=1000), provider("b", node="n2", queue_timeout_ms=0))
    desk.ask("on_a", "on_b", "r")
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    desk.now = 0.5
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert desk.queued("a") == 1
    desk.at(1)
    assert (desk["r"], desk.queued("a")) == ("waits", 0)
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert desk.queued("a") == 0


@pytest.mark.contract("POL-02")
def test_a_bound_that_shrinks_evicts_nobody() -> None:
    desk = Desk(provider("a", max_queue=3))
    desk.ask("r0", "r1", "r2", "r3")
    desk.configure(provider("a", max_queue=1))
    assert desk.shown("r1", "r2", "r3") == ["waits", "waits", "waits"]
    desk.ask("r4")
    assert desk["r4"] == "queue_full"


@pytest.mark.contract("POL-02")
def test_a_bound_that_grows_lets_those_in_who_found_the_queue_full() -> None:
    desk = Desk(provider("a", max_queue=1), provider("b"))
    desk.ask("on_a", "on_b", "r1", "r2")
    desk.configure(provider("a", max_queue=2), provider("b"))
    assert desk.queued("a") == 2


def _away(desk: Desk, how: str) -> None:
    if how == "disabled":
        desk.configure(provider("a", enabled=False), provider("b", node="n2"))
    elif how == "unreachable":
        desk.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    elif how == "unhealthy":
        desk.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY)
    elif how == "removed":
        desk.configure(provider("b", node="n2"), models={"m": ["b"]})
    else:
        desk.configure(provider("a"), provider("b", node="n2"), models={"m": ["b"]})


_WAYS_TO_GO = ["disabled", "unreachable", "unhealthy", "removed", "out of the group"]


@pytest.mark.contract("POL-02")
@pytest.mark.case("A2")
@pytest.mark.parametrize("how", _WAYS_TO_GO)
def test_who_waits_leaves_a_provider_that_takes_nobody(how: str) -> None:
    desk = Desk(provider("a"), provider("b", node="n2"))
    desk.ask("on_a", "on_b", "r")
    _away(desk, how)
    assert (desk["r"], desk.queued("b")) == ("waits", 1)
    desk.end("on_a")
    assert desk["r"] == "waits"
    desk.end("on_b")
    assert desk["r"] == "b"


@pytest.mark.contract("POL-02")
@pytest.mark.parametrize("how", ["disabled", "unreachable", "unhealthy"])
def test_a_request_that_waits_nowhere_any_more_is_refused(how: str) -> None:
    desk = Desk(provider("a"), models={"m": ["a"]})
    desk.ask("r0", "r")
    if how == "disabled":
        desk.configure(provider("a", enabled=False))
    else:
        _away(desk, how)
    assert desk["r"] == "no_provider"


@pytest.mark.contract("POL-02")
def test_a_request_whose_model_is_removed_is_refused() -> None:
    desk = Desk(provider("a"), models={"m": ["a"], "n": ["a"]})
    desk.ask("r0")
    desk.ask("r1", model="n")
    desk.ask("r2")
    desk.configure(provider("a"), models={"m": ["a"]})
    assert desk.shown("r1", "r2") == ["unknown", "waits"]
    desk.end("r0")
    assert desk["r2"] == "a"


@pytest.mark.contract("POL-02")
def test_one_refresh_that_swaps_the_providers_under_a_request_does_not_fail_it() -> None:
    desk = Desk(provider("a"), provider("b", enabled=False))
    desk.ask("r0", "r")
    desk.configure(provider("a", enabled=False), provider("b"))
    assert desk["r"] == "b"


@pytest.mark.contract("POL-02")
@pytest.mark.parametrize("how", _WAYS_TO_GO)
def test_a_provider_that_comes_back_is_joined_in_the_order_of_arrival(how: str) -> None:
    desk = Desk(provider("a"), provider("b", node="n2"))
    desk.ask("on_a", "on_b", "r1")
    _away(desk, how)
    desk.ask("r2", "r3")
    assert desk.shown("r1", "r2", "r3") == ["waits", "waits", "waits"]
    desk.configure(provider("a"), provider("b", node="n2"), models={"m": ["a", "b"]})
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    desk.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.HEALTHY)
    assert desk.queued("a") == 3
    desk.end("on_a")
    assert desk.shown("r1", "r2", "r3") == ["a", "waits", "waits"]


@pytest.mark.contract("POL-05")
@pytest.mark.parametrize("how", ["raised", "enabled"])
def test_room_that_a_refresh_makes_is_given_at_once_in_order(how: str) -> None:
    desk = Desk(provider("a"), provider("b", enabled=False))
    desk.ask("r0", "r1", "r2", "r3")
    if how == "raised":
        desk.configure(provider("a", capacity=3), provider("b", enabled=False))
        assert desk.shown("r1", "r2", "r3") == ["a", "a", "waits"]
    else:
        desk.configure(provider("a"), provider("b", capacity=2))
        assert desk.shown("r1", "r2", "r3") == ["b", "b", "waits"]


@pytest.mark.contract("POL-05")
def test_a_lowered_capacity_lets_nobody_in_until_it_has_drained() -> None:
    desk = Desk(provider("a", capacity=3))
    desk.ask("r1", "r2", "r3", "r4", "r5")
    desk.configure(provider("a", capacity=1))
    desk.end("r1")
    desk.end("r2")
    assert desk["r4"] == "waits"
    desk.end("r3")
    assert desk.shown("r4", "r5") == ["a", "waits"]


@pytest.mark.contract("POL-01")
def test_of_several_that_come_free_at_once_the_first_in_line_gets_the_best() -> None:
    desk = Desk(provider("x", node="n2"), provider("a", priority=5), provider("b", priority=1))
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    desk.ask("on_x", "r1", "r2")
    desk.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert desk.shown("r1", "r2") == ["b", "a"]


@pytest.mark.contract("POL-02")
def test_a_cancelled_request_leaves_every_line() -> None:
    desk = Desk(provider("a"), provider("b"))
    desk.ask("on_a", "on_b", "r1", "r2")
    desk.cancel("r1")
    assert (desk.queued("a"), desk.queued("b")) == (1, 1)
    desk.end("on_a")
    assert desk["r2"] == "a"


@pytest.mark.case("A3")
def test_a_place_given_to_a_request_that_is_cancelled_meanwhile_goes_to_the_next() -> None:
    desk = Desk(provider("a"))
    desk.ask("r0", "r1", "r2")
    desk.end("r0")
    desk.cancel("r1")
    assert desk["r2"] == "a"
    assert desk.dispatcher.slot(ProviderId("a")).in_flight == 1


@pytest.mark.contract("POL-02")
def test_a_request_does_not_wait_where_it_does_not_want_to_go() -> None:
    desk = Desk(provider("a"), provider("b"))
    desk.ask("on_a", "on_b")
    desk.ask("picky", avoid=["a"])
    desk.ask("r")
    desk.end("on_a")
    assert desk.shown("picky", "r") == ["waits", "a"]
    desk.end("on_b")
    assert desk["picky"] == "b"
    desk.ask("nowhere", avoid=["a", "b"])
    assert desk["nowhere"] == "no_provider"


def test_a_closed_pool_refuses_who_waits_and_who_comes_and_cuts_nobody() -> None:
    desk = Desk(provider("a"))
    desk.ask("r0", "r1")
    desk.dispatcher.close()
    desk.ask("r2")
    assert desk.shown("r0", "r1", "r2") == ["a", "closed", "closed"]
    desk.end("r0")
    assert desk.dispatcher.slot(ProviderId("a")).in_flight == 0


def test_waits_that_have_ended_leave_nothing_behind() -> None:
    desk = Desk(provider("a", queue_timeout_ms=60_000))
    desk.ask("r0")
    for number in range(1000):
        desk.ask(f"w{number}")
        desk.cancel(f"w{number}")
    assert desk.queued("a") == 0
    assert desk.dispatcher.next_deadline() is None
    assert len(desk.dispatcher._deadlines._heap) < 200
