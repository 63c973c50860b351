"""What a candidate would do to the running config. The same code answers a dry run and decides an apply."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from iop_edge.config.snapshot import Snapshot
from iop_edge.refresh.diff import Difference, diff
from iop_edge.refresh.result import Change, ChangeKind, Mask, Mode, RefreshResult, Status
from iop_edge.schema import table
from iop_edge.schema.redact import redact_value
from iop_edge.schema.table import Field, RefreshClass
from iop_edge.schema.values import NONE_BELOW, REDACTED, ReadTree, References, below


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes from one config to another, what they cost, and which items they touch. Every list is sorted."""

    changes: tuple[Change, ...]
    masks: tuple[Mask, ...]
    changed_nodes: tuple[str, ...]
    changed_providers: tuple[str, ...]
    changed_models: tuple[str, ...]

    @property
    def status(self) -> Status:
        """How a refresh to the candidate ends, as far as the configs alone can tell (REF-07)."""
        return Status.RESTART_REQUIRED if self.restart else Status.APPLIED

    @property
    def live(self) -> tuple[Change, ...]:
        """The changes that a running Edge can apply."""
        return tuple(change for change in self.changes if change.refresh_class is RefreshClass.LIVE)

    @property
    def restart(self) -> tuple[Change, ...]:
        """The changes that need a restart of the Edge."""
        return tuple(change for change in self.changes if change.refresh_class is RefreshClass.RESTART)

    @property
    def live_masks(self) -> tuple[Mask, ...]:
        """The masks of the live changes alone, for `merge`."""
        return tuple(replace(mask, restart=()) for mask in self.masks if mask.live)

    def result(self, mode: Mode) -> RefreshResult:
        """Return the plan as the result of a refresh that committed nothing."""
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
    """Compare a candidate with the running config and classify what differs (REF-01 to REF-04).

    Snapshots are valid, so the status is never `rejected`.
    """
    differences = tuple(diff(running.tree, candidate.tree))
    touched = _touched(differences, ("Node", "Provider", "Model"))
    changes = (_change(difference, running.references, candidate.references) for difference in differences)
    return Plan(
        changes=tuple(sorted(changes, key=lambda change: change.path)),
        masks=masks_of(differences),
        changed_nodes=touched["Node"],
        changed_providers=touched["Provider"],
        changed_models=touched["Model"],
    )


def refresh_class(field: Field) -> RefreshClass:
    """Return what a change of the field costs; for a list or a map, what adding or removing an entry costs.

    Code generation rejects a config field without a class. Should one get through, it is not live by accident.
    """
    return field.refresh or RefreshClass.RESTART


def masks_of(differences: Iterable[Difference]) -> tuple[Mask, ...]:
    """Return one mask for each message with a change, sorted by path, the fields of each sorted (REF-01).

    A `google.protobuf.FieldMask` cannot name an item of a list or a key of a map, hence one mask a message, with the
    path of the message beside it. An item that was added or removed is in the mask of the message that holds its list.
    """
    changed: dict[str, dict[RefreshClass, set[str]]] = {}
    for difference in differences:
        classes = changed.setdefault(str(difference.owner), {})
        classes.setdefault(refresh_class(difference.field), set()).add(difference.field.name)
    return tuple(
        Mask(
            path,
            live=tuple(sorted(classes.get(RefreshClass.LIVE, ()))),
            restart=tuple(sorted(classes.get(RefreshClass.RESTART, ()))),
        )
        for path, classes in sorted(changed.items())
    )


def _touched(differences: Iterable[Difference], type_names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return for each of these types the sorted identities of its messages with a change in them (REF-06).

    A message that was added or removed along with the one that holds it counts too.
    """
    found: dict[str, set[str]] = {name: set() for name in type_names}
    for difference in differences:
        _collect_along(difference, found)
        if difference.field.is_message_list:
            for item in (difference.before, difference.after):
                _collect_within(difference.field.message(), item or {}, found)
    return {name: tuple(sorted(identities)) for name, identities in found.items()}


def _collect_along(difference: Difference, found: dict[str, set[str]]) -> None:
    message, field = table.root(), None
    for path in difference.path.steps():
        if path.is_key:
            if field is not None and field.type_name in found:
                found[field.type_name].add(str(path.step))
            continue
        field = message.fields[str(path.step)]
        if field.kind is table.Kind.MESSAGE:
            message = field.message()


def _collect_within(message: table.Message, tree: ReadTree, found: dict[str, set[str]]) -> None:
    for name, value in tree.items():
        field = message.fields[name]
        if field.kind is not table.Kind.MESSAGE:
            continue
        inner = field.message()
        for item in value if field.repeated else (value,):
            if field.type_name in found and inner.identity is not None:
                found[field.type_name].add(item[inner.identity.name])
            _collect_within(inner, item, found)


def _change(difference: Difference, before: References, after: References) -> Change:
    shown = _shown_value if difference.kind is ChangeKind.MODIFIED else _shown_entry
    return Change(
        path=str(difference.path),
        kind=difference.kind,
        before=shown(difference, difference.before, before),
        after=shown(difference, difference.after, after),
        refresh_class=refresh_class(difference.field),
    )


def _shown_entry(difference: Difference, value: Any, references: References) -> Any:
    return None if value is None else _redacted(difference, value, references)


def _shown_value(difference: Difference, value: Any, references: References) -> Any:
    if value is None:
        # A list has no presence: an unset one is empty.
        return [] if difference.field.repeated else None
    shown = _redacted(difference, value, references)
    # A secret that changed shows its path, and no value on either side (CFG-08).
    return None if shown == REDACTED else shown


def _redacted(difference: Difference, value: Any, references: References) -> Any:
    field, path = difference.field, difference.path
    owner, name = references.tree, str(path.step) if path.is_key else ""
    for step in path.steps()[:-1]:
        owner = below(owner, step.step)
    if field.caseless_keys and path.is_key:
        # The path may have the name as the other config writes it.
        owner = {str(key).lower(): found for key, found in owner.items()}
        return redact_value(field, value, name, owner.get(name.lower(), NONE_BELOW))
    return redact_value(field, value, name, owner.get(path.step, NONE_BELOW))
