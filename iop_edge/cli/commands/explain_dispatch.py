"""Say what would become of a new request for MODEL now: each provider, and why it would or would not be chosen.

MODEL is the id of a model group, or of a route. Without FILE the running Edge is asked. With FILE the config is looked
at under a load that you make up: every Node is reachable and no provider has a request, but for what the options say.

Exit code 0: the request gets a provider, or waits for one; 1: it is refused, as where there is no such MODEL, or the
config is not valid; 4: the Edge cannot be reached.
"""

import argparse
import asyncio

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.inputs import add_admin, add_format, add_layers, add_offline, admin_address
from iop_edge.cli.made_up import add_load, is_made_up, rehearsed
from iop_edge.cli.render.dispatch import explanation_text, unknown_text
from iop_edge.cli.render.text import json_text
from iop_edge.documents import document
from iop_edge.pool.explanation import Explanation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="the model, as a request names it")
    add_layers(parser, "tracked files to look at, '-' for standard input; without one the running Edge is asked")
    add_offline(parser)
    add_load(parser)
    add_admin(parser)
    add_format(parser, "text", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Explain, and print the explanation."""
    explanation = _explained(arguments, console)
    if arguments.format == "json":
        console.document(json_text(document(explanation)))
    elif explanation.kind is not None:
        console.result(explanation_text(explanation, console.style))
    if explanation.kind is None:
        console.note(f"explain-dispatch: {unknown_text(explanation)}")
    return ExitCode.REJECTED if explanation.refusal else ExitCode.FINE


def _explained(arguments: argparse.Namespace, console: Console) -> Explanation:
    if not arguments.files:
        if is_made_up(arguments):
            raise UsageError("explain-dispatch: overlays, --offline and a made-up load need a FILE")
        return asyncio.run(_ask(admin_address(arguments.admin, console.environ), arguments.model))
    if arguments.admin:
        raise UsageError("explain-dispatch: FILE or --admin, not both")
    return rehearsed(arguments, console)


async def _ask(address: str, model: str) -> Explanation:
    from iop_edge.client.admin import AdminClient

    async with AdminClient(address) as client:
        return await client.explain_dispatch(model)
