"""What a peer that is called can do to its caller: fail the call, and cost it no more than bounded time and memory."""

import logging

import pytest
from grpclib.exceptions import GRPCError, StreamTerminatedError
from h2.errors import ErrorCodes
from hpack import Encoder
from hyperframe.frame import PingFrame, PushPromiseFrame, SettingsFrame, WindowUpdateFrame

from iop_edge.schema.wire import WireError
from iop_pb.iop.runtime.v1 import HandshakeResponse
from tests.support import run
from tests.unit.transport.rawpeer import RESPONSE_HEADERS, Headers, data, head, headers, never_reading, replying
from tests.unit.transport.service import REPLY, UNARY, ask, dialled

MESSAGE = b"\0" + len(bytes(REPLY)).to_bytes(4) + bytes(REPLY)
OK = (b"grpc-status", b"0")


def answer(*trailers: tuple[bytes, bytes], fields: Headers = RESPONSE_HEADERS, message: bytes = MESSAGE) -> bytes:
    """Return an answer in frames."""
    encoder = Encoder()
    begin = headers(fields, encoder=encoder) + data(message)
    return begin + headers(trailers, 1, "END_STREAM", encoder=encoder)


def promise() -> bytes:
    """Return the announcement of a call that nobody made."""
    frame = PushPromiseFrame(1, 2, Encoder().encode([(b":method", b"GET")]), flags=("END_HEADERS",))
    return frame.serialize()


SIZE, CALM, FLOW = ErrorCodes.FRAME_SIZE_ERROR, ErrorCodes.ENHANCE_YOUR_CALM, ErrorCodes.FLOW_CONTROL_ERROR
PROTOCOL = ErrorCodes.PROTOCOL_ERROR
PING = PingFrame(0, b"12345678").serialize()

HOSTILE = [
    pytest.param([head((1 << 24) - 1)], SIZE, id="announces a frame of 16 MiB"),
    pytest.param([PING * 30_000], CALM, id="pings without end"),
    pytest.param([SettingsFrame(0, {4: 1000}).serialize() * 3_000], CALM, id="settings without end"),
    pytest.param([headers(RESPONSE_HEADERS), data(b"\0") * 30_000], CALM, id="answers byte by byte"),
    pytest.param([WindowUpdateFrame(0, (1 << 31) - 1).serialize()], FLOW, id="a window that overflows"),
    pytest.param([promise()], PROTOCOL, id="a promise that nobody asked for"),
    pytest.param([answer(OK, *[(b"grpc-message", b"m" * 2_000)] * 50)], CALM, id="trailers that unpack to 100 KB"),
]


@pytest.mark.parametrize(("said", "reason"), HOSTILE)
def test_hostile_peer_loses_its_connection(
    said: list[bytes], reason: ErrorCodes | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with replying(*said) as (address, heard), dialled(address) as channel:
            with pytest.raises(StreamTerminatedError):
                await ask(channel)
            assert (await heard).goodbye in (reason, None)

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert not caplog.records


@pytest.mark.parametrize(
    ("said", "error"),
    [
        pytest.param(answer((b"grpc-status", b"7"), (b"grpc-message", b"m" * 10_000)), GRPCError, id="long refusal"),
        pytest.param(answer((b"grpc-status", b"99")), GRPCError, id="status that is none"),
        pytest.param(answer((b"grpc-status", b"x")), GRPCError, id="status that is no number"),
        pytest.param(answer((b"grpc-message", b"m")), GRPCError, id="no status"),
        pytest.param(answer((b"grpc-status", b"\xff")), StreamTerminatedError, id="status beyond ASCII"),
        pytest.param(answer(OK, (b"x-bin", b"!")), StreamTerminatedError, id="binary trailer that is none"),
        pytest.param(answer(OK, fields=RESPONSE_HEADERS[1:]), StreamTerminatedError, id="no HTTP status"),
        pytest.param(
            answer(OK, fields=(*RESPONSE_HEADERS, (b"x", b"\xc3\xa9"))), StreamTerminatedError, id="header beyond ASCII"
        ),
        pytest.param(answer(OK, message=b"\1" + MESSAGE[1:]), WireError, id="compressed"),
        pytest.param(answer(OK, message=b"\0" + (1 << 31).to_bytes(4)), WireError, id="too large as announced"),
        pytest.param(answer(OK, message=MESSAGE[:-1]), WireError, id="cut off"),
    ],
)
def test_malformed_answer_fails_its_call_alone(
    said: bytes, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with replying(said) as (address, _), dialled(address) as channel:
            with pytest.raises(error):
                await ask(channel)
            (connection,) = channel.open_connections
            assert not connection.transport.is_closing()

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert not caplog.records


def test_empty_data_within_an_answer_is_passed_over() -> None:
    encoder = Encoder()
    begin = headers(RESPONSE_HEADERS, encoder=encoder) + data(MESSAGE[:7]) + data(b"") + data(MESSAGE[7:])
    end = headers((OK,), 1, "END_STREAM", encoder=encoder)

    async def scenario() -> None:
        async with replying(begin + end) as (address, _), dialled(address) as channel:
            assert await ask(channel) == REPLY

    run(scenario())


def test_deadline_of_a_call_passes_while_the_peer_reads_nothing() -> None:
    endless = SettingsFrame(0, {4: (1 << 31) - 1}).serialize() + WindowUpdateFrame(0, (1 << 31) - 65_536).serialize()

    async def scenario() -> None:
        async with never_reading(endless) as address, dialled(address) as channel:
            with pytest.raises(TimeoutError):
                await channel.unary(UNARY, bytes(64 << 20), HandshakeResponse, deadline=0.5)
            (connection,) = channel.open_connections
            assert connection.transport.get_write_buffer_size() < 1 << 20

    run(scenario())


def test_table_of_sent_headers_stays_small_whatever_the_peer_asks_for() -> None:
    vast = SettingsFrame(0, {1: (1 << 32) - 1}).serialize()

    async def scenario() -> None:
        async with replying(vast + answer(OK)) as (address, _), dialled(address) as channel:
            await ask(channel)
            (connection,) = channel.open_connections
            assert connection.connection._connection.encoder.header_table_size == 4096

    run(scenario())
