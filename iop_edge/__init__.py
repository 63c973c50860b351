"""The config plane of an LLM-inference Edge: load, check, plan and push configuration, and dispatch by it.

Everything below is loaded when it is first used: a program that only checks a file never loads the generated messages
or the network code.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from iop_edge.client.admin import AdminClient
    from iop_edge.client.status import StatusSnapshot
    from iop_edge.config.files import check, load
    from iop_edge.config.snapshot import Snapshot
    from iop_edge.edge.edge import Edge
    from iop_edge.errors import ConfigError, EdgeError, Report, RequestRefusedError, Span, Violation
    from iop_edge.ids import ModelKey, RouteKey
    from iop_edge.payload import UnknownNodeError, node_payload
    from iop_edge.pool.errors import NoProviderError, RefusalReason
    from iop_edge.pool.explain import DispatchExplanation
    from iop_edge.pool.pool import ProviderPool
    from iop_edge.pool.slots import Lease
    from iop_edge.pool.status import ProviderStatus
    from iop_edge.refresh.plan import Plan, plan
    from iop_edge.refresh.result import Change, Mode, NodeReport, RefreshResult, Status
    from iop_edge.requests.facts import RequestFacts
    from iop_edge.requests.policy import Execution, RequestPolicy, UsageRecord
    from iop_edge.requests.principals import Principal

__all__ = [
    "AdminClient",
    "Change",
    "ConfigError",
    "DispatchExplanation",
    "Edge",
    "EdgeError",
    "Execution",
    "Lease",
    "Mode",
    "ModelKey",
    "NoProviderError",
    "NodeReport",
    "Plan",
    "Principal",
    "ProviderPool",
    "ProviderStatus",
    "RefreshResult",
    "RefusalReason",
    "Report",
    "RequestFacts",
    "RequestPolicy",
    "RequestRefusedError",
    "RouteKey",
    "Snapshot",
    "Span",
    "Status",
    "StatusSnapshot",
    "UnknownNodeError",
    "UsageRecord",
    "Violation",
    "check",
    "load",
    "node_payload",
    "plan",
]

_HOMES: Final = {
    "iop_edge.client.admin": ("AdminClient",),
    "iop_edge.client.status": ("StatusSnapshot",),
    "iop_edge.edge.edge": ("Edge",),
    "iop_edge.errors": ("ConfigError", "EdgeError", "Report", "RequestRefusedError", "Span", "Violation"),
    "iop_edge.config.files": ("check", "load"),
    "iop_edge.config.snapshot": ("Snapshot",),
    "iop_edge.ids": ("ModelKey", "RouteKey"),
    "iop_edge.payload": ("UnknownNodeError", "node_payload"),
    "iop_edge.pool.errors": ("NoProviderError", "RefusalReason"),
    "iop_edge.pool.explain": ("DispatchExplanation",),
    "iop_edge.pool.pool": ("ProviderPool",),
    "iop_edge.pool.slots": ("Lease",),
    "iop_edge.pool.status": ("ProviderStatus",),
    "iop_edge.refresh.plan": ("Plan", "plan"),
    "iop_edge.refresh.result": ("Change", "Mode", "NodeReport", "RefreshResult", "Status"),
    "iop_edge.requests.facts": ("RequestFacts",),
    "iop_edge.requests.policy": ("Execution", "RequestPolicy", "UsageRecord"),
    "iop_edge.requests.principals": ("Principal",),
}
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
