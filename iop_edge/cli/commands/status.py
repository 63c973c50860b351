"""Say what the running Edge runs: its revision, its Nodes and providers, and what waits for a restart.

Exit code 0 whatever the state is; 4: the Edge cannot be reached.
"""

import argparse
import asyncio

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_admin, add_format, admin_address
from iop_edge.cli.render.status import status_text
from iop_edge.cli.render.text import json_text
from iop_edge.client.admin import AdminClient
from iop_edge.client.status import StatusSnapshot, as_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_admin(parser)
    add_format(parser, "text", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Ask the Edge and print its state."""
    status = asyncio.run(_ask(admin_address(arguments.admin, console.environ)))
    console.result(json_text(as_json(status)) if arguments.format == "json" else status_text(status, console.style))
    return ExitCode.FINE


async def _ask(address: str) -> StatusSnapshot:
    async with AdminClient(address) as client:
        return await client.status()
