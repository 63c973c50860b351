"""Propose a config to the running Edge: say what it would do (dry run), or do it (apply).

With FILE, the layers are sent as they are, and the Edge resolves their references in its own environment. Without FILE
the Edge reads its own files again.

Exit code 0: applied, or would be; 3: something needs a restart; 1: rejected; 4: the Edge cannot be reached.
"""

import argparse
import asyncio

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.inputs import add_admin, add_format, add_layers, admin_address
from iop_edge.cli.refreshing import add_refresh_options, carry_out, chosen_mode, chosen_options, conclude
from iop_edge.client.admin import AdminClient
from iop_edge.config import files
from iop_edge.config.source import Source
from iop_edge.refresh.result import RefreshResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_layers(parser, help="tracked files, '-' for standard input; without one the Edge reads its own files again")
    add_refresh_options(parser)
    add_admin(parser)
    add_format(parser, "text", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Ask the Edge and print its answer."""
    if arguments.private and not arguments.files:
        raise UsageError(
            "config refresh: --private needs a FILE; without one the Edge reads its own files and overlays"
        )
    layers = files.read_sources(arguments.files, arguments.private) if arguments.files else []
    result = asyncio.run(_ask(arguments, layers, console))
    return conclude(result, arguments, console)


async def _ask(arguments: argparse.Namespace, layers: list[Source], console: Console) -> RefreshResult:
    async with AdminClient(admin_address(arguments.admin, console.environ)) as client:
        asked = client.refresh(layers, chosen_mode(arguments), chosen_options(arguments))
        return await carry_out(client, asked, arguments, console)
