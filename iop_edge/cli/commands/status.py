"""Say what the running Edge runs: its revision, its Nodes and providers, and what waits for a restart.

With --watch it is shown until you stop it: in place on a terminal, elsewhere a line whenever something has changed.

Exit code 0 whatever the state is; 4: the Edge cannot be reached.
"""

import argparse
import asyncio
import json
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.following import follow
from iop_edge.cli.inputs import add_admin, add_format, admin_address
from iop_edge.cli.render.status import status_line, status_text
from iop_edge.cli.render.text import json_text
from iop_edge.cli.running import until_stopped
from iop_edge.client.admin import AdminClient
from iop_edge.client.status import StatusSnapshot
from iop_edge.documents import document
from iop_edge.errors import EdgeError

_SECONDS: Final = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_admin(parser)
    add_format(parser, "text", "json")
    parser.add_argument("--watch", action="store_true", help="go on showing it, every other second")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Ask the Edge and print its state."""
    address = admin_address(arguments.admin, console.environ)
    if arguments.watch:
        asyncio.run(until_stopped(_watch(address, Screen(console, arguments.format))))
        return ExitCode.FINE
    status = asyncio.run(_ask(address))
    if arguments.format == "json":
        console.document(json_text(document(status)))
    else:
        console.result(status_text(status, console.style))
    return ExitCode.FINE


class Screen:
    """Shows what follows each other: in place, or as lines, and then only what differs from the one before."""

    def __init__(self, console: Console, form: str) -> None:
        self._console = console
        self._form = form
        self._last = ""

    def show(self, found: StatusSnapshot | EdgeError) -> None:
        """Show a state, or why there is none."""
        in_place = self._console.redraws and self._form != "json"
        text = self._text(found, in_place=in_place)
        if text == self._last:
            return
        self._last = text
        if in_place:
            self._console.redraw(text)
        elif isinstance(found, EdgeError):
            self._console.note(text)
        else:
            self._console.result(text)

    def _text(self, found: StatusSnapshot | EdgeError, *, in_place: bool) -> str:
        if isinstance(found, EdgeError):
            return f"iop-edge: {found}"
        if self._form == "json":
            return json.dumps(document(found), ensure_ascii=False)
        return status_text(found, self._console.style) if in_place else status_line(found)


async def _watch(address: str, screen: Screen) -> None:
    async with AdminClient(address) as client:
        await follow(client.status, screen.show, _SECONDS)


async def _ask(address: str) -> StatusSnapshot:
    async with AdminClient(address) as client:
        return await client.status()
