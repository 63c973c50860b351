"""Builds the generated messages from trees.

The generated code costs as much to import as everything else of the library together. Each of its packages is imported
when a message of it is wanted, and only code that needs messages imports this module.
"""

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
    values: dict[str, Any] = {}
    for name, value in tree.items():
        built = _build_value(value, message.fields[name])
        if built is not UNRESOLVED:
            values[name] = built
    return message_class(message.name)(**values)


def _build_value(value: Any, field: table.Field) -> Any:
    if isinstance(value, Sourced):
        if value.value is UNRESOLVED:
            return value.reference if field.kind is table.Kind.STRING else UNRESOLVED
        value = value.value
    if field.kind is table.Kind.MESSAGE:
        message = field.message()
        return [build(item, message) for item in value] if field.repeated else build(value, message)
    if field.kind is table.Kind.MAP:
        return {key: _build_text(item) for key, item in value.items()}
    if field.kind is table.Kind.ENUM:
        words = field.enum().words
        enum = _enum_class(field.type_name)
        return [enum(words[word].number) for word in value] if field.repeated else enum(words[value].number)
    return [_build_text(item) for item in value] if field.repeated else value


def _build_text(value: Any) -> Any:
    if isinstance(value, Sourced):
        return value.reference if value.value is UNRESOLVED else value.value
    return value


@cache
def message_class(name: str) -> type[betterproto2.Message]:
    """Return the generated class of a message, by its name without the package."""
    kind = table.message(name)
    _module(kind.full_name)
    return default_message_pool.url_to_type[f"type.googleapis.com/{kind.full_name}"]


@cache
def _enum_class(name: str) -> type[betterproto2.Enum]:
    return cast("type[betterproto2.Enum]", getattr(_module(table.enum(name).full_name), name))


def _module(full_name: str) -> ModuleType:
    return import_module(f"iop_pb.{full_name.rpartition('.')[0]}")
