"""Writes `field_table.py`: everything that the library knows of the schema, as plain literals."""

from collections.abc import Iterator
from typing import Any

from codegen.descriptors import EnumSource, FieldSource, MessageSource, Schema
from iop_pb.iop.options.v1 import FieldRules, RefreshClass, TextFormat, UniqueScope

CONFIG_ROOT = "iop.config.v1.EdgeConfig"
_POLICY_PACKAGE = "iop.options."

_HEADER = '''\
# Generated from proto/. DO NOT EDIT!
"""The schema as data: what the generated messages do not keep of their protos."""

from typing import Any, Final

'''

# Copied as they are, where they are set.
_PLAIN = (
    "default_if",
    "required",
    "identity",
    "refers_to",
    "sensitive",
    "masked",
    "min_items",
    "unique_items",
    "unordered",
    "loose_spelling",
    "caseless_keys",
)
_BOUNDS = ("gt", "gte", "lte")
_TEXT_LISTS = ("harmless_keys", "aliases")


def render(schema: Schema) -> str:
    """Return the module's text."""
    messages = {m.name: _message_row(schema, m) for m in schema.messages.values() if not _is_policy(m)}
    enums = {e.name: _enum_row(e) for e in schema.enums.values() if not _is_policy(e)}
    root = schema.messages[CONFIG_ROOT].name
    return (
        f"{_HEADER}ROOT: Final = {root!r}\n\n"
        f"MESSAGES: Final[dict[str, dict[str, Any]]] = {messages!r}\n\n"
        f"ENUMS: Final[dict[str, dict[str, Any]]] = {enums!r}\n"
    )


def config_messages(schema: Schema) -> Iterator[MessageSource]:
    """Yield the root message of the config and every message below it, each once."""
    queue, seen = [CONFIG_ROOT], {CONFIG_ROOT}
    while queue:
        message = schema.messages[queue.pop(0)]
        yield message
        for field in message.fields:
            if field.type_name in schema.messages and field.type_name not in seen:
                seen.add(field.type_name)
                queue.append(field.type_name)


def refresh_class(message: MessageSource, field: FieldSource) -> str:
    """Return `live` or `restart`, or the empty text where neither the field nor its message declares a class."""
    declared = field.rules.refresh or message.rules.refresh
    return RefreshClass(declared).name.lower() if declared else ""


def field_rules(schema: Schema, field: FieldSource) -> FieldRules:
    """Return the rules that hold for a field: its own, and those of the field that it is like."""
    rules = field.rules
    if not rules.like:
        return rules
    model = next(other for other in schema.messages[rules.like].fields if other.name == field.name)
    merged = FieldRules.parse(bytes(model.rules) + bytes(rules))
    merged.required = rules.required
    return merged


def _is_policy(source: MessageSource | EnumSource) -> bool:
    return source.full_name.startswith(_POLICY_PACKAGE)


def _message_row(schema: Schema, message: MessageSource) -> dict[str, Any]:
    row: dict[str, Any] = {"full_name": message.full_name, "doc": message.doc}
    if message.rules.scalar_form:
        row["scalar_form"] = message.rules.scalar_form
    if message.legacy:
        row["legacy"] = message.legacy
    row["fields"] = {field.name: _field_row(schema, message, field) for field in message.fields}
    return row


def _field_row(schema: Schema, message: MessageSource, field: FieldSource) -> dict[str, Any]:
    """Return what sets a field apart from one without options, in the words of `iop_edge.schema.table.Field`."""
    rules = field_rules(schema, field)
    row: dict[str, Any] = {"number": field.descriptor.number, "kind": field.kind, "doc": field.doc}
    if field.kind in ("message", "enum"):
        row["type_name"] = field.type_name.rpartition(".")[2]
    if field.repeated:
        row["repeated"] = True
    if field.oneof:
        row["oneof"] = field.oneof
    if refresh := refresh_class(message, field):
        row["refresh"] = refresh
    if rules.default_value is not None:
        row["default"] = _typed(field.kind, rules.default_value)
    if rules.runtime_default is not None:
        row["runtime_default"] = rules.runtime_default
    row |= {name: value for name in _PLAIN if (value := getattr(rules, name))}
    row |= {name: value for name in _BOUNDS if (value := getattr(rules, name)) is not None}
    return row | _composed(rules)


def _composed(rules: FieldRules) -> dict[str, Any]:
    """Return the options that are not copied as they are."""
    row: dict[str, Any] = {name: tuple(texts) for name in _TEXT_LISTS if (texts := getattr(rules, name))}
    if rules.format:
        row["format"] = TextFormat(rules.format).name.lower()
    if rules.unique:
        row["unique"] = UniqueScope(rules.unique).name.lower()
    if rules.mapping_form is not None:
        form = rules.mapping_form
        row["mapping_form"] = (form.key_field, form.value_field, form.name_field)
    if rules.shorthand:
        row["shorthand_for"] = rules.like.rpartition(".")[2]
    return row


def _typed(kind: str, text: str) -> str | bool | int | float:
    """Return a default as a value of its field's type."""
    if kind == "bool":
        return {"true": True, "false": False}[text]
    if kind == "double":
        return float(text)
    return text if kind in ("string", "enum") else int(text)


def _enum_row(enum: EnumSource) -> dict[str, Any]:
    return {
        "full_name": enum.full_name,
        "doc": enum.doc,
        "words": {
            word.word: {
                "number": word.number,
                "proto_name": word.proto_name,
                "doc": word.doc,
                "aliases": tuple(word.rules.aliases),
                "profiles": tuple(word.rules.profiles),
                "requires": tuple(word.rules.requires),
                "refuses": tuple(word.rules.refuses),
            }
            for word in enum.words
        },
    }
