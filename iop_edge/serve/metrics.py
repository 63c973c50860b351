"""What an Edge shows of itself to Prometheus.

Labels are ids, words of enums and rule ids: never a value of a config, which could be a secret (CFG-08).
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from iop_edge.edge.status import Counters, Histogram, MetricsSnapshot
from iop_edge.ids import DispatchKey, ModelKey, NodeId
from iop_edge.pool.status import Health, ProviderState, ProviderStatus
from iop_edge.push.model import Connection, NodeState

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def exposition(snapshot: MetricsSnapshot) -> bytes:
    """Return the metrics in Prometheus' text form."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(snapshot))
    return generate_latest(registry)


class _Collector(Collector):
    def __init__(self, snapshot: MetricsSnapshot) -> None:
        self._snapshot = snapshot

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield from _of_config(self._snapshot)
        yield from _of_refreshes(self._snapshot.counters)
        yield from _of_pushes(self._snapshot.counters)
        yield from _of_queues(self._snapshot.counters)
        yield from _of_nodes(self._snapshot.nodes)
        yield from _of_providers(self._snapshot.providers)


def _of_config(snapshot: MetricsSnapshot) -> Iterator[Metric]:
    yield GaugeMetricFamily("iop_edge_revision", "The running revision.", snapshot.revision)
    yield GaugeMetricFamily("iop_edge_pending_changes", "Changes that wait for a restart.", snapshot.pending)
    yield GaugeMetricFamily(
        "iop_edge_awaits_confirmation",
        "Whether the running revision is reverted unless it is confirmed.",
        float(snapshot.awaits_confirmation),
    )


def _of_refreshes(counters: Counters) -> Iterator[Metric]:
    counted = CounterMetricFamily(
        "iop_edge_refreshes",
        "Refreshes by mode, status and, where rejected, the first rule that was broken.",
        labels=("mode", "status", "reason"),
    )
    for (mode, status, reason), count in sorted(counters.refreshes.items()):
        counted.add_metric((mode.value, status.value, reason), count)
    yield counted
    yield GaugeMetricFamily(
        "iop_edge_last_apply_successful", "Whether the last apply was applied.", float(counters.last_apply_succeeded)
    )
    yield GaugeMetricFamily(
        "iop_edge_last_apply_timestamp_seconds", "When the last apply ended; 0: none did.", counters.last_apply_at
    )
    yield GaugeMetricFamily(
        "iop_edge_last_apply_success_timestamp_seconds",
        "When the last apply ended that was applied; 0: none did.",
        counters.last_success_at,
    )


def _of_pushes(counters: Counters) -> Iterator[Metric]:
    counted = CounterMetricFamily(
        "iop_edge_pushes", "Payloads sent to Nodes, checks included, by outcome.", labels=("outcome",)
    )
    for outcome, count in sorted(counters.pushes.items()):
        counted.add_metric((outcome,), count)
    yield counted
    yield _histogram(
        "iop_edge_push_duration_seconds", "How long pushes took, from sending to the answer.", counters.push_seconds
    )


def _of_queues(counters: Counters) -> Iterator[Metric]:
    waits = CounterMetricFamily(
        "iop_edge_request_waits",
        "Requests that have waited for a provider, by what they asked for and how the wait ended.",
        labels=("kind", "model", "outcome"),
    )
    refusals = CounterMetricFamily(
        "iop_edge_requests_refused",
        "Requests that were refused at once, by what they asked for and why.",
        labels=("kind", "model", "reason"),
    )
    for family, counter in ((waits, counters.waits), (refusals, counters.refusals)):
        for (key, word), count in counter.items():
            family.add_metric((*_key_labels(key), word), count)
        yield family
    yield _histogram("iop_edge_request_wait_seconds", "How long requests waited for a provider.", counters.wait_seconds)


def _key_labels(key: DispatchKey | None) -> tuple[str, str]:
    if key is None:
        return "", ""
    return "model" if isinstance(key, ModelKey) else "route", key.id


def _histogram(name: str, text: str, histogram: Histogram) -> HistogramMetricFamily:
    bounds = (*map(str, histogram.bounds), "+Inf")
    buckets = list(zip(bounds, accumulate(histogram.buckets), strict=True))
    return HistogramMetricFamily(name, text, buckets=buckets, sum_value=histogram.sum)


def _of_nodes(nodes: Mapping[NodeId, NodeState]) -> Iterator[Metric]:
    connection = GaugeMetricFamily(
        "iop_edge_node_connection", "1 for the state of each Node's connection.", labels=("node", "state")
    )
    revision = GaugeMetricFamily(
        "iop_edge_node_revision", "The revision that each Node acknowledged last; 0: none.", labels=("node",)
    )
    in_sync = GaugeMetricFamily("iop_edge_node_in_sync", "Whether each Node runs what it should.", labels=("node",))
    for node_id, state in nodes.items():
        for word in Connection:
            connection.add_metric((node_id, word.value), float(state.connection is word))
        revision.add_metric((node_id,), state.revision)
        in_sync.add_metric((node_id,), float(state.in_sync))
    yield from (connection, revision, in_sync)


def _of_providers(providers: tuple[ProviderStatus, ...]) -> Iterator[Metric]:
    labels = ("provider", "node")
    in_flight = GaugeMetricFamily("iop_edge_provider_in_flight", "Requests that each provider runs.", labels=labels)
    capacity = GaugeMetricFamily(
        "iop_edge_provider_capacity", "Requests that each provider takes at once; 0: disabled.", labels=labels
    )
    queued = GaugeMetricFamily("iop_edge_provider_queued", "Requests that wait for each provider.", labels=labels)
    priority = GaugeMetricFamily(
        "iop_edge_provider_priority", "The priority of each provider: the lower number first.", labels=labels
    )
    state = GaugeMetricFamily(
        "iop_edge_provider_state", "1 for what each provider is good for.", labels=(*labels, "state")
    )
    health = GaugeMetricFamily(
        "iop_edge_provider_health", "1 for the health of each provider.", labels=(*labels, "health")
    )
    for provider in providers:
        names = (provider.provider_id, provider.node_id)
        in_flight.add_metric(names, provider.in_flight)
        capacity.add_metric(names, provider.capacity)
        queued.add_metric(names, provider.queued)
        priority.add_metric(names, provider.priority)
        for word in ProviderState:
            state.add_metric((*names, word.value), float(provider.status is word))
        for condition in Health:
            health.add_metric((*names, condition.value), float(provider.health is condition))
    yield from (in_flight, capacity, queued, priority, state, health)
