"""What an observer is told of requests that are not served at once."""

import pytest

from iop_edge.ids import DispatchKey, NodeId, ProviderId
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.slots import Lease, Waiter
from tests.unit.pool.configs import catalogue, provider


class Recorder:
    """Remembers what it is told, as words."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, float]] = []

    def on_refused(self, key: DispatchKey, reason: RefusalReason) -> None:
        self.told.append((key.id, f"refused: {reason}", 0))

    def on_wait_ended(self, key: DispatchKey, outcome: Lease | RefusalReason | None, seconds: float) -> None:
        how = outcome if isinstance(outcome, RefusalReason) else "granted" if outcome else "cancelled"
        self.told.append((key.id, how, seconds))


class World:
    """A dispatcher of one provider that takes one request and lets one wait for ten seconds, and its clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.recorder = Recorder()
        self.dispatcher = Dispatcher(lambda: self.now, lambda _: None, self.recorder)
        self.dispatcher.reconfigure(catalogue([provider("p", max_queue=1, queue_timeout_ms=10_000)], {"m": ["p"]}))
        self.dispatcher.set_reachable(NodeId("n1"), reachable=True)

    def ask(self, model: str = "m") -> Lease | RefusalReason | Waiter:
        try:
            return self.dispatcher.take_or_wait(model)
        except NoProviderError as error:
            return error.reason


@pytest.fixture
def world() -> World:
    return World()


def test_a_request_that_is_served_at_once_is_not_told_of(world: World) -> None:
    lease = world.ask()
    assert isinstance(lease, Lease)
    lease.release()
    assert world.recorder.told == []


def test_a_wait_is_told_with_how_it_ended_and_how_long_it_took(world: World) -> None:
    lease, _ = world.ask(), world.ask()
    assert isinstance(lease, Lease)
    world.now += 4
    lease.release()
    waiter = world.ask()
    assert isinstance(waiter, Waiter)
    world.now += 2
    world.dispatcher.cancel(waiter)
    world.ask()
    world.now += 10
    world.dispatcher.expire()
    world.ask()
    world.dispatcher.set_reachable(NodeId("n1"), reachable=False)
    assert world.recorder.told == [
        ("m", "granted", 4),
        ("m", "cancelled", 2),
        ("m", RefusalReason.TIMEOUT, 10),
        ("m", RefusalReason.NO_PROVIDER, 0),
    ]


def test_a_caller_that_goes_away_with_its_lease_has_waited_once(world: World) -> None:
    lease, waiter = world.ask(), world.ask()
    assert isinstance(lease, Lease)
    assert isinstance(waiter, Waiter)
    lease.release()
    world.dispatcher.cancel(waiter)
    assert world.recorder.told == [("m", "granted", 0)]
    assert world.dispatcher.slots[ProviderId("p")].in_flight == 0


def test_a_refusal_is_told_once(world: World) -> None:
    for _ in range(3):
        world.ask()
    world.ask("nope")
    world.ask("nope")
    world.dispatcher.close()
    world.ask()
    assert world.recorder.told == [
        ("m", "refused: queue_full", 0),
        ("nope", "refused: unknown", 0),
        ("nope", "refused: unknown", 0),
        ("m", RefusalReason.CLOSED, 0),
        ("m", "refused: closed", 0),
    ]


def test_a_request_that_does_not_wait_is_not_told_of(world: World) -> None:
    world.ask()
    with pytest.raises(NoProviderError):
        world.dispatcher.take("m")
    assert world.recorder.told == []
