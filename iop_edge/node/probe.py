"""Probes backends over HTTP. Nothing else in a Node dials."""

import asyncio
import base64
import importlib
import ssl
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

import betterproto2

from iop_edge.ids import ProviderId
from iop_edge.net import os_error_text
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    LlamaCppAdapterConfig,
    OllamaAdapterConfig,
    OpenAiCompatAdapterConfig,
    Resource,
    VllmAdapterConfig,
)

if TYPE_CHECKING:
    import httpx  # imported with the first probe: a Node without probes does not need it

MAX_CONCURRENT: Final = 256
"""The maximum number of probes at once: each holds a socket until its backend answers."""

MAX_BODY_BYTES: Final = 1 << 16
"""The maximum size of a body that is read before the status of an answer counts."""

_MAX_CAUSES: Final = 32

_DEFAULT_PATHS: Final[Mapping[type[betterproto2.Message], str]] = MappingProxyType(
    {OllamaAdapterConfig: "/api/version", VllmAdapterConfig: "/health", LlamaCppAdapterConfig: "/health"}
)
"""Health paths by adapter type. Backends that only share the OpenAI API have no such path in common."""

_SUCCESS: Final = range(200, 300)
_NO_SERVER_ERROR: Final = range(200, 500)


class ProbeResult(NamedTuple):
    """The outcome of a probe; `detail` holds no secret."""

    good: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Probe:
    """A request to a backend, its timeout in seconds, and the good statuses. URL and headers may hold secrets."""

    provider_id: ProviderId
    url: str = field(repr=False)
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    timeout: float
    good: range


class Prober(Protocol):
    """Sends probes."""

    async def probe(self, probe: Probe) -> ProbeResult:
        """Send a probe; a failure is a result too."""


def probe_of(resource: Resource, adapter: AdapterConfig | None) -> Probe | None:
    """Return the probe of a resource; None if its check is not active or it has no HTTP backend.

    A configured path replaces the path of the base URL; the query of the base URL, which may hold a key, is kept. By
    default the adapter type decides the path. A type without a health path is asked for its base URL as it is, and any
    answer but a server error counts as good.
    """
    check = resource.health
    if check is None or check.mode is not HealthMode.ACTIVE or adapter is None:
        return None
    _, config = betterproto2.which_one_of(adapter, "config")
    if not isinstance(
        config, OllamaAdapterConfig | VllmAdapterConfig | LlamaCppAdapterConfig | OpenAiCompatAdapterConfig
    ):
        return None
    base = urlsplit(config.base_url)
    path = check.path or _DEFAULT_PATHS.get(type(config), "")
    return Probe(
        provider_id=ProviderId(resource.provider_id),
        url=_url(base, path),
        headers=_headers(base, config.headers),
        timeout=check.timeout_ms / 1000,
        good=_SUCCESS if path else _NO_SERVER_ERROR,
    )


def _url(base: SplitResult, path: str) -> str:
    host = base.netloc.rpartition("@")[2]
    if not path:
        return base._replace(netloc=host, fragment="").geturl()
    wanted = urlsplit(f"//host{path}")
    query = "&".join(filter(None, (base.query, wanted.query)))
    return base._replace(netloc=host, path=wanted.path, query=query, fragment="").geturl()


def _headers(base: SplitResult, configured: Mapping[str, str]) -> tuple[tuple[bytes, bytes], ...]:
    own = {"User-Agent": b"iop-edge-node", "Accept": b"*/*"}
    if base.username is not None:
        user = b":".join(unquote_to_bytes(part or "") for part in (base.username, base.password))
        own["Authorization"] = b"Basic " + base64.b64encode(user)
    given = {name.lower() for name in configured}
    return (
        *((name.encode(), value.encode()) for name, value in configured.items()),
        *((name.encode(), value) for name, value in own.items() if name.lower() not in given),
    )


class HttpProber:
    """Probes over HTTP with a new connection each time, so that nothing is left of a backend that was removed.

    Redirects are not followed, the environment (proxies) is ignored, and TLS trusts the system's authorities.
    """

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None
        self._preparing = asyncio.Lock()
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def probe(self, probe: Probe) -> ProbeResult:
        """Send a probe."""
        async with self._preparing:
            if self._tls is None:
                self._tls = await asyncio.to_thread(_prepare)
        async with self._slots:
            return await _send(probe, self._tls)


def _prepare() -> ssl.SSLContext:
    """Import httpx and load the trusted certificates: both are slow."""
    importlib.import_module("httpx")
    return ssl.create_default_context()


async def _send(probe: Probe, tls: ssl.SSLContext) -> ProbeResult:
    import httpx

    # The transport alone, without httpx's client: it follows no redirect, keeps no cookie and logs no URL.
    transport = httpx.AsyncHTTPTransport(verify=tls, trust_env=False)
    try:
        async with asyncio.timeout(probe.timeout), transport:
            status = await _status(transport, httpx.Request("GET", probe.url, headers=list(probe.headers)))
    except TimeoutError:
        return ProbeResult(good=False, detail=f"no answer within {probe.timeout:g} s")
    except Exception as error:  # noqa: BLE001
        # Texts of foreign errors quote URLs and headers, which hold secrets.
        return ProbeResult(good=False, detail=_describe(error))
    return ProbeResult(good=status in probe.good, detail=f"answers {status}")


async def _status(transport: "httpx.AsyncHTTPTransport", request: "httpx.Request") -> int:
    """Return the status of an answer, once its body (up to the limit) has arrived too."""
    response = await transport.handle_async_request(request)
    async with aclosing(response):
        left = MAX_BODY_BYTES
        async for part in response.aiter_raw():
            left -= len(part)
            if left <= 0:
                break
    return response.status_code


def _describe(error: Exception) -> str:
    """Describe an error without quoting it, by its innermost cause that the system or TLS has a word for."""
    import httpx

    if described := next(filter(None, map(_system_fault, _causes(error))), ""):
        return described
    if isinstance(error, httpx.RemoteProtocolError):
        return "the answer is not HTTP, or is cut off"
    if isinstance(error, httpx.NetworkError):
        return "the connection was lost"
    return f"the probe failed ({type(error).__name__})"


def _system_fault(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate does not verify: {getattr(error, 'verify_message', 'invalid')}"
    if isinstance(error, ssl.SSLError):
        return f"TLS fails: {getattr(error, 'reason', None) or 'broken'}"
    if isinstance(error, OSError) and error.errno:
        return f"cannot connect: {os_error_text(error)}"
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, also those in groups: the addresses of a host are tried side by side."""
    found: list[BaseException] = [error]
    for _ in range(_MAX_CAUSES):
        if not found:
            return
        cause = found.pop()
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            found.extend(cause.exceptions)
        found.extend(inner for inner in (cause.__context__, cause.__cause__) if inner is not None)
