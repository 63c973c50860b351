"""Keep the running revision, which was applied with --confirm-within and would be reverted otherwise.

Exit code 0: it is confirmed, also when it was before; 1: it is another revision, or none that waited to be confirmed;
4: the Edge cannot be reached.
"""

import argparse
import asyncio

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_admin, add_format, admin_address
from iop_edge.cli.refreshing import revision
from iop_edge.cli.render.text import json_text
from iop_edge.client.admin import AdminClient
from iop_edge.client.status import Confirmed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "revision", nargs="?", type=revision, metavar="REVISION", help="only when this is the running revision"
    )
    add_admin(parser)
    add_format(parser, "text", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Confirm, and say whether that came in time."""
    answer = asyncio.run(_ask(admin_address(arguments.admin, console.environ), arguments.revision))
    if arguments.format == "json":
        console.document(json_text({"revision": answer.revision, "confirmed": answer.confirmed}))
    elif answer.confirmed:
        console.result(f"revision {answer.revision} stays")
    else:
        console.result(f"nothing confirmed: revision {answer.revision} runs, and was not waiting for it")
    return ExitCode.FINE if answer.confirmed else ExitCode.REJECTED


async def _ask(address: str, expected: int | None) -> Confirmed:
    async with AdminClient(address) as client:
        return await client.confirm(expected)
