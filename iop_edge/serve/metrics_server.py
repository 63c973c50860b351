"""Serves the metrics over HTTP: one page, nothing else, from the event loop of the Edge."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Final

from iop_edge.errors import EdgeError
from iop_edge.net import Address, AddressError, parse_address
from iop_edge.serve.metrics import CONTENT_TYPE

_PATH: Final = "/metrics"
_LARGEST_HEAD: Final = 8 * 1024
_PATIENCE_SECONDS: Final = 10.0
_MOST_CONNECTIONS: Final = 16

Page = Callable[[], Awaitable[bytes]]


@asynccontextmanager
async def serving_metrics(text: str, page: Page) -> AsyncIterator[Address]:
    """Serve the page for as long as the block runs; yield the real address.

    Raises:
        EdgeError: the address is none, or cannot be listened on.
    """
    try:
        address = parse_address(text)
    except AddressError as error:
        raise EdgeError(f"metrics.listen: {text}: {error}") from None
    if address.is_unix:
        raise EdgeError(f"metrics.listen: {text}: Prometheus asks over TCP alone")
    calls: set[asyncio.Task[None]] = set()
    accept = partial(_accept, page, calls)
    try:
        server = await asyncio.start_server(accept, address.host or None, address.port, limit=_LARGEST_HEAD)
    except OSError as error:
        raise EdgeError(f"cannot serve metrics on {text}: {_reason(error)}") from None
    try:
        yield Address(host=address.host, port=server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await server.wait_closed()


def _reason(error: OSError) -> str:
    # asyncio's own words repeat the address. Names that do not resolve have negative numbers, which the system has no
    # words for.
    number = error.errno or 0
    return os.strerror(number) if number > 0 else str(error.strerror)


async def _accept(
    page: Page, calls: set[asyncio.Task[None]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    call = asyncio.current_task()
    assert call is not None
    calls.add(call)
    try:
        # Who neither asks nor reads keeps a place for a while at most, and there are few.
        async with asyncio.timeout(_PATIENCE_SECONDS):
            if len(calls) <= _MOST_CONNECTIONS:
                writer.write(await _answer(page, reader))
                await writer.drain()
            writer.close()
            await writer.wait_closed()
    except (OSError, TimeoutError, EOFError, asyncio.LimitOverrunError):
        writer.transport.abort()
    except asyncio.CancelledError:
        writer.transport.abort()
    finally:
        calls.discard(call)


async def _answer(page: Page, reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    path = rest.partition(" ")[0].partition("?")[0]
    if method not in ("GET", "HEAD"):
        return _response(HTTPStatus.METHOD_NOT_ALLOWED, b"")
    if path != _PATH:
        return _response(HTTPStatus.NOT_FOUND, b"the metrics are at /metrics\n")
    body = await page()
    return _response(HTTPStatus.OK, body, with_body=method == "GET")


def _response(status: HTTPStatus, body: bytes, *, with_body: bool = True) -> bytes:
    kind = CONTENT_TYPE if status is HTTPStatus.OK else "text/plain; charset=utf-8"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")
