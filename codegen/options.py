"""Refuses options on fields where nothing implements them, and config fields that the loader does not read.

An option that is accepted and never checked is worse than none: whoever wrote it relies on it.
"""

from collections.abc import Iterator
from typing import Final

from codegen.descriptors import FieldSource, MessageSource, Schema
from codegen.field_table import config_messages, field_rules, refresh_class
from iop_edge.schema.formats import FORMATS
from iop_pb.iop.options.v1 import FieldRules, TextFormat

_INTEGERS: Final = frozenset({"int32", "int64", "uint32", "uint64"})
_READ: Final = frozenset({"string", "bool", "int", "double", "enum", "message"})
"""The kinds that the loader reads, alone and in lists; beside them, it reads maps from text to text."""

_ALL: Final = frozenset({*_READ, "bytes", "map", *(f"list of {kind}" for kind in (*_READ, "bytes"))})
_LISTED: Final = frozenset({"list of string", "list of enum"})

IMPLEMENTED: Final = {
    "refresh": _ALL,
    "default_value": frozenset({"string", "bool", "int", "double", "enum"}),
    "default_if": frozenset({"string", "bool", "int", "double", "enum"}),
    "runtime_default": frozenset({"int"}),
    "required": _ALL,
    "identity": frozenset({"string"}),
    "refers_to": frozenset({"string", "list of string"}),
    "sensitive": frozenset({"string", "bytes", "map", "list of string"}),
    "harmless_keys": frozenset({"map"}),
    "masked": frozenset({"string"}),
    "format": frozenset({"string", "list of string", "map"}),
    "gt": frozenset({"int"}),
    "gte": frozenset({"int"}),
    "lte": frozenset({"int"}),
    "min_items": _LISTED,
    "unique_items": _LISTED,
    "unordered": _LISTED,
    "unique": frozenset({"string", "int"}),
    "aliases": _ALL,
    "mapping_form": frozenset({"list of message"}),
    "loose_spelling": frozenset({"enum", "list of enum"}),
    "caseless_keys": frozenset({"map"}),
    "like": _ALL,
    "shorthand": _ALL,
}
"""The shapes of fields on which each option is implemented."""


def check(schema: Schema) -> None:
    """Refuse a schema that declares what nothing implements.

    Raises:
        ValueError: what is wrong, all of it.
    """
    faults = [*_classless(schema), *_formats()]
    in_config = {message.full_name for message in config_messages(schema)}
    for message in schema.messages.values():
        for field in message.fields:
            found = [*unimplemented(field, field_rules(schema, field)), *_inconsistent(schema, message, field)]
            if message.full_name in in_config:
                found += unread(field)
            faults += [f"{message.name}.{field.name}: {fault}" for fault in found]
    if faults:
        raise ValueError("; ".join(faults))


def shape(field: FieldSource) -> str:
    """Return what a field holds, in the words of `IMPLEMENTED`."""
    kind = "int" if field.kind in _INTEGERS else field.kind
    return f"list of {kind}" if field.repeated else kind


def unimplemented(field: FieldSource, rules: FieldRules) -> Iterator[str]:
    """Yield the options of a field that nothing implements there."""
    here = shape(field)
    for option, shapes in IMPLEMENTED.items():
        value = getattr(rules, option)
        # An option that is given may be false all the same: a default of "", or a bound of 0.
        if value is not None and (value or option in ("default_value", "gt", "gte", "lte")) and here not in shapes:
            yield f"{option} is not implemented on {here}"
    if rules.format and here in IMPLEMENTED["format"] and (here == "map") != (rules.format is TextFormat.HEADERS):
        yield f"format {TextFormat(rules.format).name.lower()} is not implemented on {here}"


def unread(field: FieldSource) -> Iterator[str]:
    """Yield why the loader does not read a field of the config."""
    if field.oneof:
        yield "the loader reads no oneof"
    if shape(field).removeprefix("list of ") not in {*_READ, "map"}:
        yield f"the loader reads no {shape(field)}"
    if field.is_map and not field.is_text_map:
        yield "the loader reads maps from text to text only"


def _classless(schema: Schema) -> Iterator[str]:
    missing = [
        f"{message.name}.{field.name}"
        for message in config_messages(schema)
        for field in message.fields
        if not refresh_class(message, field)
    ]
    if missing:
        yield f"no refresh class: {', '.join(missing)}"


def _formats() -> Iterator[str]:
    """Compare the formats that the protos name with those that Python implements."""
    declared = {name.name.lower() for name in TextFormat if name}
    for name in sorted(declared ^ FORMATS.keys()):
        where = "iop_edge/schema/formats.py" if name in declared else "options.proto"
        yield f"text format {name} has no entry in {where}"


def _inconsistent(schema: Schema, message: MessageSource, field: FieldSource) -> Iterator[str]:
    """Yield options that contradict what the field is, or what stands beside it."""
    rules = field_rules(schema, field)
    if rules.default_if and not any(
        other.name == rules.default_if and other.kind == "bool" for other in message.fields
    ):
        yield f"default_if names no bool beside it: {rules.default_if}"
    if rules.default_value is not None and field.kind == "enum":
        words = [word.word for word in schema.enums[field.type_name].words if word.number]
        if rules.default_value not in words:
            yield f"the default is not one of {', '.join(words)}"
    if rules.shorthand and not rules.like:
        yield "a shorthand needs like"
