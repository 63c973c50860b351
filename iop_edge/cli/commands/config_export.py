"""Write a normalized config as protobuf (EdgeConfig), with its secrets, for Go services.

The file gets mode 0600, and is there whole or not at all. `binpb` is the binary form, the same bytes for the same
config; `json` is protobuf's JSON.
"""

import argparse
from pathlib import Path

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_format, add_layers, config_files
from iop_edge.config import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_layers(parser)
    parser.add_argument(
        "--with-secrets", required=True, metavar="OUT", type=Path, help="the file that is written, with mode 0600"
    )
    add_format(parser, "binpb", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Load the files and write the message."""
    from iop_edge.cli.private_file import write_private
    from iop_edge.schema.export import config_bytes, config_json

    paths = config_files(arguments.files, console.environ)
    snapshot = files.load(paths, arguments.private, env=console.environ)
    encode = config_json if arguments.format == "json" else config_bytes
    write_private(arguments.with_secrets, encode(snapshot.tree))
    return ExitCode.FINE
