"""What an Edge shows of itself to Prometheus.

Labels are ids, words of enums and rule ids: never a value of a config, which could be a secret (CFG-08).
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from iop_edge.daemon.tally import PUSH_BOUNDS, Moment, Tally
from iop_edge.ids import NodeId
from iop_edge.push.model import Connection, NodeState
from iop_edge.runtime.status import ProviderState, ProviderStatus

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def exposition(moment: Moment) -> bytes:
    """Return the metrics in Prometheus' text form."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(moment))
    return generate_latest(registry)


class _Collector(Collector):
    def __init__(self, moment: Moment) -> None:
        self._moment = moment

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield from _of_config(self._moment)
        yield from _of_refreshes(self._moment.tally)
        yield from _of_pushes(self._moment.tally)
        yield from _of_nodes(self._moment.nodes)
        yield from _of_providers(self._moment.providers)


def _of_config(moment: Moment) -> Iterator[Metric]:
    yield GaugeMetricFamily("iop_edge_revision", "The running revision.", moment.revision)
    yield GaugeMetricFamily("iop_edge_pending_changes", "Changes that wait for a restart.", moment.pending)
    yield GaugeMetricFamily(
        "iop_edge_awaits_confirmation",
        "Whether the running revision is reverted unless it is confirmed.",
        float(moment.awaits_confirmation),
    )


def _of_refreshes(tally: Tally) -> Iterator[Metric]:
    counted = CounterMetricFamily(
        "iop_edge_refreshes",
        "Refreshes by mode, status and, where rejected, the first rule that was broken.",
        labels=("mode", "status", "reason"),
    )
    for (mode, status, reason), count in sorted(tally.refreshes.items()):
        counted.add_metric((mode.value, status.value, reason), count)
    yield counted
    yield GaugeMetricFamily(
        "iop_edge_last_apply_successful", "Whether the last apply was applied.", float(tally.last_apply_succeeded)
    )
    yield GaugeMetricFamily(
        "iop_edge_last_apply_timestamp_seconds", "When the last apply ended; 0: none did.", tally.last_apply_at
    )
    yield GaugeMetricFamily(
        "iop_edge_last_apply_success_timestamp_seconds",
        "When the last apply ended that was applied; 0: none did.",
        tally.last_success_at,
    )


def _of_pushes(tally: Tally) -> Iterator[Metric]:
    counted = CounterMetricFamily(
        "iop_edge_pushes", "Payloads sent to Nodes, checks included, by outcome.", labels=("outcome",)
    )
    for outcome, count in sorted(tally.pushes.items()):
        counted.add_metric((outcome,), count)
    yield counted
    bounds = (*map(str, PUSH_BOUNDS), "+Inf")
    sums = accumulate(tally.push_classes)
    yield HistogramMetricFamily(
        "iop_edge_push_duration_seconds",
        "How long pushes took, from sending to the answer.",
        buckets=list(zip(bounds, sums, strict=True)),
        sum_value=tally.push_seconds,
    )


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
    state = GaugeMetricFamily(
        "iop_edge_provider_state", "1 for what each provider is good for.", labels=(*labels, "state")
    )
    for provider in providers:
        names = (provider.provider_id, provider.node_id)
        in_flight.add_metric(names, provider.in_flight)
        capacity.add_metric(names, provider.capacity)
        queued.add_metric(names, provider.queued)
        for word in ProviderState:
            state.add_metric((*names, word.value), float(provider.status is word))
    yield from (in_flight, capacity, queued, state)
