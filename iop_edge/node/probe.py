"""What a probe asks a backend for, and what an answer means."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, cast
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

import betterproto2

from iop_edge.ids import ProviderId
from iop_edge.node.subject import Subject
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    LlamaCppAdapterConfig,
    OllamaAdapterConfig,
    OpenAiCompatAdapterConfig,
    VllmAdapterConfig,
)

_HttpConfig = OllamaAdapterConfig | VllmAdapterConfig | LlamaCppAdapterConfig | OpenAiCompatAdapterConfig

_OWN_PATHS: Final[Mapping[type[betterproto2.Message], str]] = MappingProxyType(
    {
        OllamaAdapterConfig: "/api/version",
        VllmAdapterConfig: "/health",
        LlamaCppAdapterConfig: "/health",
    }
)
"""Where backends of a kind say that they serve. Those that are only alike in their API have no such path in common."""

_SUCCESS: Final = range(200, 300)
_NO_FAULT_OF_ITS_OWN: Final = range(200, 500)


class Finding(NamedTuple):
    """What a probe has found; `detail` holds no secret."""

    good: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to a backend: what is asked for, how long it may take in seconds, and which statuses are good.

    The URL and the headers hold secrets.
    """

    provider_id: ProviderId
    url: str = field(repr=False)
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    timeout: float
    good: range


def probe_of(subject: Subject) -> Probe | None:
    """Return how a resource is probed; None where it is not to be, or has no backend that could be asked.

    A path of the config is one on the backend's host, whatever path its base URL has; a query of the base URL, which
    may hold a key, goes with it. Without a path the kind of the adapter says what is asked for; where it has no path
    of its own, the base URL is, and an answer shows that the backend serves unless it is a fault of the backend's own.
    """
    if subject.mode is not HealthMode.ACTIVE or subject.adapter is None:
        return None
    config = _http_config(subject.adapter)
    if config is None:
        return None
    base = urlsplit(config.base_url)
    path = subject.check.path or _OWN_PATHS.get(type(config), "")
    return Probe(
        provider_id=subject.provider_id,
        url=_url(base, path),
        headers=_headers(base, config.headers),
        timeout=subject.check.timeout_ms / 1000,
        good=_SUCCESS if path else _NO_FAULT_OF_ITS_OWN,
    )


def _http_config(adapter: AdapterConfig) -> _HttpConfig | None:
    _, config = betterproto2.which_one_of(adapter, "config")
    return cast("_HttpConfig", config) if hasattr(config, "base_url") else None


def _url(base: SplitResult, path: str) -> str:
    host = base.netloc.rpartition("@")[2]
    if not path:
        return base._replace(netloc=host, fragment="").geturl()
    asked = urlsplit(f"//host{path}")
    query = "&".join(filter(None, (base.query, asked.query)))
    return base._replace(netloc=host, path=asked.path, query=query, fragment="").geturl()


def _headers(base: SplitResult, configured: Mapping[str, str]) -> tuple[tuple[bytes, bytes], ...]:
    headers = [(name.encode(), value.encode()) for name, value in configured.items()]
    given = {name.lower() for name in configured}
    own = [(name.encode(), value) for name, value in _own_headers(base) if name.lower() not in given]
    return (*headers, *own)


def _own_headers(base: SplitResult) -> Iterator[tuple[str, bytes]]:
    yield "User-Agent", b"iop-edge-node"
    yield "Accept", b"*/*"
    if base.username is not None:
        user = b":".join(unquote_to_bytes(part or "") for part in (base.username, base.password))
        yield "Authorization", b"Basic " + base64.b64encode(user)
