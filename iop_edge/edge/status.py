"""What an Edge shows of itself: its status, and counters for its metrics."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, Self

from iop_edge.client.status import NodeStatus
from iop_edge.clock import Clock
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.proposal import with_reloaded_tls
from iop_edge.edge.running import ConfigFiles, Running, nodes
from iop_edge.errors import ConfigError
from iop_edge.ids import DispatchKey, NodeId
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.slots import Lease
from iop_edge.pool.status import ProviderStatus
from iop_edge.push.model import NodeState, Pushed
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import Mode, RefreshResult, Status
from iop_edge.schema.values import ReferenceTree, as_written, below

if TYPE_CHECKING:
    from iop_pb import trees


PUSH_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
WAIT_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of histogram buckets, in seconds."""

Drift = tuple[bool, str]
"""Whether what runs differs from the Edge's own files, and why they cannot be read, if so (REF-10)."""


def drift(running: Running, files: ConfigFiles | None) -> Drift:
    """Compare what runs with the Edge's own files. Blocks."""
    if files is None:
        return False, ""
    try:
        own = files.load()
    except ConfigError as error:
        # What runs is valid, so invalid files say something else.
        return True, f"{error.total} violations, the first: {error.violations[0]}"
    return bool(plan(with_reloaded_tls(running.snapshot, own), own).changes), ""


def node_statuses(snapshot: Snapshot, states: Mapping[NodeId, NodeState]) -> tuple[NodeStatus, ...]:
    """Return the status of each Node of a config, by id."""
    references = below(snapshot.references.tree, "nodes")
    by_id = sorted(nodes(snapshot), key=lambda node: node["id"])
    return tuple(
        _node_status(node, below(references, node["id"]), states.get(NodeId(node["id"]), NodeState())) for node in by_id
    )


def _node_status(node: "trees.Node", references: ReferenceTree, state: NodeState) -> NodeStatus:
    return NodeStatus(
        node_id=NodeId(node["id"]),
        alias=as_written(references, "alias", node.get("alias", "")),
        address=as_written(references, "address", node["address"]),
        connection=state.connection,
        generation=state.generation,
        revision=state.revision,
        in_sync=state.in_sync,
        last_error=state.last_error,
    )


class Histogram:
    """How many durations fell into each bucket, the last one unbounded, and their sum in seconds."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.buckets[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds

    def __copy__(self) -> Self:
        copy = type(self)(self.bounds)
        copy.buckets, copy.sum = self.buckets.copy(), self.sum
        return copy


@dataclass(slots=True)
class Counters:
    """What happened since the start. It observes the provider pool.

    `refreshes` counts by mode, status and reason: the first rule that a rejected candidate broke, so that no text of a
    config becomes a label. `waits` and `refusals` count requests that were not served at once, by model group or route
    and by outcome; names that the config does not have count as None, so that callers cannot add counters. Times are in
    seconds since 1970 UTC; 0: never.
    """

    refreshes: Counter[tuple[Mode, Status, str]] = field(default_factory=Counter)
    last_apply_at: float = 0
    last_apply_succeeded: bool = True
    last_success_at: float = 0
    pushes: Counter[str] = field(default_factory=Counter)
    push_seconds: Histogram = field(default_factory=lambda: Histogram(PUSH_BOUNDS))
    waits: Counter[tuple[DispatchKey | None, str]] = field(default_factory=Counter)
    wait_seconds: Histogram = field(default_factory=lambda: Histogram(WAIT_BOUNDS))
    refusals: Counter[tuple[DispatchKey | None, str]] = field(default_factory=Counter)

    def take_result(self, mode: Mode, result: RefreshResult, clock: Clock) -> None:
        """Count a refresh. One that needs a restart is no success: what was asked for does not run."""
        reason = result.violations[0].rule if result.violations else ""
        self.refreshes[mode, result.status, reason] += 1
        if mode is Mode.APPLY:
            self.last_apply_at = clock.wall_ms() / 1000
            self.last_apply_succeeded = result.status is Status.APPLIED
            if self.last_apply_succeeded:
                self.last_success_at = self.last_apply_at

    def take_push(self, pushed: Pushed) -> None:
        """Count a push."""
        self.pushes[pushed.outcome.value if pushed.outcome else "lost"] += 1
        self.push_seconds.add(pushed.seconds)

    def on_wait_ended(self, key: DispatchKey, outcome: Lease | RefusalReason | None, seconds: float) -> None:
        """Count a wait that has ended."""
        if isinstance(outcome, RefusalReason):
            self.waits[_bounded(key, outcome), outcome.value] += 1
        else:
            self.waits[key, "cancelled" if outcome is None else "granted"] += 1
        self.wait_seconds.add(seconds)

    def on_refused(self, key: DispatchKey, reason: RefusalReason) -> None:
        """Count a request that was refused before it waited."""
        self.refusals[_bounded(key, reason), reason.value] += 1

    def keep(self, keys: Container[DispatchKey]) -> None:
        """Drop the counters of all but these model groups and routes."""
        for counter in (self.waits, self.refusals):
            for entry in [entry for entry in counter if entry[0] is not None and entry[0] not in keys]:
                del counter[entry]

    def copy(self) -> "Counters":
        """Return a copy that no longer changes."""
        return Counters(**{item.name: copy(getattr(self, item.name)) for item in fields(self)})


def _bounded(key: DispatchKey, reason: RefusalReason) -> DispatchKey | None:
    return None if reason is RefusalReason.UNKNOWN else key


@dataclass(frozen=True, slots=True)
class MetricsSnapshot:
    """What the metrics of an Edge show at one moment."""

    revision: int
    pending: int
    awaits_confirmation: bool
    nodes: Mapping[NodeId, NodeState]
    providers: tuple[ProviderStatus, ...]
    counters: Counters
