"""The outcome of a refresh, as code and as JSON (REF-06).

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
    warnings: tuple[Violation, ...] = ()
    pending: tuple[Change, ...] = ()
    reports: tuple[NodeReport, ...] = ()
    violations_total: int = 0

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


def as_json(result: RefreshResult) -> dict[str, Any]:
    """Return the result as plain JSON values: every list present, enums as their words."""
    return {
        "status": str(result.status),
        "mode": str(result.mode),
        "committed": result.committed,
        "revision_before": result.revision_before,
        "revision_after": result.revision_after,
        "candidate_hash": result.candidate_hash,
        "changes": [change_as_json(change) for change in result.changes],
        "masks": [{"path": mask.path, "live": list(mask.live), "restart": list(mask.restart)} for mask in result.masks],
        "changed_nodes": list(result.changed_nodes),
        "changed_providers": list(result.changed_providers),
        "changed_models": list(result.changed_models),
        "violations": [violation_as_json(violation) for violation in result.violations],
        "violations_total": result.violations_total,
        "warnings": [violation_as_json(warning) for warning in result.warnings],
        "pending": [change_as_json(change) for change in result.pending],
        "reports": [report_as_json(report) for report in result.reports],
    }


def change_as_json(change: Change) -> dict[str, Any]:
    """Return a change as plain JSON values."""
    return {
        "path": change.path,
        "kind": str(change.kind),
        "before": change.before,
        "after": change.after,
        "refresh_class": change.refresh_class.value,
    }


def violation_as_json(violation: Violation) -> dict[str, Any]:
    """Return a violation as plain JSON values; a place that is not known is the empty text and zeros."""
    span = violation.span
    return {
        "rule": violation.rule,
        "path": violation.path,
        "file": span.file if span else "",
        "line": span.line if span else 0,
        "column": span.column if span else 0,
        "message": violation.message,
        "hint": violation.hint,
    }


def report_as_json(report: NodeReport) -> dict[str, Any]:
    """Return a Node's report as plain JSON values."""
    return {
        "node_id": report.node_id,
        "outcome": str(report.outcome),
        "reason": report.reason,
        "generation": report.generation,
    }
