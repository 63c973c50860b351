"""Checks what may stand only once (VAL-02, VAL-06, VAL-08)."""

import re
from functools import cache
from typing import Any, Final

from iop_edge.config.findings import Trail, to_path
from iop_edge.config.marks import INVALID
from iop_edge.config.problems import Problem, Problems, known, told
from iop_edge.net import AddressError, parse_address
from iop_edge.schema.table import Field, Message
from iop_edge.schema.values import Tree

_ONE_SPELLING: Final = re.compile(r"[a-z0-9.-]*[a-z0-9-]:[1-9][0-9]*")
"""Addresses that are their own canonical form, as nearly all are."""

Seen = dict[tuple[str, str], dict[Any, Trail]]
"""What has been seen of each field that is unique in the whole config, with where."""


def check_items(items: list[Any], field: Field, trail: Trail, problems: Problems) -> None:
    """Check a list of scalars that holds none of them twice."""
    if len(set(items)) == len(items):
        return
    first: dict[Any, int] = {}
    for index, item in enumerate(items):
        value = known(item)
        if value is None:
            continue
        before = first.setdefault(value, index)
        if before != index:
            path, other = to_path((trail, index, False)), to_path((trail, before, False))
            problems.add(
                Problem("value.duplicate", path, f"{_named(field, value)} stands in the list twice", other=other)
            )


def check_messages(items: list[Any], message: Message, trail: Trail, seen: Seen, problems: Problems) -> None:
    """Check the fields of a list's messages that tell them apart, in the list or in the whole config."""
    trees = items if INVALID not in items else [item if item is not INVALID else {} for item in items]
    for field in _in_list(message):
        values = [tree.get(field.name) for tree in trees]
        if field.format == "address":
            values = [_address_key(known(value)) for value in values]
        if len(set(values)) != len(values):
            _find_repeated(trees, field, trail, {}, problems)
    for field in _in_config(message):
        _find_repeated(trees, field, trail, seen.setdefault((message.name, field.name), {}), problems)


@cache
def _in_list(message: Message) -> tuple[Field, ...]:
    fields = message.fields.values()
    return tuple(field for field in fields if field.unique == "list" or (field.identity and field.unique != "edge"))


@cache
def _in_config(message: Message) -> tuple[Field, ...]:
    return tuple(field for field in message.fields.values() if field.unique == "edge")


def _find_repeated(trees: list[Tree], field: Field, trail: Trail, seen: dict[Any, Trail], problems: Problems) -> None:
    for index, tree in enumerate(trees):
        value = known(tree.get(field.name))
        if value is None:
            continue
        here = (trail, index, False)
        before = seen.setdefault(_address_key(value) if field.format == "address" else value, here)
        if before is not here:
            problem = Problem(
                "id.duplicate",
                to_path((here, field.name, False)),
                f"{_named(field, value)} is taken",
                other=to_path((before, field.name, False)),
            )
            problems.add(problem)


def _address_key(value: Any) -> Any:
    """Return what all spellings of an address have in common; anything else stays as it is."""
    if value.__class__ is not str or _ONE_SPELLING.fullmatch(value):
        return value
    try:
        return str(parse_address(value).canonical)
    except AddressError:
        return value


def _named(field: Field, value: Any) -> str:
    return f'this "{field.name}"' if field.masked or field.sensitive else f'"{field.name}" {told(value)}'
