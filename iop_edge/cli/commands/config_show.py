"""Print a config in its normalized form, without secrets: defaults filled in, shorthands resolved, layers merged.

Either form is itself a valid config. A value that came from a reference is shown as the reference.
"""

import argparse

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_format, add_layers, add_offline, config_files
from iop_edge.config import files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_layers(parser)
    add_format(parser, "yaml", "json")
    add_offline(parser)


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Load the files and print what they amount to."""
    paths = config_files(arguments.files, console.environ)
    snapshot = files.load(paths, arguments.private, env=console.environ, offline=arguments.offline)
    if arguments.format == "yaml":
        console.result(snapshot.dump())
    else:
        from iop_edge.cli.render.config import config_json
        from iop_edge.cli.render.text import json_text

        console.document(json_text(config_json(snapshot.tree)))
    return ExitCode.FINE
