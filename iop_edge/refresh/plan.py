"""What a candidate would do to what runs. The same code answers for a dry run and decides for an apply."""

from dataclasses import dataclass
from typing import Any

from iop_edge.config.snapshot import Snapshot
from iop_edge.refresh.affected import affected
from iop_edge.refresh.classify import refresh_class, status_of
from iop_edge.refresh.diff import Difference, diff
from iop_edge.refresh.masks import masks
from iop_edge.refresh.result import Change, ChangeKind, Mask, Mode, RefreshResult, Status
from iop_edge.schema.redact import redact_value
from iop_edge.schema.table import RefreshClass
from iop_edge.schema.values import REDACTED


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes from one config to another, what they cost, and what they touch; every list is sorted."""

    changes: tuple[Change, ...]
    masks: tuple[Mask, ...]
    changed_nodes: tuple[str, ...]
    changed_providers: tuple[str, ...]
    changed_models: tuple[str, ...]

    @property
    def status(self) -> Status:
        """How a refresh to the candidate ends, as far as configs alone can tell."""
        return status_of(self.changes)

    @property
    def live(self) -> tuple[Change, ...]:
        """The changes that the running Edge takes up."""
        return tuple(change for change in self.changes if change.refresh_class is RefreshClass.LIVE)

    @property
    def restart(self) -> tuple[Change, ...]:
        """The changes that need a restart of the Edge."""
        return tuple(change for change in self.changes if change.refresh_class is RefreshClass.RESTART)

    def result(self, mode: Mode) -> RefreshResult:
        """Return the plan as the result of a refresh that has not committed anything."""
        return RefreshResult(
            status=self.status,
            mode=mode,
            changes=self.changes,
            masks=self.masks,
            changed_nodes=self.changed_nodes,
            changed_providers=self.changed_providers,
            changed_models=self.changed_models,
        )


def plan(running: Snapshot, candidate: Snapshot) -> Plan:
    """Compare a candidate with the running config, and classify what differs (REF-01 to REF-04).

    Both are valid, so the status is never `rejected`: that is for a candidate that did not get this far.
    """
    differences = tuple(diff(running.tree, candidate.tree))
    return Plan(
        changes=tuple(sorted(map(_change, differences), key=lambda change: change.path)),
        masks=masks(differences),
        changed_nodes=affected(differences, "Node"),
        changed_providers=affected(differences, "Provider"),
        changed_models=affected(differences, "Model"),
    )


def _change(difference: Difference) -> Change:
    shown = _shown_value if difference.kind is ChangeKind.MODIFIED else _shown_entry
    return Change(
        path=str(difference.path),
        kind=difference.kind,
        before=shown(difference, difference.before),
        after=shown(difference, difference.after),
        refresh_class=refresh_class(difference.field),
    )


def _shown_entry(difference: Difference, value: Any) -> Any:
    return None if value is None else redact_value(difference.field, value, _map_key(difference))


def _shown_value(difference: Difference, value: Any) -> Any:
    if value is None:
        # A list has no presence: one that is not there is empty.
        return [] if difference.field.repeated else None
    shown = redact_value(difference.field, value, _map_key(difference))
    # A secret that changed has a path, and no value on either side (CFG-08).
    return None if shown == REDACTED else shown


def _map_key(difference: Difference) -> str:
    return str(difference.path.step) if difference.path.is_key else ""
