"""Write a small config to start from, with what each field means above it.

It goes to FILE, which must not exist, or to standard output. It is valid as it is; its first lines name the variables
that it reads. Editors complete and check it with the schema that `iop-edge config schema > edge.schema.json` prints.
"""

import argparse
from pathlib import Path
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.shipped import example
from iop_edge.config.documented import documented

_SCHEMA: Final = "# yaml-language-server: $schema=edge.schema.json\n"
"""What makes an editor use the schema beside the file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the file; without one, standard output")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Print the config, or write it to a file that is not there yet."""
    text = _SCHEMA + documented(example("edge.start.yaml"))
    if arguments.file is None:
        console.result(text)
        return ExitCode.FINE
    try:
        with arguments.file.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"config init: {arguments.file} is there already, and is not overwritten") from None
    return ExitCode.FINE
