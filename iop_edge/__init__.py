"""The config plane of an LLM-inference Edge: load, check, plan and push configuration, and dispatch by it.

Start with `load`, `check`, `plan` and `node_payload` for configs, `Edge` for a running Edge in this process, and
`AdminClient` for one in another. All other names are what these take, give or raise. Ids (`NodeId`, `ProviderId`, ...)
are in `iop_edge.ids`.

Everything is loaded when it is first used: a program that only checks a file loads neither the generated messages nor
the network code.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from iop_edge.client.admin import AdminClient
    from iop_edge.client.status import Confirmed, NodeStatus, StatusSnapshot
    from iop_edge.clock import Clock
    from iop_edge.config.files import check, load
    from iop_edge.config.snapshot import Snapshot
    from iop_edge.config.source import Limits, Source
    from iop_edge.edge.coordinator import Origin
    from iop_edge.edge.edge import Edge
    from iop_edge.edge.running import ConfigFiles
    from iop_edge.errors import ConfigError, EdgeError, Excerpt, Report, RequestRefusedError, Span, Violation
    from iop_edge.ids import ModelKey, RouteKey
    from iop_edge.net import Tls
    from iop_edge.payload import UnknownNodeError, node_payload
    from iop_edge.pool.errors import NoProviderError, RefusalReason
    from iop_edge.pool.explain import Candidate, DispatchExplanation, DispatchKind
    from iop_edge.pool.pool import Acquisition, ProviderPool
    from iop_edge.pool.slots import Lease
    from iop_edge.pool.status import Health, NodeConnection, ProviderState, ProviderStatus
    from iop_edge.push.model import PushSettings
    from iop_edge.refresh.plan import Plan, plan
    from iop_edge.refresh.result import (
        Attempt,
        Change,
        ChangeKind,
        Mask,
        Mode,
        NodeOutcome,
        NodeReport,
        RefreshOptions,
        RefreshResult,
        Status,
        Trigger,
    )
    from iop_edge.requests.facts import RequestFacts, RequestHeaders
    from iop_edge.requests.policy import Execution, RequestPolicy, UsageRecord
    from iop_edge.requests.principals import Principal
    from iop_edge.schema.paths import Path
    from iop_edge.schema.table import RefreshClass
    from iop_edge.schema.values import Reference, References
    from iop_edge.store.history import Applied, Store

__all__ = [
    "Acquisition",
    "AdminClient",
    "Applied",
    "Attempt",
    "Candidate",
    "Change",
    "ChangeKind",
    "Clock",
    "ConfigError",
    "ConfigFiles",
    "Confirmed",
    "DispatchExplanation",
    "DispatchKind",
    "Edge",
    "EdgeError",
    "Excerpt",
    "Execution",
    "Health",
    "Lease",
    "Limits",
    "Mask",
    "Mode",
    "ModelKey",
    "NoProviderError",
    "NodeConnection",
    "NodeOutcome",
    "NodeReport",
    "NodeStatus",
    "Origin",
    "Path",
    "Plan",
    "Principal",
    "ProviderPool",
    "ProviderState",
    "ProviderStatus",
    "PushSettings",
    "Reference",
    "References",
    "RefreshClass",
    "RefreshOptions",
    "RefreshResult",
    "RefusalReason",
    "Report",
    "RequestFacts",
    "RequestHeaders",
    "RequestPolicy",
    "RequestRefusedError",
    "RouteKey",
    "Snapshot",
    "Source",
    "Span",
    "Status",
    "StatusSnapshot",
    "Store",
    "Tls",
    "Trigger",
    "UnknownNodeError",
    "UsageRecord",
    "Violation",
    "check",
    "load",
    "node_payload",
    "plan",
]

_HOMES: Final = {
    "iop_edge.client.admin": "AdminClient",
    "iop_edge.client.status": "Confirmed NodeStatus StatusSnapshot",
    "iop_edge.clock": "Clock",
    "iop_edge.config.files": "check load",
    "iop_edge.config.snapshot": "Snapshot",
    "iop_edge.config.source": "Limits Source",
    "iop_edge.edge.coordinator": "Origin",
    "iop_edge.edge.edge": "Edge",
    "iop_edge.edge.running": "ConfigFiles",
    "iop_edge.errors": "ConfigError EdgeError Excerpt Report RequestRefusedError Span Violation",
    "iop_edge.ids": "ModelKey RouteKey",
    "iop_edge.net": "Tls",
    "iop_edge.payload": "UnknownNodeError node_payload",
    "iop_edge.pool.errors": "NoProviderError RefusalReason",
    "iop_edge.pool.explain": "Candidate DispatchExplanation DispatchKind",
    "iop_edge.pool.pool": "Acquisition ProviderPool",
    "iop_edge.pool.slots": "Lease",
    "iop_edge.pool.status": "Health NodeConnection ProviderState ProviderStatus",
    "iop_edge.push.model": "PushSettings",
    "iop_edge.refresh.plan": "Plan plan",
    "iop_edge.refresh.result": (
        "Attempt Change ChangeKind Mask Mode NodeOutcome NodeReport RefreshOptions RefreshResult Status Trigger"
    ),
    "iop_edge.requests.facts": "RequestFacts RequestHeaders",
    "iop_edge.requests.policy": "Execution RequestPolicy UsageRecord",
    "iop_edge.requests.principals": "Principal",
    "iop_edge.schema.paths": "Path",
    "iop_edge.schema.table": "RefreshClass",
    "iop_edge.schema.values": "Reference References",
    "iop_edge.store.history": "Applied Store",
}
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
