"""Nodes that answer as a test tells them to, behind the face of a fleet."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.coordinator import Coordinator, Origin, Request
from iop_edge.edge.running import Running
from iop_edge.ids import NodeId
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import Desired
from iop_edge.refresh.result import (
    Attempt,
    Change,
    Mode,
    NodeOutcome,
    NodeReport,
    RefreshOptions,
    RefreshResult,
    Status,
    Trigger,
)
from iop_edge.store.history import Applied, MemoryStore, Store
from tests import trees
from tests.clock import ManualClock

_START = Attempt(0, "start", Trigger.START, Status.APPLIED, True, 0, 1, "", "", ())
BOTH_MODES = pytest.mark.parametrize("mode", list(Mode))
_TAKES = (NodeOutcome.COMMITTED, NodeOutcome.UNKNOWN)


@dataclass
class ScriptedNode:
    """One Node: how it answers, and what it runs. `unknown` takes the payload and loses the answer."""

    check: NodeOutcome = NodeOutcome.CHECKED
    commit: NodeOutcome = NodeOutcome.COMMITTED
    put_back: NodeOutcome = NodeOutcome.ROLLED_BACK
    runs: bytes = b""
    desired: Desired | None = None
    asked: list[str] = field(default_factory=list)


class ScriptedFleet(Fleet):
    """A fleet without connections."""

    def __init__(self, running: Running) -> None:
        self.nodes = {
            node: ScriptedNode(runs=desired.encoded.tag, desired=desired) for node, desired in running.desired.items()
        }

    def __getitem__(self, node: str) -> ScriptedNode:
        return self.nodes[NodeId(node)]

    def set_desired(self, desired: Mapping[NodeId, Desired]) -> None:
        for node, wanted in desired.items():
            self.nodes[node].desired = wanted

    async def check(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        return {node: self._answer(node, "check", self.nodes[node].check) for node in desired}

    async def commit(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        self.set_desired(desired)
        for node, wanted in desired.items():
            if self.nodes[node].commit in _TAKES:
                self.nodes[node].runs = wanted.encoded.tag
        return {node: self._answer(node, "commit", self.nodes[node].commit) for node in desired}

    async def put_back(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        self.set_desired(desired)
        for node, wanted in desired.items():
            if self.nodes[node].put_back is NodeOutcome.ROLLED_BACK:
                self.nodes[node].runs = wanted.encoded.tag
        return {node: self._answer(node, "put_back", self.nodes[node].put_back) for node in desired}

    def _answer(self, node: NodeId, question: str, outcome: NodeOutcome) -> NodeReport:
        self.nodes[node].asked.append(question)
        return NodeReport(node, outcome, f"{question}: {outcome}")


@dataclass
class Bench:
    """A coordinator with what it works on."""

    coordinator: Coordinator
    fleet: ScriptedFleet
    store: Store
    swapped: list[Running]
    first: Running

    @classmethod
    def of(cls, tree: dict[str, Any], store: Store | None = None) -> "Bench":
        """A coordinator that runs this config as revision 1. Needs a running event loop."""
        store = store or MemoryStore()
        snapshot = Snapshot(tree)
        key = store.key()
        running = Running.build(snapshot, 1, snapshot.digest(key), key)
        store.record(_START, Applied(1, running.config_hash, snapshot.dump_for_history()))
        fleet, swapped = ScriptedFleet(running), list[Running]()
        coordinator = Coordinator(running, store, fleet, swapped.append, lambda *_: None, ManualClock())
        return cls(coordinator, fleet, store, swapped, running)

    async def refresh(self, tree: dict[str, Any], mode: Mode = Mode.APPLY, **options: Any) -> RefreshResult:
        """Propose a config."""
        request = Request(lambda: Snapshot(tree), mode, RefreshOptions(**options), Origin())
        return await self.coordinator.refresh(request)

    def assert_nothing_changed(self) -> None:
        """Revision 1 runs, is the newest of the history, and is what every Node is to run."""
        running = self.coordinator.running
        assert running is self.first
        assert self.swapped == []
        assert self.store.newest() == self.store.applied(1)
        for node, wanted in running.desired.items():
            desired = self.fleet[node].desired
            assert desired is not None
            assert (desired.encoded, desired.revision) == (wanted.encoded, 1)

    @property
    def newest(self) -> Attempt:
        """The attempt that was recorded last."""
        return self.store.history(1)[0]


def rules(result: RefreshResult) -> list[str]:
    """The rules that a candidate broke."""
    return [violation.rule for violation in result.violations]


def paths(changes: Iterable[Change]) -> list[str]:
    """The paths of changes."""
    return [change.path for change in changes]


def outcomes(result: RefreshResult) -> dict[str, NodeOutcome]:
    """What became of the Nodes."""
    return {report.node_id: report.outcome for report in result.reports}


def config(*, capacity: int = 1, concurrency: int = 0, alias: str = "", threshold: int = 100000) -> dict[str, Any]:
    """A config of two Nodes: a capacity is live, a concurrency live and pushed to both, an alias needs a restart."""
    return trees.edge(
        *(
            trees.node(
                name,
                trees.provider(f"{name}-p", capacity=capacity),
                runtime=trees.normal("NodeRuntime", concurrency=concurrency),
                **({"alias": alias} if alias else {}),
            )
            for name in ("a", "b")
        ),
        long_context_threshold_tokens=threshold,
    )
