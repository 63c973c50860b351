"""Which requests wait where, how long, and which is served next, with a clock that the test sets."""

import pytest

from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.status import Health
from tests.unit.pool.configs import provider
from tests.unit.pool.script import Script


@pytest.mark.contract("POL-02")
@pytest.mark.case("A5")
def test_requests_are_served_in_order_of_arrival() -> None:
    script = Script(provider("a", capacity=2))
    script.ask("r1", "r2", "r3", "r4", "r5")
    assert script.shown("r1", "r2", "r3", "r4", "r5") == ["a", "a", "waits", "waits", "waits"]
    script.end("r2")
    assert script.shown("r3", "r4") == ["a", "waits"]
    script.end("r1")
    assert script.shown("r4", "r5") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_models_that_share_a_provider_share_its_queue() -> None:
    script = Script(provider("a"), models={"m": ["a"], "n": ["a"]})
    script.ask("r0")
    script.ask("r1", model="n")
    script.ask("r2", model="m")
    script.ask("r3", model="n")
    served = []
    for ended, next_one in (("r0", "r1"), ("r1", "r2"), ("r2", "r3")):
        script.end(ended)
        served.append(script[next_one])
    assert served == ["a", "a", "a"]


@pytest.mark.contract("POL-02")
def test_a_request_waits_at_every_provider_and_takes_the_first_that_is_free() -> None:
    script = Script(provider("a"), provider("b"))
    script.ask("on_a", "on_b", "r")
    assert (script.queued("a"), script.queued("b")) == (1, 1)
    script.end("on_b")
    assert script["r"] == "b"
    assert (script.queued("a"), script.queued("b")) == (0, 0)


@pytest.mark.contract("POL-02")
def test_a_full_queue_refuses_the_next_request() -> None:
    script = Script(provider("a", max_queue=2))
    script.ask("r0", "r1", "r2", "r3")
    assert script.shown("r1", "r2", "r3") == ["waits", "waits", "queue_full"]


@pytest.mark.contract("POL-03")
def test_a_queue_of_length_0_lets_none_wait() -> None:
    script = Script(provider("a", max_queue=0))
    script.ask("r0", "r1")
    assert script["r1"] == "queue_full"


@pytest.mark.contract("POL-02")
def test_a_request_in_the_overflow_moves_in_before_any_later_one() -> None:
    script = Script(provider("a", max_queue=1), provider("b", max_queue=9))
    script.ask("on_a", "on_b", "r1", "r2")
    assert (script.queued("a"), script.queued("b")) == (1, 2)
    script.cancel("r1")
    script.ask("r3")
    assert (script.queued("a"), script.queued("b")) == (1, 2)
    script.end("on_a")
    assert script.shown("r2", "r3") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_the_earliest_request_in_the_overflow_moves_in() -> None:
    script = Script(provider("a", max_queue=1), provider("b"))
    script.ask("on_a", "on_b", "r1", "r2", "r3")
    script.cancel("r1")
    script.end("on_a")
    assert script.shown("r2", "r3") == ["a", "waits"]


@pytest.mark.contract("POL-02")
def test_a_short_queue_that_opens_takes_the_earliest_requests() -> None:
    script = Script(provider("a"), provider("b", enabled=False, max_queue=1))
    script.ask("on_a", "r1", "r2", "r3")
    script.configure(provider("a"), provider("b", max_queue=1))
    assert script["r1"] == "b"
    script.configure(provider("a", enabled=False), provider("b", max_queue=1))
    assert script.shown("r2", "r3") == ["waits", "no_provider"]


@pytest.mark.contract("POL-02")
def test_an_earlier_request_goes_first_in_a_queue_that_its_model_gains() -> None:
    script = Script(provider("a"), provider("x"), models={"m": ["a"], "n": ["x"]})
    script.ask("on_a")
    script.ask("on_x", "early", model="n")
    script.ask("late")
    script.configure(provider("a"), provider("x"), models={"m": ["a"], "n": ["x", "a"]})
    script.end("on_a")
    assert script.shown("early", "late") == ["a", "waits"]


@pytest.mark.contract("POL-01", "POL-02")
def test_queues_that_open_at_once_are_served_by_arrival_not_one_by_one() -> None:
    models = {"only_a": ["a"], "only_b": ["b"], "both": ["a", "b"], "x": ["x"]}
    here = {"a": provider("a", capacity=2), "b": provider("b", capacity=2, priority=1)}
    there = [provider("x", node="n2"), *here.values()]
    script = Script(*there, models={name: [*names, "x"] for name, names in models.items() if name != "x"})
    script.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    for name, model in (("on_x", "both"), ("r1", "only_a"), ("r2", "only_b"), ("r3", "both")):
        script.ask(name, model=model)
    script.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert script.shown("r1", "r2", "r3") == ["a", "b", "a"]


@pytest.mark.contract("POL-02")
def test_a_provider_that_comes_back_is_not_joined_by_requests_that_avoid_it() -> None:
    script = Script(provider("a", enabled=False), provider("b"))
    script.ask("on_b")
    script.ask("picky", avoid=["a"])
    script.configure(provider("a"), provider("b"))
    assert (script["picky"], script.queued("a")) == ("waits", 0)


@pytest.mark.contract("POL-02")
def test_a_free_slot_with_an_empty_queue_goes_to_a_request_that_waits_elsewhere() -> None:
    script = Script(provider("a", max_queue=0), provider("b"))
    script.ask("on_a", "on_b", "r")
    assert (script.queued("a"), script.queued("b")) == (0, 1)
    script.end("on_a")
    assert script["r"] == "a"


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
    script = Script({**provider("a"), **queue})
    script.ask("r0", "r")
    script.at(still_waits_at)
    assert script["r"] == "waits"
    if ends_at is None:
        assert script.dispatcher.next_deadline() is None
    else:
        assert script.dispatcher.next_deadline() == ends_at
        script.at(ends_at)
        assert script["r"] == "timeout"
        assert script.queued("a") == 0


@pytest.mark.contract("POL-03")
@pytest.mark.parametrize(("queue", "room"), [({}, 100), ({"queue_timeout_ms": 5}, 100), ({"max_queue": 3}, 3)])
def test_a_queue_holds_so_many_requests(queue: dict[str, int], room: int) -> None:
    script = Script({**provider("a"), **queue})
    names = [f"r{number}" for number in range(room + 2)]
    script.ask(*names)
    assert script.queued("a") == room
    assert script[names[-1]] == "queue_full"


@pytest.mark.contract("POL-02")
def test_a_request_leaves_each_queue_in_its_own_time() -> None:
    script = Script(provider("a", queue_timeout_ms=1000), provider("b", queue_timeout_ms=3000))
    script.ask("on_a", "on_b", "r")
    script.at(1)
    assert (script["r"], script.queued("a"), script.queued("b")) == ("waits", 0, 1)
    script.end("on_a")
    assert script["r"] == "waits"
    script.at(3)
    assert script["r"] == "timeout"


@pytest.mark.contract("POL-02")
def test_a_deadline_that_has_begun_stays_whatever_the_new_config_says() -> None:
    script = Script(provider("a", queue_timeout_ms=1000))
    script.ask("r0", "early")
    script.configure(provider("a", queue_timeout_ms=9000))
    script.ask("late")
    script.at(1)
    assert script.shown("early", "late") == ["timeout", "waits"]
    script.at(9)
    assert script["late"] == "timeout"


@pytest.mark.contract("POL-02")
def test_a_deadline_goes_on_while_its_provider_is_away() -> None:
    script = Script(provider("a", node="n1", queue_timeout_ms=1000), provider("b", node="n2", queue_timeout_ms=0))
    script.ask("on_a", "on_b", "r")
    script.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    script.now = 0.5
    script.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert script.queued("a") == 1
    script.at(1)
    assert (script["r"], script.queued("a")) == ("waits", 0)
    script.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    script.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert script.queued("a") == 0


@pytest.mark.contract("POL-02")
def test_a_bound_that_shrinks_evicts_nobody() -> None:
    script = Script(provider("a", max_queue=3))
    script.ask("r0", "r1", "r2", "r3")
    script.configure(provider("a", max_queue=1))
    assert script.shown("r1", "r2", "r3") == ["waits", "waits", "waits"]
    script.ask("r4")
    assert script["r4"] == "queue_full"


@pytest.mark.contract("POL-02")
def test_a_bound_that_grows_lets_the_overflow_in() -> None:
    script = Script(provider("a", max_queue=1), provider("b"))
    script.ask("on_a", "on_b", "r1", "r2")
    script.configure(provider("a", max_queue=2), provider("b"))
    assert script.queued("a") == 2


def _away(script: Script, how: str) -> None:
    if how == "disabled":
        script.configure(provider("a", enabled=False), provider("b", node="n2"))
    elif how == "unreachable":
        script.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    elif how == "unhealthy":
        script.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.UNHEALTHY)
    elif how == "removed":
        script.configure(provider("b", node="n2"), models={"m": ["b"]})
    else:
        script.configure(provider("a"), provider("b", node="n2"), models={"m": ["b"]})


_WAYS_TO_GO = ["disabled", "unreachable", "unhealthy", "removed", "out of the group"]


@pytest.mark.contract("POL-02")
@pytest.mark.case("A2")
@pytest.mark.parametrize("how", _WAYS_TO_GO)
def test_waiting_requests_leave_a_provider_that_takes_none(how: str) -> None:
    script = Script(provider("a"), provider("b", node="n2"))
    script.ask("on_a", "on_b", "r")
    _away(script, how)
    assert (script["r"], script.queued("b")) == ("waits", 1)
    script.end("on_a")
    assert script["r"] == "waits"
    script.end("on_b")
    assert script["r"] == "b"


@pytest.mark.contract("POL-02")
@pytest.mark.parametrize("how", ["disabled", "unreachable", "unhealthy"])
def test_a_request_that_waits_nowhere_any_more_is_refused(how: str) -> None:
    script = Script(provider("a"), models={"m": ["a"]})
    script.ask("r0", "r")
    if how == "disabled":
        script.configure(provider("a", enabled=False))
    else:
        _away(script, how)
    assert script["r"] == "no_provider"


@pytest.mark.contract("POL-02")
def test_a_request_whose_model_is_removed_is_refused() -> None:
    script = Script(provider("a"), models={"m": ["a"], "n": ["a"]})
    script.ask("r0")
    script.ask("r1", model="n")
    script.ask("r2")
    script.configure(provider("a"), models={"m": ["a"]})
    assert script.shown("r1", "r2") == ["unknown", "waits"]
    script.end("r0")
    assert script["r2"] == "a"


@pytest.mark.contract("POL-02")
def test_one_refresh_that_swaps_the_providers_under_a_request_does_not_fail_it() -> None:
    script = Script(provider("a"), provider("b", enabled=False))
    script.ask("r0", "r")
    script.configure(provider("a", enabled=False), provider("b"))
    assert script["r"] == "b"


@pytest.mark.contract("POL-02")
@pytest.mark.parametrize("how", _WAYS_TO_GO)
def test_a_provider_that_comes_back_is_joined_in_the_order_of_arrival(how: str) -> None:
    script = Script(provider("a"), provider("b", node="n2"))
    script.ask("on_a", "on_b", "r1")
    _away(script, how)
    script.ask("r2", "r3")
    assert script.shown("r1", "r2", "r3") == ["waits", "waits", "waits"]
    script.configure(provider("a"), provider("b", node="n2"), models={"m": ["a", "b"]})
    script.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    script.dispatcher.set_health(NodeId("n1"), ProviderId("a"), Health.HEALTHY)
    assert script.queued("a") == 3
    script.end("on_a")
    assert script.shown("r1", "r2", "r3") == ["a", "waits", "waits"]


@pytest.mark.contract("POL-05")
@pytest.mark.parametrize("how", ["raised", "enabled"])
def test_room_that_a_refresh_makes_is_given_at_once_in_order(how: str) -> None:
    script = Script(provider("a"), provider("b", enabled=False))
    script.ask("r0", "r1", "r2", "r3")
    if how == "raised":
        script.configure(provider("a", capacity=3), provider("b", enabled=False))
        assert script.shown("r1", "r2", "r3") == ["a", "a", "waits"]
    else:
        script.configure(provider("a"), provider("b", capacity=2))
        assert script.shown("r1", "r2", "r3") == ["b", "b", "waits"]


@pytest.mark.contract("POL-05")
def test_a_lowered_capacity_admits_no_request_until_it_has_drained() -> None:
    script = Script(provider("a", capacity=3))
    script.ask("r1", "r2", "r3", "r4", "r5")
    script.configure(provider("a", capacity=1))
    script.end("r1")
    script.end("r2")
    assert script["r4"] == "waits"
    script.end("r3")
    assert script.shown("r4", "r5") == ["a", "waits"]


@pytest.mark.contract("POL-01")
def test_of_several_that_come_free_at_once_the_first_in_line_gets_the_best() -> None:
    script = Script(provider("x", node="n2"), provider("a", priority=5), provider("b", priority=1))
    script.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    script.ask("on_x", "r1", "r2")
    script.dispatcher.set_reachable(NodeId("n1"), reachable=True)
    assert script.shown("r1", "r2") == ["b", "a"]


@pytest.mark.contract("POL-02")
def test_a_cancelled_request_leaves_every_queue() -> None:
    script = Script(provider("a"), provider("b"))
    script.ask("on_a", "on_b", "r1", "r2")
    script.cancel("r1")
    assert (script.queued("a"), script.queued("b")) == (1, 1)
    script.end("on_a")
    assert script["r2"] == "a"


@pytest.mark.case("A3")
def test_a_lease_granted_to_a_request_that_is_cancelled_meanwhile_goes_to_the_next() -> None:
    script = Script(provider("a"))
    script.ask("r0", "r1", "r2")
    script.end("r0")
    script.cancel("r1")
    assert script["r2"] == "a"
    assert script.dispatcher.slots[ProviderId("a")].in_flight == 1


@pytest.mark.contract("POL-02")
def test_a_request_does_not_wait_where_it_does_not_want_to_go() -> None:
    script = Script(provider("a"), provider("b"))
    script.ask("on_a", "on_b")
    script.ask("picky", avoid=["a"])
    script.ask("r")
    script.end("on_a")
    assert script.shown("picky", "r") == ["waits", "a"]
    script.end("on_b")
    assert script["picky"] == "b"
    script.ask("nowhere", avoid=["a", "b"])
    assert script["nowhere"] == "no_provider"


def test_a_closed_pool_refuses_waiting_and_new_requests_and_cuts_none() -> None:
    script = Script(provider("a"))
    script.ask("r0", "r1")
    script.dispatcher.close()
    script.ask("r2")
    assert script.shown("r0", "r1", "r2") == ["a", "closed", "closed"]
    script.end("r0")
    assert script.dispatcher.slots[ProviderId("a")].in_flight == 0


def test_waits_that_have_ended_leave_nothing_behind() -> None:
    script = Script(provider("a", queue_timeout_ms=60_000))
    script.ask("r0")
    for number in range(1000):
        script.ask(f"w{number}")
        script.cancel(f"w{number}")
    assert script.queued("a") == 0
    assert script.dispatcher.next_deadline() is None
    assert len(script.dispatcher._deadlines._heap) < 200
