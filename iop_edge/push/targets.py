"""Whom a config says to dial."""

from typing import Any

from iop_edge.ids import NodeId
from iop_edge.net import Tls
from iop_edge.push.model import Target
from iop_edge.schema.values import UNRESOLVED, ReadTree, plain


def targets(tree: ReadTree) -> tuple[Target, ...]:
    """Return the Nodes of a normalized config, as they are dialled."""
    return tuple(_target(node) for node in tree.get("nodes", ()))


def _target(node: ReadTree) -> Target:
    return Target(
        node_id=NodeId(plain(node["id"])),
        address=plain(node["address"]),
        token=_text(node.get("token")),
        tls=tls(node.get("tls", {})),
    )


def tls(tree: ReadTree) -> Tls | None:
    """Return the TLS material of a `tls` section; a section that gives nothing means plain text."""
    given = {name: _text(value) for name, value in tree.items()}
    return Tls(**given) if given else None


def _text(value: Any) -> str:
    value = plain(value)
    return "" if value is None or value is UNRESOLVED else value
