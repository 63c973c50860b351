"""List what was tried on the running Edge, the newest first: when, by whom, and how it ended. Paths, never values."""

import argparse
import asyncio

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_admin, add_format, admin_address
from iop_edge.cli.render.history import history_json, history_text
from iop_edge.cli.render.text import json_text
from iop_edge.client.admin import AdminClient
from iop_edge.refresh.result import Attempt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--limit", type=_limit, default=20, metavar="N", help="at most so many (default: 20)")
    add_admin(parser)
    add_format(parser, "text", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Ask the Edge and print its history."""
    attempts = asyncio.run(_ask(admin_address(arguments.admin, console.environ), arguments.limit))
    if arguments.format == "json":
        console.document(json_text(history_json(attempts)))
    else:
        console.result(history_text(attempts, console.style))
    return ExitCode.FINE


async def _ask(address: str, limit: int) -> tuple[Attempt, ...]:
    async with AdminClient(address) as client:
        return await client.history(limit)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:10]) < 2**31):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)
