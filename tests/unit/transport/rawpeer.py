"""A peer that speaks in frames, and as it likes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Final, cast

from h2.errors import ErrorCodes
from hpack import Decoder, Encoder
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, RstStreamFrame, SettingsFrame

from iop_edge.net import Address
from tests.unit.transport.service import UNARY

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
END_OF_REQUEST: Final = DataFrame(1, flags=("END_STREAM",)).serialize()[3:]
"""Begins the frame that ends a caller's first request, behind its length."""

_HEAD: Final = 9

REQUEST_HEADERS: Final = (
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", UNARY.encode()),
    (b":authority", b"node"),
    (b"te", b"trailers"),
    (b"content-type", b"application/grpc"),
)
RESPONSE_HEADERS: Final = ((b":status", b"200"), (b"content-type", b"application/grpc+proto"))

Headers = tuple[tuple[bytes, bytes], ...]


def head(length: int, kind: int = 0, flags: int = 0, stream_id: int = 1) -> bytes:
    """Return the beginning of a frame, which announces so many bytes."""
    return length.to_bytes(3) + bytes([kind, flags]) + stream_id.to_bytes(4)


def settings() -> bytes:
    """Return a frame of no settings."""
    return SettingsFrame(0).serialize()


def headers(fields: Headers, stream_id: int = 1, *flags: str, encoder: Encoder | None = None) -> bytes:
    """Return headers in one frame. Without an encoder given they must be the first ones on their connection."""
    frame = HeadersFrame(stream_id, (encoder or Encoder()).encode(fields), flags=("END_HEADERS", *flags))
    return frame.serialize()


def data(content: bytes, stream_id: int = 1, *flags: str) -> bytes:
    """Return a frame of data."""
    return DataFrame(stream_id, content, flags=flags).serialize()


def reset(stream_id: int) -> bytes:
    """Return a frame that takes a call back."""
    return RstStreamFrame(stream_id, ErrorCodes.CANCEL).serialize()


class Heard:
    """The frames in what a peer has heard."""

    def __init__(self, heard: bytes) -> None:
        self.frames: list[Frame] = []
        while len(heard) >= _HEAD:
            frame, length = Frame.parse_frame_header(memoryview(heard[:_HEAD]))
            if len(heard) < _HEAD + length:
                break
            frame.parse_body(memoryview(heard[_HEAD : _HEAD + length]))
            self.frames.append(frame)
            heard = heard[_HEAD + length :]

    @property
    def goodbye(self) -> ErrorCodes | None:
        """Why the other end says that the connection ends."""
        codes = [ErrorCodes(frame.error_code) for frame in self.frames if isinstance(frame, GoAwayFrame)]
        return codes[-1] if codes else None

    def resets(self, stream_id: int) -> list[ErrorCodes]:
        """How a call was refused."""
        return [
            ErrorCodes(frame.error_code)
            for frame in self.frames
            if isinstance(frame, RstStreamFrame) and frame.stream_id == stream_id
        ]

    def answer(self, stream_id: int) -> dict[bytes, bytes]:
        """What the headers of an answer are, where it has come."""
        decoder = Decoder()
        found = {}
        for frame in self.frames:
            if isinstance(frame, HeadersFrame):
                fields = dict(cast("Iterable[tuple[bytes, bytes]]", decoder.decode(bytes(frame.data), raw=True)))
                found.update(fields if frame.stream_id == stream_id else {})
        return found


@asynccontextmanager
async def connected(address: Address) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Have a bare connection for as long as the block runs."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def tell(address: Address, *said: bytes, until: Callable[[Heard], bool] | None = None) -> Heard:
    """Say this to a server, and listen until enough was heard or it ends the connection."""
    async with connected(address) as (reader, writer):
        for each in (PREFACE, settings(), *said):
            writer.write(each)
        return await _listen(reader, until)


async def _listen(reader: asyncio.StreamReader, until: Callable[[Heard], bool] | None) -> Heard:
    heard = bytearray()
    with contextlib.suppress(ConnectionError):
        while not (until and until(Heard(bytes(heard)))) and (chunk := await reader.read(1 << 16)):
            heard += chunk
    return Heard(bytes(heard))


@asynccontextmanager
async def replying(*said: bytes) -> AsyncIterator[tuple[Address, "asyncio.Future[Heard]"]]:
    """A server that says this to its only caller, without a look at the call; then it listens until the end."""
    heard: asyncio.Future[Heard] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        before = await reader.readuntil(END_OF_REQUEST)
        assert before.startswith(PREFACE)
        writer.writelines([settings(), *said])
        heard.set_result(await _listen(reader, None))
        writer.transport.abort()

    async with _server(serve) as address:
        yield address, heard


@asynccontextmanager
async def never_reading(*said: bytes) -> AsyncIterator[Address]:
    """A server that says this to its only caller, and reads nothing of what it is sent."""
    over = asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        cast("asyncio.Transport", writer.transport).pause_reading()
        writer.writelines([settings(), *said])
        await over.wait()
        writer.transport.abort()

    async with _server(serve) as address:
        yield address
        over.set()


@asynccontextmanager
async def _server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]],
) -> AsyncIterator[Address]:
    served: list[asyncio.Task[None]] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.create_task(serve(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield Address(host="127.0.0.1", port=server.sockets[0].getsockname()[1])
    finally:
        server.close()
        await asyncio.gather(*served)
        await asyncio.sleep(0)  # what was aborted is closed a turn later
        await server.wait_closed()
