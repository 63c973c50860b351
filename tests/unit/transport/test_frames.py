"""How many frames without content are accepted."""

import pytest
from h2.exceptions import DenialOfServiceError

from iop_edge.transport.connection import FrameBudget
from tests.clock import ManualClock


class World:
    """Time, and what was sent."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.sent = 0
        self.budget = FrameBudget(self.clock, lambda: self.sent)

    def spend_until_refused(self) -> int:
        for count in range(1_000_000):
            try:
                self.budget.spend(1)
            except DenialOfServiceError:
                return count
        raise AssertionError("never refused")


def test_flood_is_refused() -> None:
    assert World().spend_until_refused() == 10_000


@pytest.mark.parametrize(
    ("seconds", "sent", "more"),
    [
        pytest.param(0, 0, 0, id="neither"),
        pytest.param(1, 0, 2_000, id="a second"),
        pytest.param(0, 1 << 20, 1_024, id="a MiB"),
        pytest.param(1, 1 << 20, 3_024, id="both"),
        pytest.param(3_600, 1 << 30, 10_000, id="no more than at the beginning"),
    ],
)
def test_time_and_what_is_sent_pay_for_frames(seconds: float, sent: int, more: int) -> None:
    world = World()
    world.budget.spend(10_000)
    world.clock.advance(seconds)
    world.sent += sent
    assert world.spend_until_refused() == more


def test_peer_that_confirms_all_that_it_is_sent_is_never_refused() -> None:
    world = World()
    for _ in range(100_000):
        world.sent += 16_384
        world.budget.spend(2)
