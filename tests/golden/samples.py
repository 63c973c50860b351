"""Results to render: made up, so that their look depends on the renderer alone."""

from dataclasses import replace
from typing import Final

from iop_edge.client.status import NodeStatus, StatusSnapshot
from iop_edge.errors import Excerpt, Report, Span, Violation
from iop_edge.ids import EdgeId, NodeId, ProviderId
from iop_edge.pool.status import Health, NodeConnection, ProviderState, ProviderStatus
from iop_edge.refresh.result import (
    Attempt,
    Change,
    ChangeKind,
    Mask,
    Mode,
    NodeOutcome,
    NodeReport,
    RefreshResult,
    Status,
    Trigger,
)
from iop_edge.schema.table import RefreshClass

_CAPACITY_SPAN: Final = Span("edge.yaml", 14, 19)
_UNKNOWN_SPAN: Final = Span("conf/a b,c.yaml", 3, 1)

_CAPACITY: Final = Violation("value.gte", "nodes[0].providers[2].capacity", _CAPACITY_SPAN, "must be >= 1, got 0")
_UNKNOWN: Final = Violation("field.unknown", "opnai", _UNKNOWN_SPAN, "no such field", "did you mean openai?")
_MISSING: Final = Violation("file.missing", "", Span("none: 100%.yaml"), "no such file")
_NOWHERE: Final = Violation("reference.missing", "nodes[gpu-a].token", None, "no overlay gives\nthis \x1b[31msecret")
_SHADOWED: Final = Violation("route.shadowed", "openai.model_routes[0]", Span("edge.yaml", 40, 7), "models[] wins")

VIOLATIONS: Final = Report(
    violations=(_CAPACITY, _UNKNOWN, _MISSING, _NOWHERE),
    warnings=(_SHADOWED,),
    total=4,
    excerpts={
        _CAPACITY_SPAN: Excerpt("    capacity: 0", 14),
        _UNKNOWN_SPAN: Excerpt("opnai: <redacted>", 0),
    },
)
WARNINGS: Final = Report(warnings=(_SHADOWED,))
MANY: Final = Report(violations=(_CAPACITY,), total=1234)

_LIVE: Final = Change("nodes[gpu-a].providers[gpu-a-qwen].capacity", ChangeKind.MODIFIED, 4, 8, RefreshClass.LIVE)
_UNSET: Final = Change("models[m].min_max_tokens", ChangeKind.MODIFIED, None, 256, RefreshClass.LIVE)
_ADDED: Final = Change("models[m2]", ChangeKind.ADDED, None, {"id": "m2", "providers": []}, RefreshClass.LIVE)
_SECRET: Final = Change("nodes[gpu-a].token", ChangeKind.MODIFIED, None, None, RefreshClass.RESTART)
_REMOVED: Final = Change("nodes[gpu-c]", ChangeKind.REMOVED, {"id": "gpu-c"}, None, RefreshClass.RESTART)
_TEXT: Final = Change("edge.name", ChangeKind.MODIFIED, "Seoul", "서울\n\x1b[31m", RefreshClass.RESTART)

_FORMER_REFERENCE: Final = Change("nodes[gpu-b].token", ChangeKind.MODIFIED, "${env:TOKEN}", None, RefreshClass.RESTART)
_LARGE: Final = Change(
    "nodes[gpu-d]", ChangeKind.ADDED, None, {"id": "gpu-d", "alias": "x" * 200}, RefreshClass.RESTART
)

_MASKS: Final = (
    Mask("nodes[gpu-a]", restart=("token",)),
    Mask("nodes[gpu-a].providers[gpu-a-qwen]", live=("capacity",)),
)
_HASH: Final = "9f" * 32

LIVE_DRY_RUN: Final = RefreshResult(
    status=Status.APPLIED,
    mode=Mode.DRY_RUN,
    revision_before=3,
    revision_after=3,
    candidate_hash=_HASH,
    changes=(_LIVE, _UNSET, _ADDED),
    masks=(_MASKS[1],),
    changed_nodes=("gpu-a",),
    changed_providers=("gpu-a-qwen",),
    changed_models=("m", "m2"),
    reports=(NodeReport("gpu-a", NodeOutcome.CHECKED, generation=7),),
)
LIVE_APPLY: Final = RefreshResult(
    status=Status.APPLIED,
    mode=Mode.APPLY,
    committed=True,
    revision_before=3,
    revision_after=4,
    candidate_hash=_HASH,
    changes=(_LIVE,),
    changed_nodes=("gpu-a", "gpu-b"),
    reports=(
        NodeReport("gpu-b", NodeOutcome.UNREACHABLE, "connection refused"),
        NodeReport("gpu-a", NodeOutcome.COMMITTED, generation=8),
    ),
)
RESTART_LIVE_ONLY: Final = RefreshResult(
    status=Status.RESTART_REQUIRED,
    mode=Mode.APPLY,
    committed=True,
    revision_before=4,
    revision_after=5,
    candidate_hash=_HASH,
    changes=(_LIVE, _SECRET, _REMOVED, _TEXT),
    masks=_MASKS,
    pending=(_SECRET, _REMOVED, _TEXT),
)
REJECTED: Final = RefreshResult(
    status=Status.REJECTED,
    mode=Mode.APPLY,
    revision_before=4,
    revision_after=4,
    violations=VIOLATIONS.violations,
    warnings=VIOLATIONS.warnings,
)
REFUSED_BY_NODE: Final = RefreshResult(
    status=Status.REJECTED,
    mode=Mode.APPLY,
    revision_before=4,
    revision_after=4,
    candidate_hash=_HASH,
    changes=(_LIVE,),
    reports=(
        NodeReport("gpu-a", NodeOutcome.ROLLED_BACK, "put back", 10),
        NodeReport("gpu-b", NodeOutcome.REJECTED, "profile unknown", 3),
    ),
)
NOTHING: Final = RefreshResult(
    status=Status.APPLIED, mode=Mode.APPLY, revision_before=4, revision_after=4, candidate_hash=_HASH
)

RESULTS: Final = {
    "live-dry-run": LIVE_DRY_RUN,
    "live-apply": LIVE_APPLY,
    "restart-live-only": RESTART_LIVE_ONLY,
    "rejected": REJECTED,
    "rejected-for-much": replace(REJECTED, violations_total=1234),
    "refused-by-node": REFUSED_BY_NODE,
    "nothing": NOTHING,
}
COMPARISONS: Final = {
    "none": RefreshResult(Status.APPLIED, Mode.DRY_RUN),
    "live": RefreshResult(Status.APPLIED, Mode.DRY_RUN, changes=(_LIVE, _ADDED)),
    "restart": RefreshResult(
        Status.RESTART_REQUIRED, Mode.DRY_RUN, changes=(_LIVE, _REMOVED, _SECRET, _FORMER_REFERENCE, _LARGE)
    ),
    "rejected": RefreshResult(Status.REJECTED, Mode.DRY_RUN, violations=VIOLATIONS.violations),
}


def _node(name: str, connection: NodeConnection, last_error: str = "") -> NodeStatus:
    return NodeStatus(
        node_id=NodeId(name),
        alias="",
        address=f"{name}.example.net:7501",
        connection=connection,
        generation=12,
        revision=4,
        in_sync=connection is NodeConnection.CONNECTED,
        last_error=last_error,
    )


def _provider(name: str, state: ProviderState, health: Health, capacity: int) -> ProviderStatus:
    return ProviderStatus(
        provider_id=ProviderId(name),
        node_id=NodeId("gpu-a"),
        status=state,
        health=health,
        capacity=capacity,
        in_flight=2,
        queued=0,
        priority=1,
        models=("qwen3", "llama3"),
        health_detail="answers 200" if health is Health.HEALTHY else "",
    )


QUIET: Final = StatusSnapshot(
    edge_id=EdgeId("edge-1"),
    revision=4,
    config_hash=_HASH,
    started_at_ms=1_796_000_000_000,
    drift=False,
    drift_error="",
    pending=(),
    nodes=(_node("gpu-a", NodeConnection.CONNECTED),),
    providers=(_provider("p1", ProviderState.AVAILABLE, Health.HEALTHY, 4),),
)
TROUBLED: Final = StatusSnapshot(
    edge_id=EdgeId("edge-1"),
    revision=4,
    config_hash=_HASH,
    started_at_ms=1_796_000_000_000,
    drift=True,
    drift_error="edge.yaml: 2 violations",
    pending=(_TEXT,),
    nodes=(
        _node("gpu-a", NodeConnection.CONNECTED),
        _node("gpu-b", NodeConnection.UNREACHABLE, "connection refused"),
        _node("relay", NodeConnection.DIVERGED, "profile unknown"),
    ),
    providers=(
        _provider("p1", ProviderState.BUSY, Health.HEALTHY, 2),
        _provider("p2", ProviderState.DISABLED, Health.DISABLED, 0),
        _provider("p3", ProviderState.UNREACHABLE, Health.UNKNOWN, 1),
    ),
)

ATTEMPTS: Final = (
    Attempt(
        id=3,
        at_ms=1_796_000_000_000,
        actor="uid 1000",
        trigger=Trigger.REFRESH,
        status=Status.APPLIED,
        committed=True,
        revision_before=3,
        revision_after=4,
        base_hash="aa" * 32,
        candidate_hash=_HASH,
        paths=("models[m]", "nodes[gpu-a].runtime.concurrency"),
    ),
    Attempt(
        id=2,
        at_ms=1_795_999_000_000,
        actor="",
        trigger=Trigger.RELOAD,
        status=Status.REJECTED,
        committed=False,
        revision_before=3,
        revision_after=3,
        base_hash="aa" * 32,
        candidate_hash="",
        paths=(),
    ),
)
