"""Run a reference Node: a gRPC server that takes its whole configuration from one Edge.

It is told its id, where it listens, and its token; the rest comes from the Edge. The token is in IOP_NODE_TOKEN, or in
the file of --token-file, one a line: two during a rotation.
"""

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.running import until_stopped
from iop_edge.ids import NodeId
from iop_edge.net import Address, AddressError, parse_address

TOKEN_VARIABLE: Final = "IOP_NODE_TOKEN"  # noqa: S105 - the name of a variable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--id", required=True, metavar="ID", help="the Node's id, as the Edge's config has it")
    parser.add_argument(
        "--listen", required=True, metavar="ADDRESS", help="host:port, [v6]:port or unix:PATH; port 0: a free one"
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help=f"the accepted tokens; without it: ${TOKEN_VARIABLE}"
    )


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Serve until SIGTERM or SIGINT."""
    from iop_edge.agent.serve import run_node

    _require_id(arguments.id)
    tokens = _tokens(arguments.token_file, console.environ)
    address = _address(arguments.listen)

    def ready(bound: Address) -> None:
        console.note(f"node {arguments.id} listens on {bound}")

    asyncio.run(until_stopped(run_node(NodeId(arguments.id), address, tokens, ready=ready)))
    return ExitCode.FINE


def _require_id(text: str) -> None:
    from iop_edge.load.formats import FORMS

    if fault := FORMS["identifier"].fault(text):
        raise UsageError(f"node run: --id: {fault}")


def _tokens(file: Path | None, environ: Mapping[str, str]) -> list[str]:
    try:
        text = file.read_text("utf-8") if file else environ.get(TOKEN_VARIABLE, "")
    except UnicodeDecodeError:
        raise UsageError(f"node run: {file} is not UTF-8") from None
    tokens = [line.strip() for line in text.splitlines() if line.strip()]
    if not tokens:
        raise UsageError(f"node run: no token in {file or f'${TOKEN_VARIABLE}'}")
    if not all(token.isascii() and token.isprintable() for token in tokens):
        raise UsageError(f"node run: a token in {file or f'${TOKEN_VARIABLE}'} is not printable ASCII")
    return tokens


def _address(text: str) -> str:
    try:
        return str(parse_address(text))
    except AddressError as error:
        raise UsageError(f"node run: --listen: {error}") from None
