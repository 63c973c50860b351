"""Finds where two normalized trees differ (REF-01).

One rule for each form that a field can have, whatever the field: a message is compared field by field; a map, and a
list whose items have an identity, entry by entry; all else as a whole. Sub-trees that are equal are never entered, and
`==` of trees runs at C speed, so that a diff costs one comparison of the two trees and a little work at each change.

The invariant: a path is in at most one of added, removed and modified; the diff of two trees the other way round has
the same paths, with added and removed changed places and so before and after; a tree does not differ from itself.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from iop_edge.refresh.result import ChangeKind
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """One place where two trees differ.

    `owner` is the path of the message that holds `field`; `path` leads to the field itself, or to an entry in it. The
    values are as they are in the trees, secrets among them, and so have no part in the repr.
    """

    owner: Path
    field: table.Field
    path: Path
    kind: ChangeKind
    before: Any = dataclasses.field(repr=False)
    after: Any = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """An item of a list, or a value of a map, with its identity as it was written."""

    name: str
    value: Any = dataclasses.field(repr=False)


def diff(before: ReadTree, after: ReadTree) -> Iterator[Difference]:
    """Yield every difference between two normalized trees of a whole config, in the order of the schema."""
    return _in_message(table.root(), ROOT, before, after)


def has_entries(field: table.Field) -> bool:
    """Tell whether the field's value is compared entry by entry: a map, or a list whose items have an identity."""
    return field.kind is table.Kind.MAP or (field.is_message_list and field.message().identity is not None)


def entries(field: table.Field, value: Any) -> dict[str, Entry]:
    """Return the entries of such a value by what tells them apart: names of headers differ by more than their case."""
    if not value:
        return {}
    if field.kind is table.Kind.MAP:
        fold = str.lower if field.caseless_keys else str
        return {fold(key): Entry(key, item) for key, item in value.items()}
    identity = field.message().identity
    assert identity is not None, field.name
    return {item[identity.name]: Entry(item[identity.name], item) for item in value}


def _in_message(message: table.Message, owner: Path, before: ReadTree, after: ReadTree) -> Iterator[Difference]:
    for name, field in message.fields.items():
        old, new = before.get(name), after.get(name)
        if has_entries(field):
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
    olds, news = entries(field, before), entries(field, after)
    for identity in olds | news:
        old, new = olds.get(identity), news.get(identity)
        if old is None or new is None:
            yield _whole_entry(field, owner, old, new)
        elif old.value != new.value:
            yield from _in_entry(field, owner, old, new)


def _without_equal_places(before: Sequence[Any], after: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Leave out the items that stand unchanged in their place: most of a long list, and so need no index."""
    pairs = [(old, new) for old, new in zip_longest(before, after) if old != new]
    return [old for old, _ in pairs if old is not None], [new for _, new in pairs if new is not None]


def _whole_entry(field: table.Field, owner: Path, old: Entry | None, new: Entry | None) -> Difference:
    entry = old or new
    assert entry is not None, field.name
    path = owner.child(field.name).key(entry.name)
    kind = ChangeKind.ADDED if old is None else ChangeKind.REMOVED
    return Difference(owner, field, path, kind, old and old.value, new and new.value)


def _in_entry(field: table.Field, owner: Path, old: Entry, new: Entry) -> Iterator[Difference]:
    # Where the two are written in different case, either spelling would do; the smaller one is the same both ways.
    path = owner.child(field.name).key(min(old.name, new.name))
    if field.kind is table.Kind.MESSAGE:
        yield from _in_message(field.message(), path, old.value, new.value)
    else:
        yield Difference(owner, field, path, ChangeKind.MODIFIED, old.value, new.value)
