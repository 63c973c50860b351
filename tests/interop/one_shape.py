"""A config as the decoder reads it, and as one who knows nothing of other spellings and forms does, in one shape."""

import json
from collections.abc import Iterator
from typing import Any

from iop_edge.config.marks import Sourced
from iop_edge.config.scalars import normal_word
from iop_edge.schema.table import Field, Kind, MappingForm, Message


def in_one_shape(message: Message, value: dict[str, Any]) -> dict[str, Any]:
    """Return a message with references as they are written, and each list that may be a mapping in one order."""
    fields = message.keys
    return {fields[key].name: _field(fields[key], item) for key, item in value.items()}


def holds_typed_reference(message: Message, tree: dict[str, Any]) -> bool:
    """Tell whether something else than a text is given by a reference: only the loader knows what that means."""
    return any(_is_typed_reference(message.fields[name], value) for name, value in tree.items())


def _is_typed_reference(field: Field, value: Any) -> bool:
    if isinstance(value, list):
        return any(_is_typed_reference(field, item) for item in value)
    if field.kind is Kind.MESSAGE:
        return holds_typed_reference(field.message(), value)
    return isinstance(value, Sourced) and field.kind not in (Kind.STRING, Kind.ENUM)


def _field(field: Field, value: Any) -> Any:
    if field.kind is Kind.MESSAGE:
        return _messages(field, value) if field.repeated else _message(field.message(), value)
    if isinstance(value, list):
        return [_scalar(field, item) for item in value]
    if isinstance(value, dict):
        return {key: _scalar(field, item) for key, item in value.items()}
    return _scalar(field, value)


def _messages(field: Field, value: Any) -> list[Any]:
    form = field.mapping_form
    items = list(_entries(form, value)) if form is not None and isinstance(value, dict) else value
    messages = [_message(field.message(), item) for item in items]
    return messages if form is None else sorted(messages, key=json.dumps)


def _entries(form: MappingForm, value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key, item in value.items():
        if form.value_field:
            yield {form.key_field: key, form.value_field: item}
            continue
        instances = [{form.key_field: key, **one} for one in (item if isinstance(item, list) else [item])]
        if len(instances) == 1:
            instances[0].setdefault(form.name_field, key)
        yield from instances


def _message(message: Message, value: Any) -> dict[str, Any]:
    return in_one_shape(message, value if isinstance(value, dict) else {message.scalar_form: value})


def _scalar(field: Field, value: Any) -> Any:
    if isinstance(value, Sourced):
        value = value.reference
    return normal_word(field, value) if field.kind is Kind.ENUM else value
