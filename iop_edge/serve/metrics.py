"""The metrics of an Edge, for Prometheus: one page over HTTP, from the event loop of the Edge.

Labels are ids, words of enums and rule ids: never a value of a config, which could be a secret (CFG-08).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from iop_edge.edge.status import Counters, Histogram, MetricsSnapshot
from iop_edge.errors import EdgeError
from iop_edge.ids import DispatchKey, ModelKey, NodeId
from iop_edge.net import Address, AddressError, os_error_text, parse_address
from iop_edge.pool.status import Health, NodeConnection, ProviderState, ProviderStatus
from iop_edge.push.model import NodeState

_CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PATH: Final = "/metrics"
_MAX_HEAD: Final = 8 * 1024
_MAX_CONNECTIONS: Final = 16
_PATIENCE_SECONDS: Final = 10.0

Page = Callable[[], Awaitable[bytes]]
Samples = Iterable[tuple[tuple[str, ...], float]]


def exposition(snapshot: MetricsSnapshot) -> bytes:
    """Return the metrics in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(snapshot))
    return generate_latest(registry)


class _Collector(Collector):
    def __init__(self, snapshot: MetricsSnapshot) -> None:
        self._snapshot = snapshot

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        snapshot = self._snapshot
        yield _gauge("revision", "The running revision.", snapshot.revision)
        yield _gauge("pending_changes", "Changes that are pending until a restart.", snapshot.pending)
        yield _gauge(
            "awaits_confirmation", "1: the running revision is reverted unless confirmed.", snapshot.awaits_confirmation
        )
        yield from _of_refreshes(snapshot.counters)
        yield from _of_queues(snapshot.counters)
        yield from _of_nodes(snapshot.nodes)
        yield from _of_providers(snapshot.providers)


def _of_refreshes(counters: Counters) -> Iterator[Metric]:
    yield _counters(
        "refreshes",
        "Refreshes by mode, status and, if rejected, the first violated rule.",
        ("mode", "status", "reason"),
        (
            ((mode.value, status.value, rule), count)
            for (mode, status, rule), count in sorted(counters.refreshes.items())
        ),
    )
    yield _gauge("last_apply_successful", "1: the last apply succeeded.", counters.last_apply_succeeded)
    yield _gauge("last_apply_timestamp_seconds", "When the last apply ended; 0: none did.", counters.last_apply_at)
    yield _gauge(
        "last_apply_success_timestamp_seconds",
        "When the last successful apply ended; 0: none did.",
        counters.last_success_at,
    )
    yield _counters(
        "pushes",
        "Payloads sent to Nodes, including checks, by outcome.",
        ("outcome",),
        (((outcome,), count) for outcome, count in sorted(counters.pushes.items())),
    )
    yield _histogram(
        "push_duration_seconds", "The duration of pushes, from sending to the answer.", counters.push_seconds
    )


def _of_queues(counters: Counters) -> Iterator[Metric]:
    yield _counters(
        "request_waits",
        "Requests that waited for a provider, by what they asked for and how the wait ended.",
        ("kind", "model", "outcome"),
        (((*_key_labels(key), word), count) for (key, word), count in counters.waits.items()),
    )
    yield _counters(
        "requests_refused",
        "Requests that were refused at once, by what they asked for and why.",
        ("kind", "model", "reason"),
        (((*_key_labels(key), word), count) for (key, word), count in counters.refusals.items()),
    )
    yield _histogram("request_wait_seconds", "How long requests waited for a provider.", counters.wait_seconds)


def _key_labels(key: DispatchKey | None) -> tuple[str, str]:
    if key is None:
        return "", ""
    return "model" if isinstance(key, ModelKey) else "route", key.id


def _of_nodes(nodes: Mapping[NodeId, NodeState]) -> Iterator[Metric]:
    yield _gauges(
        "node_connection",
        "1 for the state of each Node's connection.",
        ("node", "state"),
        (((name, word.value), node.connection is word) for name, node in nodes.items() for word in NodeConnection),
    )
    revisions = (((name,), node.revision) for name, node in nodes.items())
    yield _gauges("node_revision", "The revision that each Node acknowledged last; 0: none.", ("node",), revisions)
    in_sync = (((name,), node.in_sync) for name, node in nodes.items())
    yield _gauges("node_in_sync", "1: the Node runs what it should.", ("node",), in_sync)


def _of_providers(providers: tuple[ProviderStatus, ...]) -> Iterator[Metric]:
    names = {provider: (provider.provider_id, provider.node_id) for provider in providers}
    for field, text in (
        ("in_flight", "Requests that each provider runs."),
        ("capacity", "Requests that each provider can run at once; 0: disabled."),
        ("queued", "Requests that wait for each provider."),
        ("priority", "The priority of each provider: lower numbers first."),
    ):
        samples = ((labels, getattr(provider, field)) for provider, labels in names.items())
        yield _gauges(f"provider_{field}", text, ("provider", "node"), samples)
    yield _gauges(
        "provider_state",
        "1 for the state of each provider.",
        ("provider", "node", "state"),
        (((*labels, word.value), item.status is word) for item, labels in names.items() for word in ProviderState),
    )
    yield _gauges(
        "provider_health",
        "1 for the health of each provider.",
        ("provider", "node", "health"),
        (((*labels, word.value), item.health is word) for item, labels in names.items() for word in Health),
    )


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"iop_edge_{name}", text, float(value))


def _gauges(name: str, text: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    family = GaugeMetricFamily(f"iop_edge_{name}", text, labels=labels)
    for values, number in samples:
        family.add_metric(values, float(number))
    return family


def _counters(name: str, text: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    family = CounterMetricFamily(f"iop_edge_{name}", text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def _histogram(name: str, text: str, histogram: Histogram) -> Metric:
    bounds = (*map(str, histogram.bounds), "+Inf")
    buckets = list(zip(bounds, accumulate(histogram.buckets), strict=True))
    return HistogramMetricFamily(f"iop_edge_{name}", text, buckets=buckets, sum_value=histogram.sum)


@asynccontextmanager
async def serving_metrics(text: str, page: Page) -> AsyncIterator[Address]:
    """Serve the page while the block runs; yield the real address.

    Raises:
        EdgeError: the address is invalid, or cannot be listened on.
    """
    try:
        address = parse_address(text)
    except AddressError as error:
        raise EdgeError(f"metrics.listen: {text}: {error}") from None
    if address.is_unix:
        raise EdgeError(f"metrics.listen: {text}: Prometheus scrapes over TCP only")
    calls: set[asyncio.Task[None]] = set()
    accept = partial(_accept, page, calls)
    try:
        server = await asyncio.start_server(accept, address.host or None, address.port, limit=_MAX_HEAD)
    except OSError as error:
        raise EdgeError(f"cannot serve metrics on {text}: {os_error_text(error)}") from None
    try:
        yield Address(host=address.host, port=server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await server.wait_closed()


async def _accept(
    page: Page, calls: set[asyncio.Task[None]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    call = asyncio.current_task()
    assert call is not None
    calls.add(call)
    try:
        # A client that neither sends nor reads holds one of the few connections only for a while.
        async with asyncio.timeout(_PATIENCE_SECONDS):
            if len(calls) <= _MAX_CONNECTIONS:
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
    kind = _CONTENT_TYPE if status is HTTPStatus.OK else "text/plain; charset=utf-8"
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")
