"""Asks backends how they are. The only module of a Node that dials."""

import asyncio
import importlib
import os
import ssl
from collections.abc import Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from iop_edge.node.probe import Finding, Probe

if TYPE_CHECKING:
    import httpx  # imported when the first probe is due: a Node without probes needs none

MOST_AT_ONCE: Final = 256
"""Probes that run at once: each holds a socket for as long as its backend keeps it waiting."""

MOST_BYTES: Final = 1 << 16
"""So much of an answer is read before its status counts."""

_MOST_CAUSES: Final = 32


class Backends:
    """Asks over HTTP, with a connection for each question: nothing is left of a backend that is not asked any more.

    Redirects are not followed, and neither proxies nor anything else is taken from the environment. TLS trusts the
    authorities of the system.
    """

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None
        self._making = asyncio.Lock()
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def ask(self, probe: Probe) -> Finding:
        """Ask once."""
        async with self._making:
            if self._tls is None:
                self._tls = await asyncio.to_thread(_prepare)
        async with self._places:
            return await _ask(probe, self._tls)


def _prepare() -> ssl.SSLContext:
    """Import what asks, and make what verifies: both take their time."""
    importlib.import_module("httpx")
    return ssl.create_default_context()


async def _ask(probe: Probe, tls: ssl.SSLContext) -> Finding:
    import httpx

    # Below the client of httpx nothing follows, remembers or logs a URL.
    transport = httpx.AsyncHTTPTransport(verify=tls, trust_env=False)
    try:
        async with asyncio.timeout(probe.timeout), transport:
            status = await _status(transport, httpx.Request("GET", probe.url, headers=list(probe.headers)))
    except TimeoutError:
        return Finding(good=False, detail=f"no answer within {probe.timeout:g} s")
    except Exception as error:  # noqa: BLE001
        # Texts of foreign errors quote what they were given: URLs and headers, which hold secrets.
        return Finding(good=False, detail=_fault(error))
    return Finding(good=status in probe.good, detail=f"answers {status}")


async def _status(transport: "httpx.AsyncHTTPTransport", request: "httpx.Request") -> int:
    """Return the status of an answer whose body comes too, as far as it is read."""
    response = await transport.handle_async_request(request)
    async with aclosing(response):
        left = MOST_BYTES
        async for part in response.aiter_raw():
            left -= len(part)
            if left <= 0:
                break
    return response.status_code


def _fault(error: Exception) -> str:
    """Say what went wrong, by the innermost cause that the system has a word for."""
    words = (_of_the_system(cause) for cause in _causes(error))
    return next(filter(None, words), "") or _of_the_connection(error)


def _of_the_system(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate does not verify: {getattr(error, 'verify_message', 'invalid')}"
    if isinstance(error, ssl.SSLError):
        return f"TLS fails: {getattr(error, 'reason', None) or 'broken'}"
    if isinstance(error, OSError) and error.errno:
        # The event loop puts the peer's address into the text; name look-ups have numbers of their own, below zero.
        return f"cannot connect: {os.strerror(error.errno) if error.errno > 0 else error.strerror}"
    return ""


def _of_the_connection(error: Exception) -> str:
    import httpx

    if isinstance(error, httpx.RemoteProtocolError):
        return "the answer is no HTTP, or is cut off"
    if isinstance(error, httpx.NetworkError):
        return "the connection was lost"
    return f"the probe failed ({type(error).__name__})"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what led to it, groups taken apart: addresses of one host are tried beside each other."""
    found: list[BaseException] = [error]
    for _ in range(_MOST_CAUSES):
        if not found:
            return
        cause = found.pop()
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            found.extend(cause.exceptions)
        found.extend(inner for inner in (cause.__context__, cause.__cause__) if inner is not None)
