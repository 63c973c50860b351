"""Print the JSON Schema of a config file, for editors.

Name it in a file's first line: `# yaml-language-server: $schema=edge.schema.json`.
"""

import argparse

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.render.text import json_text
from iop_edge.schema.json_schema import json_schema


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: there are none."""


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:  # noqa: ARG001 - every command has this form
    """Print the schema."""
    console.document(json_text(json_schema()))
    return ExitCode.FINE
