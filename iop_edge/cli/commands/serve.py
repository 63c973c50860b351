"""Run an Edge: load the config, dial the Nodes, push to each what it has to run, and answer on the admin address.

SIGHUP makes it read its files again, and with --watch it does so by itself when they, or what they refer to, say
something else; files that cannot be used leave what runs as it is. SIGTERM and SIGINT stop it.

It says nothing on standard output. On standard error it writes its log, with logging.format json one JSON object a
line, the one that tells that it is ready too; an invalid config is told of before, as text.

Exit code 0: it was stopped; 1: the config is not valid; 4: an address is taken, or another Edge has the
state directory.
"""

import argparse
import asyncio
from pathlib import Path
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_layers, config_files
from iop_edge.serve.logs import LoggedError
from iop_edge.serve.serve import ServeOptions, serve

_DEFAULTS: Final = ServeOptions(files=())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_layers(parser)
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=_DEFAULTS.state_dir,
        metavar="DIR",
        help=f"where history is kept; it belongs to one Edge at a time (default: {_DEFAULTS.state_dir})",
    )
    parser.add_argument("--admin", default="", metavar="ADDRESS", help="the admin address, instead of listen.admin")
    parser.add_argument(
        "--secrets-dir",
        type=Path,
        metavar="DIR",
        help="a directory that ${file:...} of a proposed config may read, besides those of the Edge's own files",
    )
    parser.add_argument("--watch", action="store_true", help="take up changes of the files without being told")
    parser.add_argument(
        "--last-good",
        action="store_true",
        help="start with the newest applied revision when the files cannot be used",
    )
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="take Nodes over that belong to an Edge of another id, each once; that Edge is refused from then on",
    )


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Serve until a signal stops it."""
    options = ServeOptions(
        files=tuple(config_files(arguments.files, console.environ)),
        private=tuple(arguments.private),
        state_dir=arguments.state_dir,
        admin=arguments.admin,
        secrets_dir=arguments.secrets_dir,
        watch=arguments.watch,
        last_good=arguments.last_good,
        take_over=arguments.take_over,
    )
    try:
        asyncio.run(serve(options))
    except LoggedError:
        return ExitCode.FAULT
    return ExitCode.FINE
