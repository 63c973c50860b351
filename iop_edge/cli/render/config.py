"""A config as JSON for programs."""

from typing import Any

from iop_edge.schema import table
from iop_edge.schema.redact import redact_tree
from iop_edge.schema.references import escape
from iop_edge.schema.values import ReadTree


def config_json(tree: ReadTree) -> dict[str, Any]:
    """Return a normalized tree as plain JSON values that are a config again (NRM-07).

    They are redacted, in the order of the schema, with every list present that may be empty.
    """
    return with_lists(redact_tree(table.root(), _escaped(tree)), table.root())


def _escaped(value: Any) -> Any:
    """Return a value with its texts as a config has them; a reference is kept as it is written."""
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return escape(value) if isinstance(value, str) else value


def with_lists(shown: dict[str, Any], message: table.Message) -> dict[str, Any]:
    """Return a shown message with an empty list for each that it does not hold, where an empty one means the same."""
    complete: dict[str, Any] = {}
    for name, field in message.fields.items():
        if name in shown:
            complete[name] = _with_lists(shown[name], field)
        elif field.repeated and not field.shorthand_for and not field.min_items:
            complete[name] = []
    return complete


def _with_lists(value: Any, field: table.Field) -> Any:
    if field.kind is not table.Kind.MESSAGE:
        return value
    if field.repeated:
        return [with_lists(item, field.message()) for item in value]
    return with_lists(value, field.message())
