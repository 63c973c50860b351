"""Which Edge a Node belongs to, and which of its processes may speak."""

import logging

import pytest

from iop_edge.ids import EdgeId, EdgeInstanceId
from iop_edge.node.session import LEASE_SECONDS, AnotherEdgeError, SessionHeldError, Sessions
from tests.clock import ManualClock

pytestmark = pytest.mark.contract("PSH-02")

EDGE, OTHER = EdgeId("edge-1"), EdgeId("edge-2")
FIRST, SECOND = EdgeInstanceId("instance-1"), EdgeInstanceId("instance-2")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def sessions(clock: ManualClock) -> Sessions:
    opened = Sessions(clock)
    opened.open(EDGE, FIRST, take_over=False)
    return opened


def test_node_belongs_to_nobody_before_the_first_handshake(clock: ManualClock) -> None:
    sessions = Sessions(clock)
    assert not sessions.edge_id
    with pytest.raises(SessionHeldError):
        sessions.require(EDGE, FIRST)


def test_caller_that_has_shaken_hands_holds_the_session(sessions: Sessions) -> None:
    assert sessions.edge_id == EDGE
    assert sessions.require(EDGE, FIRST).instance_id == FIRST


def test_second_process_is_refused_during_the_lease(sessions: Sessions, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(SessionHeldError):
        sessions.open(EDGE, SECOND, take_over=False)
    assert FIRST in caplog.text
    with pytest.raises(SessionHeldError):
        sessions.require(EDGE, SECOND)


def test_second_process_is_refused_while_a_stream_is_open(sessions: Sessions, clock: ManualClock) -> None:
    with sessions.stream(sessions.require(EDGE, FIRST)):
        clock.advance(LEASE_SECONDS * 100)
        with pytest.raises(SessionHeldError):
            sessions.open(EDGE, SECOND, take_over=False)
        sessions.require(EDGE, FIRST)


def test_taking_over_is_from_another_edge_not_from_a_process(sessions: Sessions) -> None:
    with pytest.raises(SessionHeldError):
        sessions.open(EDGE, SECOND, take_over=True)


def test_session_is_free_when_its_stream_has_ended(sessions: Sessions) -> None:
    with sessions.stream(sessions.require(EDGE, FIRST)):
        pass
    sessions.open(EDGE, SECOND, take_over=False)
    assert sessions.require(EDGE, SECOND)
    with pytest.raises(SessionHeldError):
        sessions.require(EDGE, FIRST)


def test_session_lives_until_its_last_stream_has_ended(sessions: Sessions) -> None:
    session = sessions.require(EDGE, FIRST)
    with sessions.stream(session):
        with sessions.stream(session):
            pass
        with pytest.raises(SessionHeldError):
            sessions.open(EDGE, SECOND, take_over=False)


@pytest.mark.parametrize(("passed", "is_live"), [(LEASE_SECONDS - 0.1, True), (LEASE_SECONDS, False)])
def test_lease_without_a_stream_runs_out(
    sessions: Sessions, clock: ManualClock, passed: float, *, is_live: bool
) -> None:
    clock.advance(passed)
    if is_live:
        sessions.require(EDGE, FIRST)
        with pytest.raises(SessionHeldError):
            sessions.open(EDGE, SECOND, take_over=False)
    else:
        with pytest.raises(SessionHeldError):
            sessions.require(EDGE, FIRST)
        sessions.open(EDGE, SECOND, take_over=False)


def test_same_process_shakes_hands_again(sessions: Sessions, clock: ManualClock) -> None:
    session = sessions.require(EDGE, FIRST)
    clock.advance(LEASE_SECONDS - 1)
    sessions.open(EDGE, FIRST, take_over=False)
    clock.advance(LEASE_SECONDS - 1)
    assert sessions.require(EDGE, FIRST) is session


def test_another_edge_is_refused_even_when_no_session_lives(sessions: Sessions, clock: ManualClock) -> None:
    clock.advance(LEASE_SECONDS * 100)
    with pytest.raises(AnotherEdgeError):
        sessions.open(OTHER, SECOND, take_over=False)
    with pytest.raises(AnotherEdgeError):
        sessions.require(OTHER, SECOND)
    assert sessions.edge_id == EDGE


def test_another_edge_takes_over_on_purpose_and_ends_the_old_session(sessions: Sessions) -> None:
    old = sessions.require(EDGE, FIRST)
    with sessions.stream(old):
        sessions.open(OTHER, SECOND, take_over=True)
        assert old.ended.is_set()
        assert sessions.edge_id == OTHER
        with pytest.raises(AnotherEdgeError):
            sessions.require(EDGE, FIRST)
        with pytest.raises(AnotherEdgeError):
            sessions.open(EDGE, FIRST, take_over=False)
    assert not sessions.require(OTHER, SECOND).ended.is_set()


def test_stream_that_ends_late_leaves_the_handshake_that_came_after_it(sessions: Sessions, clock: ManualClock) -> None:
    with sessions.stream(sessions.require(EDGE, FIRST)):
        clock.advance(1)
        sessions.open(EDGE, FIRST, take_over=False)
    sessions.require(EDGE, FIRST)
    with sessions.stream(sessions.require(EDGE, FIRST)):
        pass
    with pytest.raises(SessionHeldError):
        sessions.require(EDGE, FIRST)
