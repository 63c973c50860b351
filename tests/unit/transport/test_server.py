"""The server's end: what it takes, whom it lets in, where it listens and how it ends."""

import asyncio
import logging
import socket
import stat
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError
from h2.settings import SettingCodes
from hyperframe.frame import PingFrame, SettingsFrame, WindowUpdateFrame

from iop_edge.errors import EdgeError
from iop_edge.net import Address
from iop_edge.schema.wire import WireError
from iop_edge.transport.server import BoundedServer
from iop_pb.iop.runtime.v1 import HandshakeRequest, HandshakeResponse
from tests.support import run
from tests.unit.transport.rawpeer import PREFACE, REQUEST_HEADERS, connected, data, headers, tell
from tests.unit.transport.service import LOOPBACK, REPLY, UNARY, Call, Pause, Service, answer, ask, dialled, serving


def test_request_that_is_too_large_is_refused_and_the_connection_lives_on() -> None:
    async def scenario() -> None:
        async with serving(Service(), max_request_bytes=100) as (_, address), dialled(address) as channel:
            with pytest.raises(GRPCError) as caught:
                await channel.unary(UNARY, HandshakeRequest(edge_id="e" * 200), HandshakeResponse, deadline=30)
            assert caught.value.status is Status.RESOURCE_EXHAUSTED
            assert await ask(channel) == REPLY
            assert len(channel.open_connections) == 1

    run(scenario())


def test_request_as_large_as_the_bound_is_taken() -> None:
    request = bytes(HandshakeRequest(edge_id="e" * 98))
    assert len(request) == 100

    async def scenario() -> None:
        async with serving(Service(), max_request_bytes=100) as (_, address), dialled(address) as channel:
            assert await channel.unary(UNARY, request, HandshakeResponse, deadline=30) == REPLY

    run(scenario())


REFUSED_AT_ONCE = [
    ((b":path", b"/test.Service/Other"), Status.UNIMPLEMENTED),
    ((b":path", b"/other.Service/Unary"), Status.UNIMPLEMENTED),
    ((b"grpc-timeout", b"soon"), Status.UNKNOWN),
    ((b"content-type", b"text/plain"), Status.UNKNOWN),
    ((b"te", b"gzip"), Status.UNKNOWN),
]


@pytest.mark.parametrize(("changed", "status"), REFUSED_AT_ONCE)
def test_call_that_is_refused_before_it_begins_has_the_headers_of_grpc(
    changed: tuple[bytes, bytes], status: Status
) -> None:
    fields = tuple({**dict(REQUEST_HEADERS), **dict([changed])}.items())

    async def scenario() -> None:
        async with serving(Service()) as (_, address):
            heard = await tell(address, headers(fields, 1, "END_STREAM"), until=lambda heard: bool(heard.answer(1)))
        told = heard.answer(1)
        assert told[b"content-type"] == b"application/grpc+proto"
        assert told[b"grpc-status"] == str(status.value).encode()

    run(scenario())


@pytest.mark.parametrize("garbage", [b"\xff\xff", b"\x12\x02\xc3\x28", b"\x10\x01"])
def test_request_that_is_no_message_is_the_callers_fault(garbage: bytes) -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address), dialled(address) as channel:
            with pytest.raises(GRPCError) as caught:
                await channel.unary(UNARY, garbage, HandshakeResponse, deadline=30)
            assert caught.value.status is Status.INVALID_ARGUMENT

    run(scenario())


@pytest.mark.contract("CFG-08")
def test_fault_of_a_method_is_told_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: Call) -> None:
        raise ValueError("s3cret")

    async def scenario() -> GRPCError:
        async with serving(Service(fail)) as (_, address), dialled(address) as channel:
            with pytest.raises(GRPCError) as caught:
                await ask(channel)
            return caught.value

    with caplog.at_level(logging.DEBUG):
        error = run(scenario())
    assert error.status is Status.INTERNAL
    assert "s3cret" not in str(error)
    assert "s3cret" not in caplog.text
    assert "ValueError at test_server.py" in caplog.text


@pytest.mark.contract("PSH-01")
@pytest.mark.contract("PAY-02")
@pytest.mark.parametrize(
    ("shown", "accepted"),
    [
        ("Bearer new-token", True),
        ("Bearer old-token", True),
        ("Bearer other", False),
        ("Bearer ", False),
        ("Bearer new-token ", False),
        ("Bearer new-toke", False),
        ("new-token", False),
        ("bearer new-token", False),
        ("Basic new-token", False),
        (None, False),
    ],
)
def test_caller_shows_one_of_the_tokens(shown: str | None, *, accepted: bool) -> None:
    metadata = (("authorization", shown),) if shown is not None else ()

    async def scenario() -> Status:
        async with (
            serving(Service(), tokens=["old-token", "new-token"]) as (_, address),
            dialled(address) as channel,
        ):
            try:
                await ask(channel, metadata=metadata)
            except GRPCError as error:
                return error.status
            return Status.OK

    assert run(scenario()) is (Status.OK if accepted else Status.UNAUTHENTICATED)


def test_request_of_a_stranger_is_not_even_read() -> None:
    begun = asyncio.Event()

    async def note(call: Call) -> None:
        begun.set()
        await answer(call)

    async def scenario() -> None:
        async with serving(Service(note), tokens=["token"]) as (_, address), dialled(address) as channel:
            with pytest.raises(GRPCError):
                await ask(channel)
        assert not begun.is_set()

    run(scenario())


def test_drain_lets_running_calls_end() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (server, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            draining = asyncio.create_task(server.drain(60))
            await asyncio.sleep(0)
            pause.go_on.set()
            assert await call == REPLY
            await draining
            assert not server._server.connections()

    run(scenario())


def test_drain_takes_no_new_call() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (server, address), dialled(address) as channel:
            running = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            draining = asyncio.create_task(server.drain(60))
            await asyncio.sleep(0)
            with pytest.raises(GRPCError) as caught:
                await ask(channel)
            assert caught.value.status is Status.UNAVAILABLE
            pause.go_on.set()
            await asyncio.gather(running, draining)

    run(scenario())


def test_drain_ends_calls_that_do_not_end() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (server, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            await server.drain(0)
            with pytest.raises((StreamTerminatedError, GRPCError)):
                await call
            await pause.cancelled.wait()

    run(scenario())


def test_drained_server_says_goodbye_to_idle_clients() -> None:
    left = asyncio.Event()

    async def scenario() -> None:
        async with serving(Service()) as (server, address), dialled(address, on_leave=left.set) as channel:
            await ask(channel)
            await server.drain(0)
            await left.wait()

    run(scenario())


def test_call_of_a_client_that_is_gone_is_cancelled() -> None:
    pause = Pause()

    async def scenario() -> None:
        async with serving(Service(pause)) as (_, address), dialled(address) as channel:
            call = asyncio.create_task(ask(channel))
            await pause.begun.wait()
            await channel.finish()
            await pause.cancelled.wait()
            await asyncio.gather(call, return_exceptions=True)

    run(scenario())


def test_call_whose_client_is_gone_before_it_has_read_the_answer_ends() -> None:
    async def answer_at_length(call: Call) -> None:
        await call.recv_message()
        await call.send_message(HandshakeResponse(node_id="n" * (20 << 20)))

    async def scenario() -> None:
        async with serving(Service(unary=answer_at_length)) as (server, address):
            async with dialled(address, max_reply_bytes=1000) as channel:
                with pytest.raises(WireError):
                    await ask(channel)
            while server._server.running_calls():  # noqa: ASYNC110
                await asyncio.sleep(0)

    run(scenario())


def test_caller_that_allows_large_frames_gets_a_large_answer_whole() -> None:
    size = 15 << 20
    allowed: dict[int, int] = {SettingCodes.MAX_FRAME_SIZE: (1 << 24) - 1, SettingCodes.INITIAL_WINDOW_SIZE: 1 << 24}

    async def much(call: Call) -> None:
        await call.recv_message()
        await call.send_message(HandshakeResponse(node_id="n" * size))

    async def scenario() -> None:
        async with serving(Service(much)) as (_, address), connected(address) as (reader, writer):
            writer.write(PREFACE + SettingsFrame(0, settings=allowed).serialize())
            writer.write(WindowUpdateFrame(0, 1 << 24).serialize())
            writer.write(headers(REQUEST_HEADERS) + data(bytes(5), 1, "END_STREAM"))
            heard = 0
            while heard < size:
                chunk = await reader.read(1 << 20)
                assert chunk, "the connection has ended"
                heard += len(chunk)
                writer.write(PingFrame(0, bytes(8)).serialize())

    run(scenario())


def test_port_zero_becomes_a_real_port() -> None:
    async def scenario() -> None:
        async with serving(Service(), LOOPBACK) as (_, address):
            assert address.host == "127.0.0.1"
            assert address.port

    run(scenario())


def test_taken_port_is_a_clear_error() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address):
            with pytest.raises(EdgeError, match=f"cannot listen on {address}: Address already in use"):
                await BoundedServer([Service()]).start(address)

    run(scenario())


@pytest.mark.parametrize(
    "address", [Address(host="192.0.2.1", port=1), Address(path="/nowhere/a.sock"), Address(host="no.invalid", port=1)]
)
def test_address_that_is_not_of_this_machine_is_a_clear_error(address: Address) -> None:
    async def scenario() -> None:
        with pytest.raises(EdgeError, match="cannot listen on"):
            await BoundedServer([Service()]).start(address)

    run(scenario())


def test_unix_socket_is_for_its_owner_alone_and_goes_with_its_server(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"

    async def scenario() -> None:
        async with serving(Service(), Address(path=str(path))):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert not path.exists()

    run(scenario())


def test_unix_socket_that_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    async def scenario() -> None:
        async with serving(Service(), Address(path=str(path))) as (_, address), dialled(address) as channel:
            assert await ask(channel) == REPLY

    run(scenario())


def test_unix_socket_that_is_served_is_left_alone(tmp_path: Path) -> None:
    path = Address(path=str(tmp_path / "node.sock"))

    async def scenario() -> None:
        async with serving(Service(), path) as (_, address), dialled(address) as channel:
            with pytest.raises(EdgeError, match="Address already in use"):
                await BoundedServer([Service()]).start(path)
            assert await ask(channel) == REPLY

    run(scenario())


def test_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("precious")

    async def scenario() -> None:
        with pytest.raises(EdgeError):
            await BoundedServer([Service()]).start(Address(path=str(path)))

    run(scenario())
    assert path.read_text() == "precious"
