"""HTTP towards the backends."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from iop_edge import Edge, Lease, Snapshot

_OWN_HEADERS: Final = {
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "iop-edge-gateway-example",
}
_ABOUT_THE_REQUEST: Final = frozenset({400, 413, 422})
"""Statuses that another backend would give too. Any other but 200 is a fault of the backend."""


class BackendError(Exception):
    """A backend failed. The message holds neither its URL nor its answer: both may hold secrets."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """What a request needs to know of an adapter instance."""

    base_url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    seconds: float | None
    """The time limit of a request, in seconds; None: no limit."""


class Backends:
    """Sends requests to the adapters of an Edge's config.

    Nothing of a client's own request but its body comes here: the headers are the front's, the config's and, where the
    policy says so, the client's provider token. The transport is used without httpx's client around it: that one keeps
    cookies, follows redirects, reads proxies from the environment and logs URLs.

    Args:
        edge: whose config says where the backends are.
        connect_seconds: how long a connection may take.
        silence_seconds: how long a backend may send nothing.
    """

    def __init__(self, edge: Edge, connect_seconds: float = 3.0, silence_seconds: float = 300.0) -> None:
        self._edge = edge
        self._read_from: Snapshot | None = None
        self._adapters: dict[tuple[str, str], Adapter] = {}
        self._patience = {"connect": connect_seconds, "read": silence_seconds, "write": silence_seconds}
        # The pool limits the number of requests. Each has a connection of its own: an idle one that the
        # backend closes at the wrong moment would look like a backend that fails.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._transport = httpx.AsyncHTTPTransport(verify=ssl.create_default_context(), trust_env=False, limits=limits)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def adapter_of(self, lease: Lease) -> Adapter:
        """Return the adapter instance of a lease.

        Raises:
            BackendError: it does not speak HTTP, such as one of type `cli`.
        """
        snapshot = self._edge.snapshot
        if snapshot is not self._read_from:
            self._read_from, self._adapters = snapshot, _adapters(snapshot)
        adapter = self._adapters.get((lease.node_id, lease.adapter))
        if adapter is None:
            raise BackendError("the adapter does not speak HTTP")
        return adapter

    @asynccontextmanager
    async def ask(self, adapter: Adapter, headers: Mapping[str, str], body: bytes) -> AsyncIterator[httpx.Response]:
        """Ask for a chat completion. The answer, which is still to be read, is 200 or one about the request.

        Raises:
            BackendError: the backend answers something else, or fails; also while the block reads what it answers.
        """
        sent = httpx.Headers(_OWN_HEADERS)
        sent.update(headers)
        url = f"{adapter.base_url.rstrip('/')}/chat/completions"
        request = httpx.Request("POST", url, headers=sent, content=body, extensions={"timeout": self._patience})
        try:
            async with asyncio.timeout(adapter.seconds):
                response = await self._transport.handle_async_request(request)
                async with aclosing(response):
                    if response.status_code != 200 and response.status_code not in _ABOUT_THE_REQUEST:
                        raise BackendError(f"the backend answered {response.status_code}")
                    yield response
        except (TimeoutError, httpx.TimeoutException):
            raise BackendError("the backend did not answer in time") from None
        except httpx.ConnectError:
            raise BackendError("the backend cannot be reached") from None
        except httpx.TransportError:
            raise BackendError("the backend broke off") from None


def _adapters(snapshot: Snapshot) -> dict[tuple[str, str], Adapter]:
    return {
        (node["id"], adapter["name"]): _adapter(adapter)
        for node in snapshot.tree.get("nodes", [])
        for adapter in node.get("adapters", [])
        if "base_url" in adapter
    }


def _adapter(tree: Mapping[str, Any]) -> Adapter:
    milliseconds = tree.get("request_timeout_ms", 0)
    return Adapter(
        base_url=tree["base_url"],
        headers=dict(tree.get("headers", {})),
        seconds=milliseconds / 1000 if milliseconds else None,
    )
