"""Print what the Edge would push to a Node: the whole payload, without secrets.

A value that came from a reference is shown as the reference.
"""

import argparse
import difflib

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.inputs import add_format, add_layers, add_offline, config_files
from iop_edge.cli.render.payload import payload_json, yaml_text
from iop_edge.cli.render.text import json_text
from iop_edge.config import files
from iop_edge.config.snapshot import Snapshot
from iop_edge.payload import UnknownNodeError, payload_tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("node", metavar="NODE", help="the Node's id")
    add_layers(parser)
    add_format(parser, "yaml", "json")
    add_offline(parser)


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Load the files and print one Node's payload."""
    paths = config_files(arguments.files, console.environ)
    snapshot = files.load(paths, arguments.private, env=console.environ, offline=arguments.offline)
    try:
        payload = payload_json(payload_tree(snapshot, arguments.node))
    except UnknownNodeError as error:
        raise UsageError(f"node payload: {error}{_hint(snapshot, arguments.node)}") from None
    if arguments.format == "json":
        console.document(json_text(payload))
    else:
        console.result(yaml_text(payload))
    return ExitCode.FINE


def _hint(snapshot: Snapshot, node_id: str) -> str:
    close = difflib.get_close_matches(node_id, [node["id"] for node in snapshot.tree.get("nodes", ())], n=1)
    return f"; did you mean {close[0]}?" if close else ""
