"""The files of the demonstration: the shipped example, an overlay that fits it to this machine, and edited copies."""

import json
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from iop_edge.cli.demo.processes import DemoError
from iop_edge.cli.private_file import write_private
from iop_edge.cli.shipped import example
from iop_edge.net import MAX_UNIX_PATH

CONFIG: Final = "edge.yaml"
PRIVATE: Final = "private.yaml"
SOCKET: Final = "admin.sock"

NODES: Final = ("gpu-a", "gpu-b", "relay")


@dataclass(frozen=True, slots=True)
class Edit:
    """A line of the example that somebody changes."""

    line: str
    into: str


def make_directory() -> tempfile.TemporaryDirectory[str]:
    """Make a directory that goes away with all that is in it; its path leaves room for the name of a socket."""
    usual = Path(tempfile.gettempdir(), "iop-edge-demo-12345678", SOCKET)
    place = None if len(str(usual).encode()) <= MAX_UNIX_PATH else "/tmp"  # noqa: S108 - for a name that fits
    return tempfile.TemporaryDirectory(prefix="iop-edge-demo-", dir=place)


def write_config(directory: Path, name: str, *edits: Edit) -> None:
    """Write the example, edited.

    Raises:
        DemoError: the example has no such line, or several.
    """
    text = example("edge.yaml")
    for edit in edits:
        if text.count(f"{edit.line}\n") != 1:
            raise DemoError(f"the example has not exactly one line {edit.line.strip()!r}")
        text = text.replace(f"{edit.line}\n", f"{edit.into}\n")
    (directory / name).write_text(text, encoding="utf-8")


def write_overlay(directory: Path, addresses: Mapping[str, str], tokens: Mapping[str, str]) -> None:
    """Write the private overlay: the addresses and tokens of the Nodes, made-up credentials, and no fixed port."""
    overlay = {
        "listen": {"grpc": None, "admin": f"unix:{directory / SOCKET}"},
        **{server: {"enabled": False} for server in ("bootstrap", "metrics", "console", "a2a")},
        "openai": {"enabled": False, "provider_auth": {"providers": ["cloud-claude"]}},
        "nodes": [_node(node, addresses[node], tokens[node]) for node in NODES],
    }
    write_private(directory / PRIVATE, json.dumps(overlay, indent=2).encode())


def make_tokens() -> dict[str, str]:
    """Return a new token for each Node."""
    return {node: secrets.token_urlsafe(24) for node in NODES}


def _node(node: str, address: str, token: str) -> dict[str, Any]:
    own: dict[str, Any] = {"id": node, "address": address, "token": token}
    if node == "relay":
        credential = {"headers": {"Authorization": f"Bearer {secrets.token_urlsafe(24)}"}}
        own["adapters"] = [{"name": "cloud", **credential}]
        own["providers"] = [{"id": "cloud-claude", **credential}]
    return own
