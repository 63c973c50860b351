"""A config, or the payload of a Node, as plain JSON values and as YAML."""

from typing import Any

import yaml

from iop_edge.schema import table
from iop_edge.schema.redact import redact_tree
from iop_edge.schema.references import escape
from iop_edge.schema.values import ReadTree, References, ReferenceTree


def config_json(tree: ReadTree, references: References) -> dict[str, Any]:
    """Return a normalized tree as plain JSON values that are again a config (NRM-07).

    They are redacted, in the order of the schema, with every list present that may be empty.
    """
    return _with_lists(redact_tree(table.root(), _escaped(tree), references.tree), table.root())


def payload_json(tree: ReadTree, references: ReferenceTree) -> dict[str, Any]:
    """Return the tree of a payload as plain JSON values: redacted, every list present, in the order of the proto."""
    message = table.message("NodeConfigPayload")
    return _with_lists(redact_tree(message, tree, references), message)


def yaml_text(value: dict[str, Any]) -> str:
    """Return plain JSON values as YAML."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120))


def _escaped(value: Any) -> Any:
    """Escape the texts of a value as a config needs them."""
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return escape(value) if isinstance(value, str) else value


def _with_lists(shown: dict[str, Any], message: table.Message) -> dict[str, Any]:
    """Add an empty list for each that the message lacks, where an empty one means the same."""
    complete: dict[str, Any] = {}
    for name, field in message.fields.items():
        if name in shown:
            value, is_message = shown[name], field.kind is table.Kind.MESSAGE
            if is_message and field.repeated:
                value = [_with_lists(item, field.message()) for item in value]
            complete[name] = _with_lists(value, field.message()) if is_message and not field.repeated else value
        elif field.repeated and not field.shorthand_for and not field.min_items:
            complete[name] = []
    return complete
