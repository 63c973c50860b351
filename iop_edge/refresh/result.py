"""The outcome of a refresh (REF-06).

Everything here is redacted before it gets here: results are logged, stored and sent.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from iop_edge.errors import Violation
from iop_edge.schema.table import RefreshClass

_T = TypeVar("_T")


class Status(StrEnum):
    """How a refresh ended. A rejected one has changed nothing."""

    APPLIED = "applied"
    RESTART_REQUIRED = "restart_required"
    REJECTED = "rejected"


class Mode(StrEnum):
    """Whether a refresh says what it would do, or does it."""

    DRY_RUN = "dry_run"
    APPLY = "apply"


class ChangeKind(StrEnum):
    """What happened to a path: a whole item came or went, or a value differs."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


class NodeOutcome(StrEnum):
    """What became of a Node in a refresh (PSH-03)."""

    COMMITTED = "committed"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    RESTART_REQUIRED = "restart_required"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"
    ROLLED_BACK = "rolled_back"
    ROLLBACK_FAILED = "rollback_failed"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two configs.

    `before` and `after` are plain JSON values without secrets; None where there is no value, or none that may be shown.
    """

    path: str
    kind: ChangeKind
    before: Any
    after: Any
    refresh_class: RefreshClass


@dataclass(frozen=True, slots=True)
class Mask:
    """The changed fields of one message, by their class. The root's `path` is empty."""

    path: str
    live: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What became of one Node. `generation` is the one that it runs; 0: not known."""

    node_id: str
    outcome: NodeOutcome
    reason: str = ""
    generation: int = 0


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """How a refresh ended (REF-06).

    Lists are sorted here, whatever order they come in; violations and warnings keep the order of their places in files.
    `violations_total` counts also those violations that are not listed.
    """

    status: Status
    mode: Mode
    committed: bool = False
    revision_before: int = 0
    revision_after: int = 0
    candidate_hash: str = ""
    changes: tuple[Change, ...] = ()
    masks: tuple[Mask, ...] = ()
    changed_nodes: tuple[str, ...] = ()
    changed_providers: tuple[str, ...] = ()
    changed_models: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    violations_total: int = 0
    warnings: tuple[Violation, ...] = ()
    pending: tuple[Change, ...] = ()
    reports: tuple[NodeReport, ...] = ()

    def __post_init__(self) -> None:
        self._sort("changes", self.changes, lambda change: change.path)
        self._sort("masks", self.masks, lambda mask: mask.path)
        self._sort("changed_nodes", self.changed_nodes, str)
        self._sort("changed_providers", self.changed_providers, str)
        self._sort("changed_models", self.changed_models, str)
        self._sort("pending", self.pending, lambda change: change.path)
        self._sort("reports", self.reports, lambda report: report.node_id)
        object.__setattr__(self, "violations", tuple(self.violations))
        object.__setattr__(self, "violations_total", max(self.violations_total, len(self.violations)))
        object.__setattr__(self, "warnings", tuple(self.warnings))

    def _sort(self, name: str, items: Iterable[_T], key: Callable[[_T], str]) -> None:
        object.__setattr__(self, name, tuple(sorted(items, key=key)))
