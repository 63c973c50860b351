"""What is done in the place of h2 is what h2 does."""

from typing import Final

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from iop_edge.transport import hooks

STREAM: Final = 1
HEADERS: Final = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")]


def begun() -> H2Connection:
    """Return a connection with a stream on which nothing was sent yet."""
    connection = H2Connection(H2Configuration(client_side=True))
    connection.initiate_connection()
    connection.send_headers(STREAM, HEADERS)
    connection.data_to_send()
    return connection


@pytest.mark.parametrize("size", [0, 1, 16_383, 16_384, 16_385, 40_000, 65_535])
def test_data_frames_are_those_of_h2(size: int) -> None:
    data = memoryview(bytes(index % 251 for index in range(size)))
    ours, theirs = begun(), begun()
    frames = hooks.data_frames(ours, STREAM, data)
    for start in range(0, size, theirs.max_outbound_frame_size):
        theirs.send_data(STREAM, data[start : start + theirs.max_outbound_frame_size])
    assert frames == theirs.data_to_send()
    assert ours.local_flow_control_window(STREAM) == theirs.local_flow_control_window(STREAM) == 65_535 - size
