"""The client's end: bounded dialling, checked replies, goodbyes, and an end that is final."""

import asyncio
import socket
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from hyperframe.frame import GoAwayFrame

from iop_edge.net import Address, Tls
from iop_edge.schema.wire import WireError
from iop_edge.transport.channel import ClientChannel
from iop_pb.iop.runtime.v1 import HandshakeRequest, HandshakeResponse
from tests.pki import CA
from tests.support import run
from tests.unit.transport.service import (
    REPLY,
    REQUEST,
    STREAM,
    UNARY,
    Call,
    Pause,
    Service,
    ask,
    dialled,
    serving,
)

UNKNOWN_FRAME = (6).to_bytes(3) + b"\x42\0" + (0).to_bytes(4) + b"grease"


LARGE = bytes(HandshakeResponse(node_id="n" * 2000))


def goodbye(last_stream_id: int, error_code: int = 0) -> bytes:
    return GoAwayFrame(0, last_stream_id=last_stream_id, error_code=error_code).serialize()


def test_call_is_answered() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address), dialled(address) as channel:
            assert await ask(channel) == REPLY

    run(scenario())


def test_connection_is_used_again() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address), dialled(address) as channel:
            await ask(channel)
            await ask(channel)
            assert len(channel.open_connections) == 1

    run(scenario())


def test_request_may_be_encoded_before() -> None:
    seen = []

    async def keep(call: Call) -> None:
        seen.append(await call.recv_message())
        await call.send_message(REPLY)

    async def scenario() -> None:
        async with serving(Service(keep)) as (_, address), dialled(address) as channel:
            await channel.unary("/test.Service/Unary", bytes(REQUEST), HandshakeResponse, deadline=30)

    run(scenario())
    assert seen == [REQUEST]


@pytest.mark.parametrize("size", [0, 16_384 - 7, 65_535, 3 << 20])
def test_request_of_any_size_arrives_whole(size: int) -> None:
    received: list[str] = []

    async def take(call: Call) -> None:
        request = await call.recv_message()
        assert request is not None
        received.append(request.edge_id)
        await call.send_message(REPLY)

    async def scenario() -> None:
        async with serving(Service(take), max_request_bytes=16 << 20) as (_, address), dialled(address) as channel:
            request = HandshakeRequest(edge_id="e" * size)
            await channel.unary(UNARY, request, HandshakeResponse, deadline=30)

    run(scenario())
    assert received == ["e" * size]


def test_caller_is_told_when_the_request_is_sent() -> None:
    pause = Pause()
    sent = asyncio.Event()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel, sent=sent.set))
            await sent.wait()
            assert not call.done()
            pause.go_on.set()
            await call

    run(scenario())


def test_stream_is_read_to_its_end() -> None:
    async def three(call: Call) -> None:
        await call.recv_message()
        for number in range(3):
            await call.send_message(HandshakeResponse(protocol_version=number))

    async def scenario() -> list[int]:
        async with serving(Service(stream=three)) as (_, address), dialled(address) as channel:
            replies = channel.server_stream(STREAM, REQUEST, HandshakeResponse)
            return [reply.protocol_version async for reply in replies]

    assert run(scenario()) == [0, 1, 2]


@pytest.mark.contract("PSH-04")
def test_call_without_an_answer_ends_at_its_deadline() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address) as channel:
            with pytest.raises(TimeoutError):
                await ask(channel, deadline=0.05)
            await pause.cancelled.wait()

    run(scenario())


@pytest.mark.contract("PSH-04")
def test_peer_that_accepts_and_says_nothing_does_not_hold_a_dialler() -> None:
    async def scenario() -> None:
        silent = await asyncio.start_server(lambda _reader, writer: writers.append(writer), "127.0.0.1", 0)
        address = Address(host="127.0.0.1", port=silent.sockets[0].getsockname()[1])
        async with dialled(address, tls=Tls(ca=CA), connect_timeout=0.05) as channel:
            with pytest.raises(TimeoutError):
                await channel.connect()
        for writer in writers:
            writer.close()
        silent.close()

    writers: list[asyncio.StreamWriter] = []
    run(scenario())


def test_nobody_listening_is_an_os_error() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address):
            pass
        async with dialled(address) as channel:
            with pytest.raises(ConnectionRefusedError):
                await ask(channel)

    run(scenario())


def test_error_of_the_peer_is_raised() -> None:
    async def refuse(_: Call) -> None:
        raise GRPCError(Status.ABORTED, "not now")

    async def scenario() -> None:
        async with serving(Service(refuse)) as (_, address), dialled(address) as channel:
            with pytest.raises(GRPCError) as caught:
                await ask(channel)
            assert (caught.value.status, caught.value.message) == (Status.ABORTED, "not now")

    run(scenario())


class RawReply:
    """Answers with bytes instead of a message."""

    def __init__(self, body: bytes, announced: int | None = None, *, compressed: bool = False) -> None:
        self._data = bytes([compressed]) + (len(body) if announced is None else announced).to_bytes(4) + body

    async def __call__(self, call: Call) -> None:
        await call.recv_message()
        await call.send_initial_metadata()
        await call._stream.send_data(self._data)
        call._send_message_done = True


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(RawReply(b"\xff\xff\xff"), "cut off", id="no message"),
        pytest.param(RawReply(b"\x10\x01"), "wire type", id="another type's message"),
        pytest.param(RawReply(LARGE), "at most 1000 bytes are accepted", id="too large"),
        pytest.param(RawReply(b"", 20_000_000), "at most 1000 bytes are accepted", id="too large as announced"),
        pytest.param(RawReply(b"abc", 500), "a message is cut off", id="cut off"),
        pytest.param(RawReply(b"abc", compressed=True), "a message is compressed", id="compressed"),
    ],
)
def test_answer_that_is_no_message_of_the_type_is_refused(reply: RawReply, reason: str) -> None:
    async def scenario() -> None:
        async with serving(Service(reply)) as (_, address), dialled(address, max_reply_bytes=1000) as channel:
            with pytest.raises(WireError, match=reason):
                await ask(channel)

    run(scenario())


def test_stream_that_grows_too_large_is_refused() -> None:
    async def scenario() -> None:
        async with (
            serving(Service(stream=RawReply(LARGE))) as (_, address),
            dialled(address, max_reply_bytes=1000) as channel,
        ):
            with pytest.raises(WireError, match="at most 1000 bytes are accepted"):
                async for _ in channel.server_stream(STREAM, REQUEST, HandshakeResponse):
                    pass

    run(scenario())


def test_call_outlives_the_goodbye_of_its_peer() -> None:
    pause = Pause()
    left = asyncio.Event()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address, on_leave=left.set) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            (connection,) = channel.open_connections
            pause.write_raw(goodbye(last_stream_id=1))
            await left.wait()
            pause.go_on.set()
            assert await call == REPLY
            await connection.lost.wait()

    run(scenario())


def test_call_after_a_goodbye_dials_anew() -> None:
    pause = Pause()
    left = asyncio.Event()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address, on_leave=left.set) as channel:
            first = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            pause.write_raw(goodbye(last_stream_id=1))
            await left.wait()
            pause.go_on.set()
            assert await ask(channel) == REPLY
            await first

    run(scenario())


def test_call_that_a_leaving_peer_has_not_begun_is_lost() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            pause.write_raw(goodbye(last_stream_id=0))
            with pytest.raises(StreamTerminatedError):
                await call

    run(scenario())


def test_goodbye_with_an_error_ends_all_calls() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            pause.write_raw(goodbye(last_stream_id=1, error_code=2))
            with pytest.raises(StreamTerminatedError):
                await call

    run(scenario())


def test_frames_of_an_unknown_type_are_passed_over() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            pause.write_raw(UNKNOWN_FRAME)
            pause.go_on.set()
            assert await call == REPLY

    run(scenario())


def test_closed_channel_ends_its_calls_and_never_dials_again() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address):
            channel = ClientChannel(address)
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            await channel.finish()
            with pytest.raises(StreamTerminatedError):
                await call
            with pytest.raises(StreamTerminatedError):
                await ask(channel)
            assert not channel.open_connections
            await pause.cancelled.wait()

    run(scenario())


def test_channel_that_is_closed_while_it_dials_stays_closed() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address):
            channel = ClientChannel(address)
            dialling = asyncio.create_task(channel.connect())
            await asyncio.sleep(0)
            channel.close()
            with pytest.raises(StreamTerminatedError):
                await dialling
            await channel.finish()
            assert not channel.open_connections

    run(scenario())


def test_closing_twice_is_closing() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address), dialled(address) as channel:
            await ask(channel)
            await channel.finish()
            await channel.finish()

    run(scenario())


def test_dead_machine_is_found_out_by_the_kernel() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (server, address), dialled(address) as channel:
            await ask(channel)
            transports = [connection.transport for connection in channel.open_connections]
            transports += [connection.transport for connection in server._server.connections()]
            for transport in transports:
                sock = transport.get_extra_info("socket")
                assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert 0 < sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) < 60
                assert 0 < sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) < 60_000

    run(scenario())


def test_unix_socket_is_dialled(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = Address(path=str(tmp_path / "node.sock"))
        async with serving(Service(), path) as (_, address), dialled(address) as channel:
            assert await ask(channel) == REPLY

    run(scenario())
