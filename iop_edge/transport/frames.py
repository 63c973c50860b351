"""What a peer may send: frames of a bounded size, and a bounded number of those that carry nothing."""

from collections.abc import Callable
from typing import Final

from h2.exceptions import DenialOfServiceError, ProtocolError
from h2.frame_buffer import FrameBuffer
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    HeadersFrame,
    PushPromiseFrame,
    RstStreamFrame,
    SettingsFrame,
)

_SMALL_BYTES: Final = 256
_RESET_COST: Final = 10
"""A request that is taken back at once has cost more here than it has cost its caller."""

_SETTINGS_COST: Final = 20
"""Peers say once how they would have it, and hardly ever change their minds."""

_BURST: Final = 10_000
_EACH_SECOND: Final = 2_000
_BYTES_THAT_EARN_ONE: Final = 1 << 10
"""Who takes what it is sent says so, frame by frame: what is written pays for that."""


class FrameBudget:
    """How many frames that carry nothing a peer may still send.

    Args:
        clock: the time, in seconds.
        written: tells how many bytes the peer has been sent so far.
    """

    def __init__(self, clock: Callable[[], float], written: Callable[[], int]) -> None:
        self._clock = clock
        self._written = written
        self._left: float = _BURST
        self._last_time = clock()
        self._last_written = written()

    def spend(self, cost: int) -> None:
        """Take the cost of a frame.

        Raises:
            DenialOfServiceError: there is not that much left.
        """
        if self._left < cost:
            self._earn()
        if self._left < cost:
            raise DenialOfServiceError("too many frames that carry nothing")
        self._left -= cost

    def _earn(self) -> None:
        now, written = self._clock(), self._written()
        earned = (now - self._last_time) * _EACH_SECOND + (written - self._last_written) / _BYTES_THAT_EARN_ONE
        self._last_time, self._last_written = now, written
        self._left = min(self._left + earned, _BURST)


class BoundedFrames(FrameBuffer):
    """Refuses a frame that is too large as soon as it announces itself: h2 would wait until all of it is there."""

    def __init__(self, budget: FrameBudget, *, server: bool) -> None:
        super().__init__(server=server)
        self._budget = budget

    def __next__(self) -> Frame:
        """Return the next frame that is complete."""
        if len(self._data) >= 3:
            self._validate_frame_length(int.from_bytes(self._data[:3]))
        frame = super().__next__()
        if cost := _cost(frame):
            self._budget.spend(cost)
        return frame


def _cost(frame: Frame) -> int:
    match frame:
        case HeadersFrame() | ContinuationFrame():
            return 0
        case DataFrame():
            return int(len(frame.data) < _SMALL_BYTES and "END_STREAM" not in frame.flags)
        case RstStreamFrame():
            return _RESET_COST
        case PushPromiseFrame():
            raise ProtocolError("a promise, and gRPC knows none")
        case SettingsFrame():
            return _SETTINGS_COST + len(frame.settings)
        case _:
            return 1
