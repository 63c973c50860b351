"""Writes `trees.py`: the type of a config tree, one `TypedDict` per message, for type checkers and editors."""

import json
from collections.abc import Iterator

from codegen.descriptors import EnumSource, FieldSource, MessageSource, Schema
from codegen.field_table import CONFIG_ROOT, field_rules

_ROOTS = (CONFIG_ROOT, "iop.runtime.v1.NodeConfigPayload")

_HEADER = '''\
# Generated from proto/. DO NOT EDIT!
"""The types of trees: a normalized config as plain dicts, lists and scalars, and a Node's payload likewise.

A `Required` key is in every normalized config: the field must be given, has a default, or is a section, whose defaults
count where it is left out. Empty lists and maps are left out. Shorthands have no key: normalizing resolves them.
"""

from typing import Literal, Required, TypedDict

'''

_TYPES = {
    "string": "str",
    "bytes": "bytes",
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "uint32": "int",
    "uint64": "int",
    "double": "float",
    "map": "dict[str, str]",
}


def render(schema: Schema) -> str:
    """Return the module's text."""
    messages = list(_messages(schema))
    used = {field.type_name for message in messages for field in _fields(message)}
    parts = [_enum(enum) for name, enum in schema.enums.items() if name in used]
    parts += [_message(schema, message) for message in messages]
    return _HEADER + "\n\n".join(parts)


def _messages(schema: Schema) -> Iterator[MessageSource]:
    """Yield the messages below the roots, each once, after those that it refers to."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[MessageSource]:
        if name in done or name not in schema.messages:
            return
        done.add(name)
        for field in _fields(schema.messages[name]):
            if not field.is_map:
                yield from visit(field.type_name)
        yield schema.messages[name]

    for root in _ROOTS:
        yield from visit(root)


def _fields(message: MessageSource) -> list[FieldSource]:
    return [field for field in message.fields if not field.rules.shorthand]


def _enum(enum: EnumSource) -> str:
    words = ", ".join(json.dumps(word.word) for word in enum.words if word.number)
    return f"{enum.name} = Literal[{words}]\n{_doc(enum.doc, '')}"


def _message(schema: Schema, message: MessageSource) -> str:
    lines = [f"class {message.name}(TypedDict, total=False):", _doc(message.doc, "    ")]
    for field in _fields(message):
        lines += [f"    {field.name}: {_type(schema, message, field)}", _doc(field.doc, "    ")]
    return "\n".join(lines)


def _type(schema: Schema, message: MessageSource, field: FieldSource) -> str:
    name = _TYPES.get(field.kind) or field.type_name.rpartition(".")[2]
    if field.repeated:
        name = f"list[{name}]"
    return f"Required[{name}]" if _is_always_there(schema, message, field) else name


def _is_always_there(schema: Schema, message: MessageSource, field: FieldSource) -> bool:
    if not message.full_name.startswith(CONFIG_ROOT.rpartition(".")[0]):
        return False
    rules = field_rules(schema, field)
    has_default = rules.default_value is not None and not rules.default_if
    return rules.required or has_default or (field.kind == "message" and not field.repeated)


def _doc(text: str, indent: str) -> str:
    return f'{indent}"""{text}"""\n' if text else ""
