"""The JSON Schema of a config file, for editors: generated from the field table, like everything else (CFG-09).

One schema serves tracked files and private overlays alike. Any of them may leave out what another file brings, so only
the identity of a list's items is required, without which a file cannot be merged. What spans several fields or files is
left to `iop-edge config check`.

Keywords of JSON Schema speak of one type each: `minimum` says nothing of a text. So one flat schema states all forms of
a value, which gives an editor a better message than a choice of schemas would.
"""

from typing import Any, Final

from iop_edge.schema import table
from iop_edge.schema.explain import full_doc, yaml_text
from iop_edge.schema.formats import FORMATS
from iop_edge.schema.references import JSON_ANY_PATTERN, JSON_PATTERN
from iop_edge.schema.table import EnumType, Field, Kind, MappingForm, Message

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_NO_REFERENCE: Final[Schema] = {"not": {"type": "string", "pattern": JSON_ANY_PATTERN}}
_REFERENCE_DOC: Final = "A reference: ${env:NAME}, ${env:NAME:-default} or ${file:PATH}."


def json_schema() -> Schema:
    """Return the schema of a config file (JSON Schema, draft 2020-12), as plain JSON values."""
    root = table.root()
    messages = _messages_below(root)
    enums = {f.type_name: f.enum() for m in [root, *messages] for f in m.fields.values() if f.kind is Kind.ENUM}
    definitions = {message.name: _message_schema(message) for message in messages}
    definitions.update({name: _enum_schema(enum) for name, enum in enums.items()})
    schema = _object_schema(root)
    schema["properties"] = {"$schema": True, **schema["properties"]}
    return {
        "$schema": DIALECT,
        "title": "Edge config",
        **schema,
        "patternProperties": {"^x-": True},
        "$defs": dict(sorted(definitions.items())),
    }


def _messages_below(root: Message) -> list[Message]:
    found: dict[str, Message] = {}
    queue = [root]
    while queue:
        for field in queue.pop().fields.values():
            if field.kind is Kind.MESSAGE and field.type_name not in found:
                found[field.type_name] = field.message()
                queue.append(field.message())
    return list(found.values())


def _message_schema(message: Message) -> Schema:
    """Return the schema of a message in any of its forms; null leaves the field that holds it unset."""
    schema = _object_schema(message)
    if not message.scalar_form:
        return {**schema, "type": ["object", "null"]}
    scalar = _value_schema(message.fields[message.scalar_form])
    return {**schema, "type": ["object", "string", "null"], "if": {"type": "string"}, "then": scalar}


def _object_schema(message: Message) -> Schema:
    properties: dict[str, Schema] = {}
    clashes: list[Schema] = []
    for field in message.fields.values():
        properties[field.name] = _property_schema(field)
        for alias in field.aliases:
            properties[alias] = {**_property_schema(field), "description": f"Another spelling of `{field.name}`."}
            clashes.append({"required": [field.name, alias]})
    schema: Schema = {
        "description": message.doc,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if clashes:
        schema["not"] = {"anyOf": clashes}
    return schema


def _property_schema(field: Field) -> Schema:
    """Return the schema of a field; null leaves it unset."""
    schema: Schema = {"description": _description(field)}
    if field.default is not None and not field.default_if:
        schema["default"] = field.default
    return {**schema, **_nullable(_field_schema(field))}


def _description(field: Field) -> str:
    parts = [full_doc(field)]
    if field.default_if:
        parts.append(f"Default where `{field.default_if}` is true: {yaml_text(field.default)}.")
    if field.required:
        parts.append("Required.")
    if field.sensitive:
        parts.append("A secret: in a tracked file, give a reference.")
    parts.append("A change is live." if field.refresh is table.RefreshClass.LIVE else "A change needs a restart.")
    return " ".join(parts)


def _field_schema(field: Field) -> Schema:
    if field.kind is Kind.MAP:
        return _map_schema(field)
    if not field.repeated:
        return _value_schema(field)
    if field.mapping_form is not None:
        return {**_list_schema(field), **_mapping_schema(field, field.mapping_form), "type": ["array", "object"]}
    return _list_schema(field)


def _list_schema(field: Field) -> Schema:
    schema: Schema = {"type": "array", "items": _item_schema(field)}
    if field.min_items:
        schema["minItems"] = field.min_items
    if field.unique_items:
        schema["uniqueItems"] = True
    return schema


def _item_schema(field: Field) -> Schema:
    """Return the schema of a list's item, which is never null and says its identity."""
    schema = _value_schema(field)
    if field.kind is not Kind.MESSAGE:
        return schema
    message = field.message()
    if message.identity is not None:
        schema.update(_stating(message.identity.name))
    return {**schema, "type": ["object", "string"] if message.scalar_form else "object"}


def _mapping_schema(field: Field, form: MappingForm) -> Schema:
    """Return what holds for a list where it is written as a mapping."""
    message = field.message()
    # A key holds no reference, and its field does not stand in the item again.
    keys = {"allOf": [_value_schema(message.fields[form.key_field]), _NO_REFERENCE]}
    if form.value_field:
        values = _nullable(_value_schema(message.fields[form.value_field]))
    else:
        single = {**_value_schema(field), "type": "object", "properties": {form.key_field: False}}
        # One alone takes the key as its name.
        several = {"if": {"minItems": 2}, "then": {"items": _stating(form.name_field)}}
        values = {"if": {"type": "array"}, "then": {"items": single, **several}, "else": single}
    return {"propertyNames": keys, "additionalProperties": values}


def _stating(name: str) -> Schema:
    """Return what holds for a message that must say one of its texts, which null does not."""
    return {"required": [name], "properties": {name: {"type": "string"}}}


def _map_schema(field: Field) -> Schema:
    # A null value removes the key, in an overlay.
    values = {"type": ["string", "null"]}
    names = (
        {"pattern": FORMATS["header_name"].json_pattern, **_NO_REFERENCE}
        if field.format == "headers"
        else _NO_REFERENCE
    )
    return {"type": "object", "propertyNames": names, "additionalProperties": values}


def _value_schema(field: Field) -> Schema:
    """Return the schema of one value of a field: of an item, where the field is a list."""
    if field.kind is Kind.MESSAGE:
        return {"$ref": f"#/$defs/{field.type_name}"}
    if field.kind is Kind.ENUM:
        return _word_schema(field)
    if field.kind is Kind.STRING:
        return _text_schema(field)
    literal = _integer_schema(field) if field.kind.is_integer else {"type": _JSON_TYPES[field.kind]}
    if not field.takes_references:
        return literal
    return {**literal, "type": [literal["type"], "string"], "pattern": JSON_PATTERN}


_JSON_TYPES: Final = {Kind.BOOL: "boolean", Kind.DOUBLE: "number"}


def _text_schema(field: Field) -> Schema:
    pattern = FORMATS[field.format].json_pattern if field.format else ""
    if not pattern:
        return {"type": "string"}
    if field.takes_references:
        return {"type": "string", "pattern": f"{pattern}|{JSON_PATTERN}"}
    return {"type": "string", "pattern": pattern, **_NO_REFERENCE}


def _integer_schema(field: Field) -> Schema:
    lowest, highest = table.INT_RANGES[field.kind.value]
    if field.gt is not None:
        lowest = max(lowest, field.gt + 1)
    if field.gte is not None:
        lowest = max(lowest, field.gte)
    if field.lte is not None:
        highest = min(highest, field.lte)
    return {"type": "integer", "minimum": lowest, "maximum": highest}


def _word_schema(field: Field) -> Schema:
    forms: list[Schema] = [{"$ref": f"#/$defs/{field.type_name}"}]
    if field.loose_spelling:
        forms.append({"type": "string", "pattern": _loose_pattern(field.enum())})
    if field.takes_references:
        forms.append({"type": "string", "pattern": JSON_PATTERN, "description": _REFERENCE_DOC})
    return {"anyOf": forms}


def _enum_schema(enum: EnumType) -> Schema:
    words: list[Schema] = [{"const": word.word, "description": word.doc} for word in enum.words.values()]
    words += [{"const": alias, "description": f"Another word for `{word}`."} for alias, word in enum.aliases.items()]
    return {"description": enum.doc, "anyOf": words}


def _loose_pattern(enum: EnumType) -> str:
    spellings = "|".join("".join(map(_loose_letter, word)) for word in (*enum.words, *enum.aliases))
    return f"^({spellings})$"


def _loose_letter(letter: str) -> str:
    if letter == "_":
        return "[_-]"
    return f"[{letter.lower()}{letter.upper()}]" if letter.isalpha() else letter


def _nullable(schema: Schema) -> Schema:
    """Let a schema accept null too; the definition of a message does already."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "type" not in schema:
        return schema
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*types, "null"]}
