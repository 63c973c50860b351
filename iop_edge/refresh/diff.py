"""Finds where two normalized trees differ, and merges by field mask what differs (REF-01, REF-07).

There is one rule for each form of field: a message is compared field by field; a map, and a list whose items have an
identity, entry by entry; everything else as a whole. Equal subtrees are never entered, and `==` of trees runs at C
speed, so a diff costs one comparison of the two trees and a little work per change.

Invariants: a tree does not differ from itself; a path is in at most one of added, removed and modified; the reverse
diff has the same paths, with added and removed, and before and after, exchanged; merging all masks of a diff gives the
candidate.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from iop_edge.refresh.result import ChangeKind, Mask
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree, Tree


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """One place where two trees differ.

    `owner` is the path of the message that holds `field`; `path` leads to the field itself, or to an entry in it. The
    values are those of the trees, secrets included, so the repr leaves them out.
    """

    owner: Path
    field: table.Field
    path: Path
    kind: ChangeKind
    before: Any = dataclasses.field(repr=False)
    after: Any = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    """An item of a list, or a value of a map, with its identity as it was written."""

    name: str
    value: Any = dataclasses.field(repr=False)


def diff(before: ReadTree, after: ReadTree) -> Iterator[Difference]:
    """Yield every difference between two normalized trees of a whole config, in the order of the schema."""
    return _in_message(table.root(), ROOT, before, after)


def merge(running: ReadTree, candidate: ReadTree, masks: Iterable[Mask]) -> Tree:
    """Return the running tree with what the masks name taken from the candidate.

    A mask holds the path of a message and names of its fields, live or restart. Each named field takes the candidate's
    value, and is unset where the candidate does not set it. For a list whose items have an identity, naming the field
    decides which items there are: items that only the candidate has are added whole, items that it lacks are removed,
    and items in both change only by masks of their own.

    Neither tree is changed. The result is not validated: a live change may depend on one that needs a restart.
    """
    fields = {mask.path: frozenset((*mask.live, *mask.restart)) for mask in masks}
    return _merge_message(table.root(), ROOT, running, candidate, fields)


def _has_entries(field: table.Field) -> bool:
    """Tell whether the field's value is compared entry by entry: a map, or a list whose items have an identity."""
    return field.kind is table.Kind.MAP or _has_items(field)


def _has_items(field: table.Field) -> bool:
    return field.is_message_list and field.message().identity is not None


def _entries(field: table.Field, value: Any) -> dict[str, _Entry]:
    """Return the entries of such a value by what identifies them; header names are compared without case."""
    if not value:
        return {}
    if field.kind is table.Kind.MAP:
        return {field.folded(key): _Entry(key, item) for key, item in value.items()}
    identity = field.message().identity
    assert identity is not None, field.name
    return {item[identity.name]: _Entry(item[identity.name], item) for item in value}


def _in_message(message: table.Message, owner: Path, before: ReadTree, after: ReadTree) -> Iterator[Difference]:
    for name, field in message.fields.items():
        old, new = before.get(name), after.get(name)
        if _has_entries(field):
            yield from _in_entries(field, owner, old, new)
        elif old == new:
            continue
        elif field.is_message:
            yield from _in_message(field.message(), owner.child(name), old or {}, new or {})
        else:
            yield Difference(owner, field, owner.child(name), ChangeKind.MODIFIED, old, new)


def _in_entries(field: table.Field, owner: Path, before: Any, after: Any) -> Iterator[Difference]:
    if field.is_message_list:
        before, after = _without_equal_places(before or (), after or ())
    olds, news = _entries(field, before), _entries(field, after)
    for identity in olds | news:
        old, new = olds.get(identity), news.get(identity)
        if old is None or new is None:
            yield _whole_entry(field, owner, old, new)
        elif old.value != new.value:
            yield from _in_entry(field, owner, old, new)


def _without_equal_places(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Leave out the items that are unchanged at the same index: most of a long list, and they need no lookup."""
    pairs = [(old, new) for old, new in zip_longest(before, after) if old != new]
    return [old for old, _ in pairs if old is not None], [new for _, new in pairs if new is not None]


def _whole_entry(field: table.Field, owner: Path, old: _Entry | None, new: _Entry | None) -> Difference:
    entry = old or new
    assert entry is not None, field.name
    path = owner.child(field.name).key(entry.name)
    kind = ChangeKind.ADDED if old is None else ChangeKind.REMOVED
    return Difference(owner, field, path, kind, old and old.value, new and new.value)


def _in_entry(field: table.Field, owner: Path, old: _Entry, new: _Entry) -> Iterator[Difference]:
    # Two spellings that differ in case are one key; the smaller one is the same in both directions.
    path = owner.child(field.name).key(min(old.name, new.name))
    if field.kind is table.Kind.MESSAGE:
        yield from _in_message(field.message(), path, old.value, new.value)
    else:
        yield Difference(owner, field, path, ChangeKind.MODIFIED, old.value, new.value)


def _merge_message(
    message: table.Message, path: Path, running: ReadTree, candidate: ReadTree, masks: Mapping[str, frozenset[str]]
) -> Tree:
    named = masks.get(str(path), frozenset())
    merged = dict(running)
    for name, field in message.fields.items():
        old, new = running.get(name), candidate.get(name)
        if old == new:
            continue
        value: Any
        if field.is_message:
            value = _merge_message(field.message(), path.child(name), old or {}, new or {}, masks)
            # A message that is left without fields is set only if the candidate sets it as well.
            if not value and (new is None or (old is None and new)):
                value = None
        elif _has_items(field):
            wanted = new if name in named else old
            value = _merge_items(field, path.child(name), wanted, (old, new), masks)
        else:
            value = new if name in named else old
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def _merge_items(
    field: table.Field, path: Path, wanted: Any, both: tuple[Any, Any], masks: Mapping[str, frozenset[str]]
) -> list[Tree] | None:
    """Merge the items of one side, `wanted`, each with its namesake on the other side, if there is one."""
    olds, news = (_entries(field, items) for items in both)
    return [
        _merge_message(field.message(), path.key(name), olds[name].value, news[name].value, masks)
        if name in olds and name in news and olds[name].value != news[name].value
        else entry.value
        for name, entry in _entries(field, wanted).items()
    ] or None
