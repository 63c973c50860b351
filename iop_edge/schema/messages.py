"""Builds the generated messages from trees.

The generated code costs as much to import as everything else of the library together. Each of its packages is imported
when a message of it is wanted, and only code that needs messages imports this module.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import betterproto2

from iop_edge.schema import table
from iop_edge.schema.values import UNRESOLVED, ReadTree, Sourced
from iop_pb.message_pool import default_message_pool

if TYPE_CHECKING:
    from iop_pb.iop.config.v1 import EdgeConfig


def config_message(tree: ReadTree) -> "EdgeConfig":
    """Build the message of a whole config from its normalized tree.

    A value that is unresolved stands in its message as its reference where the field holds text, and is unset
    elsewhere.
    """
    return cast("EdgeConfig", build(tree, table.root()))


def build(tree: ReadTree, message: table.Message) -> betterproto2.Message:
    """Build a message from a tree whose values have been checked against the field table."""
    return _builder(message.name)(tree)


@cache
def _builder(name: str) -> Callable[[ReadTree], betterproto2.Message]:
    """Return the function that builds one message and all below it.

    It does not call the class, which would check each value again and take most of the time of a load: it gives the new
    message what its fields are, of those that are not set what a new message has.
    """
    cls = message_class(name)
    fields = table.message(name).fields
    blank = vars(cls())
    empty = [(field.name, type(blank[field.name])) for field in fields.values() if _is_container(field)]
    scalars = {field.name: field for field in fields.values() if field.is_scalar}
    conversions = [
        (field.name, conversion) for field in fields.values() if (conversion := _conversion(field)) is not None
    ]

    def build_message(tree: ReadTree) -> betterproto2.Message:
        values = {**blank, **tree}
        for field, make in empty:
            if field not in tree:
                values[field] = make()
        for field, convert in conversions:
            if field in tree:
                values[field] = convert(tree[field])
        for field, value in tree.items():
            if value.__class__ is Sourced:
                known = known_value(value, scalars[field])
                values[field] = blank[field] if known is UNRESOLVED else known
        message = object.__new__(cls)
        message.__dict__ = values
        return message

    return build_message


def _is_container(field: table.Field) -> bool:
    return field.repeated or field.kind is table.Kind.MAP


def _conversion(field: table.Field) -> Callable[[Any], Any] | None:
    """Return what makes the value of a message's field of that of a tree's; None where they are the same."""
    if field.kind is table.Kind.MESSAGE:
        build_one = _builder(field.type_name)
        return (lambda items: [*map(build_one, items)]) if field.repeated else build_one
    if field.kind is table.Kind.MAP:
        return lambda entries: {key: known_value(value, field) for key, value in entries.items()}
    if field.repeated:
        return lambda items: [known for item in items if (known := known_value(item, field)) is not UNRESOLVED]
    if field.kind is table.Kind.ENUM:
        members = _members(field.type_name)
        return lambda word: word if word.__class__ is Sourced else members[word]
    return None


def known_value(value: Any, field: table.Field) -> Any:
    """Return one value of a field as a message has it, or `UNRESOLVED` where it can have none."""
    if value.__class__ is Sourced:
        if value.value is UNRESOLVED:
            return value.reference if field.kind in (table.Kind.STRING, table.Kind.MAP) else UNRESOLVED
        value = value.value
    return _members(field.type_name)[value] if field.kind is table.Kind.ENUM else value


@cache
def message_class(name: str) -> type[betterproto2.Message]:
    """Return the generated class of a message, by its name without the package."""
    kind = table.message(name)
    _module(kind.full_name)
    return default_message_pool.url_to_type[f"type.googleapis.com/{kind.full_name}"]


@cache
def _members(name: str) -> Mapping[str, betterproto2.Enum]:
    """Return the members of a generated enum by the words of a config."""
    kind = table.enum(name)
    members: type[betterproto2.Enum] = getattr(_module(kind.full_name), name)
    return {word: members(row.number) for word, row in kind.words.items()}


def _module(full_name: str) -> ModuleType:
    return import_module(f"iop_pb.{full_name.rpartition('.')[0]}")
