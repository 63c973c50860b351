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
    from iop_edge.errors import ConfigError, EdgeError, Report, Span, Violation
    from iop_edge.payload import UnknownNodeError, node_payload
    from iop_edge.pool.explain import Dispatch
    from iop_edge.pool.explanation import Explanation
    from iop_edge.pool.lease import Lease
    from iop_edge.pool.pool import ProviderPool
    from iop_edge.pool.refusal import NoProviderError, Refusal, RefusalReason
    from iop_edge.refresh.plan import Plan, plan
    from iop_edge.refresh.result import Change, Mode, NodeReport, RefreshResult, Status
    from iop_edge.requests.attribution import UsageRecord
    from iop_edge.requests.openai_error import OpenAIError, openai_error
    from iop_edge.requests.prepare import Execution, RequestPolicy
    from iop_edge.requests.principals import Principal
    from iop_edge.requests.request import RequestFacts
    from iop_edge.requests.request_refusal import RequestRefusal, RequestRefusalReason

__all__ = [
    "AdminClient",
    "Change",
    "ConfigError",
    "Dispatch",
    "Edge",
    "EdgeError",
    "Execution",
    "Explanation",
    "Lease",
    "Mode",
    "NoProviderError",
    "NodeReport",
    "OpenAIError",
    "Plan",
    "Principal",
    "ProviderPool",
    "RefreshResult",
    "Refusal",
    "RefusalReason",
    "Report",
    "RequestFacts",
    "RequestPolicy",
    "RequestRefusal",
    "RequestRefusalReason",
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
    "openai_error",
    "plan",
]

_HOMES: Final = {
    "iop_edge.client.admin": ("AdminClient",),
    "iop_edge.client.status": ("StatusSnapshot",),
    "iop_edge.edge.edge": ("Edge",),
    "iop_edge.errors": ("ConfigError", "EdgeError", "Report", "Span", "Violation"),
    "iop_edge.config.files": ("check", "load"),
    "iop_edge.config.snapshot": ("Snapshot",),
    "iop_edge.payload": ("UnknownNodeError", "node_payload"),
    "iop_edge.refresh.plan": ("Plan", "plan"),
    "iop_edge.refresh.result": ("Change", "Mode", "NodeReport", "RefreshResult", "Status"),
    "iop_edge.requests.attribution": ("UsageRecord",),
    "iop_edge.pool.explain": ("Dispatch",),
    "iop_edge.pool.explanation": ("Explanation",),
    "iop_edge.pool.lease": ("Lease",),
    "iop_edge.requests.openai_error": ("OpenAIError", "openai_error"),
    "iop_edge.pool.pool": ("ProviderPool",),
    "iop_edge.requests.prepare": ("Execution", "RequestPolicy"),
    "iop_edge.requests.principals": ("Principal",),
    "iop_edge.pool.refusal": ("NoProviderError", "Refusal", "RefusalReason"),
    "iop_edge.requests.request": ("RequestFacts",),
    "iop_edge.requests.request_refusal": ("RequestRefusal", "RequestRefusalReason"),
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
