"""A whole config in the standard forms of protobuf, for programs in other languages. Both hold its secrets."""

import json
from typing import Any, cast

import betterproto2

from iop_edge.schema import table
from iop_edge.schema.messages import config_message
from iop_edge.schema.values import ReadTree


def config_bytes(tree: ReadTree) -> bytes:
    """Return a normalized config as a binary EdgeConfig; equal trees give equal bytes."""
    return bytes(config_message(_with_sorted_maps(tree, table.root())))


def config_json(tree: ReadTree) -> bytes:
    """Return a normalized config as an EdgeConfig in protobuf's JSON; equal trees give equal bytes."""
    return f"{json.dumps(proto_json(config_message(_with_sorted_maps(tree, table.root()))), indent=2)}\n".encode()


def proto_json(message: betterproto2.Message) -> dict[str, Any]:
    """Return a message in protobuf's JSON with the names of the proto, which every reader of that JSON takes.

    The other standard spelling, lower camel case, is no way out: the generated code turns `a2a` into `a2A`, and readers
    refuse that. A casing is a function from name to name; the identity is not among those that have a name.
    """
    return message.to_dict(casing=cast("betterproto2.Casing", str))


def _with_sorted_maps(tree: ReadTree, message: table.Message) -> dict[str, Any]:
    """Return the tree with each map's keys in order: a map is encoded as it comes."""
    return {name: _value(value, message.fields[name]) for name, value in tree.items()}


def _value(value: Any, field: table.Field) -> Any:
    if field.kind is table.Kind.MAP:
        return dict(sorted(value.items()))
    if field.kind is not table.Kind.MESSAGE:
        return value
    if field.repeated:
        return [_with_sorted_maps(item, field.message()) for item in value]
    return _with_sorted_maps(value, field.message())
