"""What a Node is told, without secrets."""

from typing import Any

import yaml

from iop_edge.cli.render.config import with_lists
from iop_edge.schema import table
from iop_edge.schema.redact import redact_tree
from iop_edge.schema.values import ReadTree


def payload_json(tree: ReadTree) -> dict[str, Any]:
    """Return the tree of a payload as plain JSON values: every list present, in the order of the proto."""
    message = table.message("NodeConfigPayload")
    return with_lists(redact_tree(message, tree), message)


def yaml_text(value: dict[str, Any]) -> str:
    """Return plain JSON values as YAML."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120))
