"""The options of a refresh, and its result (REF-06).

All values are redacted before they get here: results are logged, stored and sent.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from iop_edge.errors import Violation
from iop_edge.schema.table import RefreshClass

_T = TypeVar("_T")


class Status(StrEnum):
    """How a refresh ended. A rejected refresh changed nothing."""

    APPLIED = "applied"
    RESTART_REQUIRED = "restart_required"
    REJECTED = "rejected"


class Mode(StrEnum):
    """Dry run or apply."""

    DRY_RUN = "dry_run"
    APPLY = "apply"


class ChangeKind(StrEnum):
    """What happened to a path: an item was added or removed as a whole, or a value was modified."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


class NodeOutcome(StrEnum):
    """How a refresh ended at one Node (PSH-03). `checked`: it would take its payload, and was sent nothing else."""

    CHECKED = "checked"
    COMMITTED = "committed"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    RESTART_REQUIRED = "restart_required"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"
    ROLLED_BACK = "rolled_back"
    ROLLBACK_FAILED = "rollback_failed"


class Trigger(StrEnum):
    """What made an Edge consider a candidate."""

    START = "start"
    REFRESH = "refresh"
    RELOAD = "reload"
    WATCH = "watch"
    ROLLBACK = "rollback"
    REVERT = "revert"


@dataclass(frozen=True, slots=True)
class RefreshOptions:
    """How a refresh is carried out.

    Attributes:
        expected_revision: reject the candidate unless this revision is running.
        expected_candidate: reject the candidate unless it has this hash; empty: any.
        live_only: apply the live part of a candidate that needs a restart.
        require_all: reject the candidate if an affected Node is unreachable.
        confirm_within_ms: revert after this many milliseconds unless the new revision is confirmed; 0: keep it.

    Raises:
        ValueError: a number is not a whole number of at least 0.
    """

    expected_revision: int | None = None
    expected_candidate: str = ""
    live_only: bool = False
    require_all: bool = False
    confirm_within_ms: int = 0

    def __post_init__(self) -> None:
        """Refuse a number that would only be found out after the commit (REF-08)."""
        for name in ("expected_revision", "confirm_within_ms"):
            value: object = getattr(self, name)
            is_unset = value is None and name == "expected_revision"
            if not is_unset and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
                raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}")


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two configs.

    `before` and `after` are plain JSON values without secrets; None means no value, or a secret one.
    """

    path: str
    kind: ChangeKind
    before: Any
    after: Any
    refresh_class: RefreshClass


@dataclass(frozen=True, slots=True)
class Mask:
    """The changed fields of one message, by refresh class. The root's `path` is empty."""

    path: str
    live: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeReport:
    """How a refresh ended at one Node. `generation` is the one it runs; 0: unknown."""

    node_id: str
    outcome: NodeOutcome
    reason: str = ""
    generation: int = 0


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """The result of a refresh (REF-06).

    Lists are sorted on construction, except violations and warnings, which keep the order of their positions in files.
    `violations_total` also counts violations that are not listed.
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


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to change the config, as history keeps it: paths, never values (CFG-08).

    `rules` are the ids of the rules that the candidate broke. `id` numbers the attempts of a store, which assigns it;
    until then it is 0.
    """

    at_ms: int
    actor: str
    trigger: Trigger
    status: Status
    committed: bool
    revision_before: int
    revision_after: int
    base_hash: str
    candidate_hash: str
    paths: tuple[str, ...]
    rules: tuple[str, ...] = ()
    id: int = 0
