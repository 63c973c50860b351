"""What a caller can do to a server: end its own connection or call, and nothing else."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import cast

import pytest
from h2.errors import ErrorCodes
from hpack import Encoder
from hyperframe.frame import ContinuationFrame, HeadersFrame, PingFrame, SettingsFrame, WindowUpdateFrame

from iop_edge.net import Tls
from iop_edge.transport.pending import PendingConnections
from tests.pki import CA, NODE
from tests.support import run
from tests.unit.transport.rawpeer import (
    PREFACE,
    REQUEST_HEADERS,
    Headers,
    connected,
    data,
    head,
    headers,
    reset,
    settings,
    tell,
)
from tests.unit.transport.service import REPLY, Call, Pause, Service, ask, dialled, serving

PING = PingFrame(0, b"12345678").serialize()
NO_END = data(b"")


def without_end(fields: Headers) -> bytes:
    """Return headers to which more belongs."""
    return HeadersFrame(1, Encoder().encode(fields)).serialize()


def bomb() -> bytes:
    """Return headers that are short here and long there: one long field, and then a byte for each copy of it."""
    large = (b"x", b"y" * 3000)
    return headers((*REQUEST_HEADERS, *[large] * 100), encoder=Encoder())


def taken_back(times: int) -> Iterator[bytes]:
    """Yield calls, each taken back at once."""
    encoder = Encoder()
    for stream_id in range(1, 2 * times, 2):
        yield headers(REQUEST_HEADERS, stream_id, encoder=encoder) + reset(stream_id)


CALM, SIZE, FLOW = ErrorCodes.ENHANCE_YOUR_CALM, ErrorCodes.FRAME_SIZE_ERROR, ErrorCodes.FLOW_CONTROL_ERROR
OPEN_CALL = headers(REQUEST_HEADERS)

HOSTILE = [
    pytest.param([head((1 << 24) - 1)], SIZE, id="announces a frame of 16 MiB"),
    pytest.param([head(16_385)], SIZE, id="announces a frame a byte too large"),
    pytest.param([bomb()], CALM, id="headers that unpack to 300 KB"),
    pytest.param(
        [without_end(REQUEST_HEADERS), *[ContinuationFrame(1, b"").serialize()] * 100],
        ErrorCodes.PROTOCOL_ERROR,
        id="headers without end",
    ),
    pytest.param([PING * 30_000], CALM, id="pings without end"),
    pytest.param([SettingsFrame(0, {4: 1000}).serialize() * 3_000], CALM, id="settings without end"),
    pytest.param([OPEN_CALL, NO_END * 30_000], CALM, id="data without content"),
    pytest.param([OPEN_CALL, data(b"\0") * 30_000], CALM, id="data byte by byte"),
    pytest.param([*taken_back(3_000)], CALM, id="calls taken back at once"),
    pytest.param([WindowUpdateFrame(0, (1 << 31) - 1).serialize()], FLOW, id="a window that overflows"),
    pytest.param([head(4, 8, 0, 0) + bytes(4)], ErrorCodes.PROTOCOL_ERROR, id="a window that does not grow"),
    pytest.param([b"\xff" * 100], SIZE, id="garbage"),
]


@pytest.mark.parametrize(("said", "reason"), HOSTILE)
def test_hostile_caller_ends_its_own_connection_alone(
    said: list[bytes], reason: ErrorCodes, caplog: pytest.LogCaptureFixture
) -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (server, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            ended = await tell(address, *said)
            # Who goes on sending may lose what was said to it last.
            assert ended.goodbye in ((reason,) if len(said) < 3 and len(said[-1]) < 10_000 else (reason, None))
            assert len(server._server.connections()) == 1
            pause.go_on.set()
            assert await call == REPLY

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert not caplog.records


NAME_OF_A_TRAP = b"x-trap"

MALFORMED = [
    pytest.param((*REQUEST_HEADERS, (NAME_OF_A_TRAP, b"\xc3\xa9\xff")), id="value beyond ASCII"),
    pytest.param((*REQUEST_HEADERS, (b"\xff\xfe", b"x")), id="name beyond ASCII"),
    pytest.param((*REQUEST_HEADERS, (b"x-trap-bin", b"!")), id="binary value that is none"),
    pytest.param((*REQUEST_HEADERS, (b"x-trap-bin", b"A")), id="binary value that is cut off"),
    pytest.param((*REQUEST_HEADERS, (b"grpc-timeout", b"0n")), id="no time left"),
    pytest.param(REQUEST_HEADERS[1:], id="no method"),
    pytest.param((*REQUEST_HEADERS[:2], *REQUEST_HEADERS[3:]), id="no path"),
]


@pytest.mark.parametrize("fields", MALFORMED)
def test_call_with_malformed_headers_is_refused_and_its_connection_lives_on(
    fields: Headers, caplog: pytest.LogCaptureFixture
) -> None:
    encoder = Encoder()
    said = [
        headers(fields, 1, "END_STREAM", encoder=encoder),
        headers(REQUEST_HEADERS, 3, encoder=encoder),
        data(bytes(5), 3, "END_STREAM"),
    ]

    async def scenario() -> None:
        async with serving(Service()) as (_, address):
            heard = await tell(address, *said, until=lambda heard: b"grpc-status" in heard.answer(3))
            assert heard.resets(1) == [ErrorCodes.PROTOCOL_ERROR]
            assert heard.answer(3)[b"grpc-status"] == b"0"

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert not caplog.records


def test_calls_that_are_taken_back_before_they_begin_leave_nothing() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (server, address), connected(address) as (reader, writer):
            writer.writelines([PREFACE, settings(), *taken_back(200), PING])
            while PING[9:] not in await reader.read(1 << 16):
                pass
            (connection,) = server._server.connections()
            while connection.processor.streams:  # noqa: ASYNC110
                await asyncio.sleep(0)

    run(scenario())


async def ping_for_ever(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(PING * 100)
        await writer.drain()
        await asyncio.sleep(0)


def test_caller_that_never_reads_is_dropped() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (server, address), connected(address) as (_, writer):
            writer.write(PREFACE + settings())
            cast("asyncio.Transport", writer.transport).pause_reading()
            with pytest.raises(ConnectionError):
                await ping_for_ever(writer)
            while server._server.connections():  # noqa: ASYNC110
                await asyncio.sleep(0)

    run(scenario())


@pytest.mark.parametrize("tls", [pytest.param(None, id="plain text"), pytest.param(NODE, id="TLS")])
@pytest.mark.parametrize("said", [pytest.param(b"", id="nothing"), pytest.param(b"\x16\x03\x01", id="a beginning")])
def test_connection_without_a_call_is_ended_in_time(tls: Tls | None, said: bytes) -> None:
    async def scenario() -> None:
        pending = PendingConnections(timeout=0.05)
        async with (
            serving(Service(), tls=tls, pending=pending) as (_, address),
            connected(address) as (reader, writer),
        ):
            writer.write(said)
            with contextlib.suppress(ConnectionError):
                await reader.read()

    run(scenario())


def test_connection_whose_call_was_let_in_may_stay_idle() -> None:
    async def scenario() -> None:
        pending = PendingConnections(timeout=0.05)
        async with serving(Service(), pending=pending) as (_, address), dialled(address) as channel:
            await ask(channel)
            async with connected(address) as (reader, _):
                await reader.read()
            await ask(channel)
            assert len(channel.open_connections) == 1

    run(scenario())


@pytest.mark.parametrize("tls", [pytest.param(None, id="plain text"), pytest.param(NODE, id="TLS")])
def test_oldest_strangers_give_way_so_that_who_may_call_gets_through(tls: Tls | None) -> None:
    client = Tls(ca=CA) if tls else None

    async def scenario() -> None:
        pending = PendingConnections(max_pending=5)
        async with serving(Service(), tls=tls, pending=pending) as (_, address), AsyncExitStack() as stack:
            held = [await stack.enter_async_context(connected(address)) for _ in range(20)]
            channel = await stack.enter_async_context(dialled(address, tls=client))
            assert await ask(channel) == REPLY
            with contextlib.suppress(ConnectionError):
                await held[0][0].read()

    run(scenario())


def test_handshake_with_garbage_ends_quietly(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with serving(Service(), tls=NODE) as (_, address), dialled(address, tls=Tls(ca=CA)) as channel:
            async with connected(address) as (reader, writer):
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                await reader.read()
            assert await ask(channel) == REPLY

    run(scenario())
    assert not caplog.records


@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        pytest.param(b"\1" + (3).to_bytes(4) + b"abc", b"12", id="compressed"),
        pytest.param(b"\0" + (30).to_bytes(4) + b"abc", b"3", id="cut off"),
        pytest.param(b"\0" + (1 << 31).to_bytes(4), b"8", id="too large as announced"),
        pytest.param(b"\0\0", b"3", id="cut off within its length"),
    ],
)
def test_message_that_cannot_be_read_is_the_callers_fault(
    message: bytes, refusal: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address):
            said = OPEN_CALL, data(message, 1, "END_STREAM")
            heard = await tell(address, *said, until=lambda heard: b"grpc-status" in heard.answer(1))
            assert heard.answer(1)[b"grpc-status"] == refusal

    run(scenario())
    assert not caplog.records


def test_answer_to_a_call_that_was_taken_back_is_dropped_quietly(caplog: pytest.LogCaptureFixture) -> None:
    async def answer_late(call: Call) -> None:
        call._stream._h2_connection.reset_stream(1, ErrorCodes.CANCEL)
        await call.send_message(REPLY)

    async def scenario() -> None:
        async with serving(Service(answer_late)) as (_, address):
            said = OPEN_CALL, data(bytes(5), 1, "END_STREAM")
            await tell(address, *said, PING, until=lambda heard: bool(heard.resets(1)))

    run(scenario())
    assert not caplog.records
