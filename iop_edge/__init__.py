"""The config plane of an LLM-inference Edge: load, check, plan and push configuration, and dispatch by it.

Everything below is loaded when it is first used: a program that only checks a file never loads the generated messages
or the network code.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from iop_edge.client.admin import AdminClient
    from iop_edge.client.status import StatusSnapshot
    from iop_edge.daemon.edge import Edge
    from iop_edge.errors import ConfigError, EdgeError, Report, Span, Violation
    from iop_edge.files import check, load
    from iop_edge.load.snapshot import Snapshot
    from iop_edge.payload.build import UnknownNodeError, node_payload
    from iop_edge.refresh.plan import Plan, plan
    from iop_edge.refresh.result import Change, Mode, NodeReport, RefreshResult, Status
    from iop_edge.runtime.attribution import UsageRecord
    from iop_edge.runtime.explain import Dispatch
    from iop_edge.runtime.explanation import Explanation
    from iop_edge.runtime.lease import Lease
    from iop_edge.runtime.openai_error import OpenAIError, openai_error
    from iop_edge.runtime.pool import ProviderPool
    from iop_edge.runtime.prepare import Execution, RequestPolicy
    from iop_edge.runtime.principals import Principal
    from iop_edge.runtime.refusal import NoProviderError, Refusal, RefusalReason
    from iop_edge.runtime.request import RequestFacts
    from iop_edge.runtime.request_refusal import RequestRefusal, RequestRefusalReason

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
    "iop_edge.daemon.edge": ("Edge",),
    "iop_edge.errors": ("ConfigError", "EdgeError", "Report", "Span", "Violation"),
    "iop_edge.files": ("check", "load"),
    "iop_edge.load.snapshot": ("Snapshot",),
    "iop_edge.payload.build": ("UnknownNodeError", "node_payload"),
    "iop_edge.refresh.plan": ("Plan", "plan"),
    "iop_edge.refresh.result": ("Change", "Mode", "NodeReport", "RefreshResult", "Status"),
    "iop_edge.runtime.attribution": ("UsageRecord",),
    "iop_edge.runtime.explain": ("Dispatch",),
    "iop_edge.runtime.explanation": ("Explanation",),
    "iop_edge.runtime.lease": ("Lease",),
    "iop_edge.runtime.openai_error": ("OpenAIError", "openai_error"),
    "iop_edge.runtime.pool": ("ProviderPool",),
    "iop_edge.runtime.prepare": ("Execution", "RequestPolicy"),
    "iop_edge.runtime.principals": ("Principal",),
    "iop_edge.runtime.refusal": ("NoProviderError", "Refusal", "RefusalReason"),
    "iop_edge.runtime.request": ("RequestFacts",),
    "iop_edge.runtime.request_refusal": ("RequestRefusal", "RequestRefusalReason"),
}
_HOME_OF: Final = {name: module for module, names in _HOMES.items() for name in names}


class _Front(ModuleType):
    """Keeps public names: importing the sub-package `load` binds it here, and would hide the function `load`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Front


def __getattr__(name: str) -> Any:
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
