"""Go back to the config of an old revision: a refresh like any other, which makes a new revision.

Exit code 0: applied, or would be; 3: something needs a restart; 1: rejected; 4: the Edge cannot be reached.
"""

import argparse
import asyncio

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_admin, add_format, admin_address
from iop_edge.cli.refreshing import add_refresh_options, carry_out, chosen_mode, chosen_options, conclude, revision
from iop_edge.client.admin import AdminClient
from iop_edge.refresh.result import RefreshResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "revision", type=revision, metavar="REVISION", help="the revision, as `config history` shows it"
    )
    add_refresh_options(parser)
    add_admin(parser)
    add_format(parser, "text", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Ask the Edge and print its answer."""
    result = asyncio.run(_ask(arguments, console))
    return conclude(result, arguments, console)


async def _ask(arguments: argparse.Namespace, console: Console) -> RefreshResult:
    async with AdminClient(admin_address(arguments.admin, console.environ)) as client:
        asked = client.rollback(arguments.revision, chosen_mode(arguments), chosen_options(arguments))
        return await carry_out(client, asked, arguments, console)
