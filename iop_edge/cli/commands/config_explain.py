"""Describe a field of the config: what it means, its type, default, constraints, and what a change of it costs.

PATH is written as in a report or a diff, with or without indexes: nodes[2].providers[0].capacity, nodes[gpu-a].address,
nodes.providers.capacity. Without a PATH the top level is described.
"""

import argparse

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.inputs import add_format
from iop_edge.cli.render.explain import explanation_json, explanation_text
from iop_edge.cli.render.text import json_text
from iop_edge.schema.explain import UnknownPathError, explain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="the path of a field")
    add_format(parser, "text", "json")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Print what the schema says of a field."""
    try:
        explanation = explain(arguments.path)
    except UnknownPathError as error:
        raise UsageError(_unknown(error)) from None
    if arguments.format == "json":
        console.document(json_text(explanation_json(explanation)))
    else:
        console.result(explanation_text(explanation, console.style))
    return ExitCode.FINE


def _unknown(error: UnknownPathError) -> str:
    hints = [error.hint] if error.hint else []
    hints += [f"did you mean {' or '.join(error.suggestions)}?"] if error.suggestions else []
    return "; ".join([str(error), *hints])
