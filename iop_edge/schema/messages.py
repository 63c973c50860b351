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
from iop_edge.schema.values import LEFT_OUT, ReadTree, Reference, ReferenceTree, Tree, rewritten
from iop_pb.message_pool import default_message_pool

if TYPE_CHECKING:
    from iop_pb.iop.config.v1 import EdgeConfig


def config_message(tree: ReadTree) -> "EdgeConfig":
    """Build the message of a whole config from its normalized tree."""
    return cast("EdgeConfig", build(tree, table.root()))


def without_unresolved(tree: ReadTree, message: table.Message, references: ReferenceTree) -> Tree:
    """Return an offline tree as a message can hold it: an unresolved value is unset unless its field holds text."""

    def write(field: table.Field, value: Any, _reference: Reference) -> Any:
        return value if field.kind in (table.Kind.STRING, table.Kind.MAP) else LEFT_OUT

    return rewritten(tree, message, references, write)


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
    conversions = [
        (field.name, conversion, type(blank[field.name]) if _is_container(field) else None)
        for field in fields.values()
        if (conversion := _conversion(field)) is not None
    ]

    def build_message(tree: ReadTree) -> betterproto2.Message:
        values = {**blank, **tree}
        for field, convert, make_empty in conversions:
            if field in tree:
                values[field] = convert(tree[field])
            elif make_empty is not None:
                values[field] = make_empty()
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
        return dict
    if field.kind is table.Kind.ENUM:
        word_to_member = members(field.type_name).__getitem__
        return (lambda words: [*map(word_to_member, words)]) if field.repeated else word_to_member
    return list if field.repeated else None


@cache
def message_class(name: str) -> type[betterproto2.Message]:
    """Return the generated class of a message, by its name without the package."""
    kind = table.message(name)
    _module(kind.full_name)
    return default_message_pool.url_to_type[f"type.googleapis.com/{kind.full_name}"]


@cache
def members(name: str) -> Mapping[str, betterproto2.Enum]:
    """Return the members of a generated enum by the words of a config."""
    kind = table.enum(name)
    members: type[betterproto2.Enum] = getattr(_module(kind.full_name), name)
    return {word: members(row.number) for word, row in kind.words.items()}


def _module(full_name: str) -> ModuleType:
    return import_module(f"iop_pb.{full_name.rpartition('.')[0]}")
