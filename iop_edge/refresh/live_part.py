"""The mix of what runs and of what in a candidate needs no restart (REF-07)."""

from typing import Any

from iop_edge.config.snapshot import Snapshot
from iop_edge.refresh.classify import refresh_class
from iop_edge.refresh.diff import Entry, entries, has_entries
from iop_edge.schema import table
from iop_edge.schema.values import ReadTree, Tree


def live_part(running: Snapshot, candidate: Snapshot) -> Tree:
    """Return the running config with the live changes of the candidate, and none of the others.

    The mix has not been validated: a live change may need one that is not live, as a model that names a new provider.
    """
    return _mix_message(table.root(), running.tree, candidate.tree)


def _mix_message(message: table.Message, before: ReadTree, after: ReadTree) -> Tree:
    mixed = dict(before)
    for name, field in message.fields.items():
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        value = _mix_field(field, old, new)
        if value is None:
            mixed.pop(name, None)
        else:
            mixed[name] = value
    return mixed


def _mix_field(field: table.Field, old: Any, new: Any) -> Any:
    if field.is_message:
        return _mix_message(field.message(), old or {}, new or {})
    if has_entries(field):
        return _mix_entries(field, old, new)
    return new if _is_live(field) else old


def _mix_entries(field: table.Field, before: Any, after: Any) -> Any:
    olds, news = entries(field, before), entries(field, after)
    mixed: list[Entry] = []
    for identity in olds | news:
        entry = _mix_entry(field, olds.get(identity), news.get(identity))
        if entry is not None:
            mixed.append(entry)
    if not mixed:
        return None
    if field.kind is table.Kind.MAP:
        return {entry.name: entry.value for entry in mixed}
    return [entry.value for entry in mixed]


def _mix_entry(field: table.Field, old: Entry | None, new: Entry | None) -> Entry | None:
    if old == new:
        return old
    if old is not None and new is not None and field.kind is table.Kind.MESSAGE:
        return Entry(old.name, _mix_message(field.message(), old.value, new.value))
    return new if _is_live(field) else old


def _is_live(field: table.Field) -> bool:
    return refresh_class(field) is table.RefreshClass.LIVE
