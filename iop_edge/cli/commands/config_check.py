"""Say whether a config is valid, and all that is wrong with it.

Exit code 0: valid; 1: violations, and with --strict also warnings.
"""

import argparse

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_format, add_layers, add_offline, config_files
from iop_edge.cli.render.text import json_text
from iop_edge.config import files
from iop_edge.errors import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_layers(parser)
    add_format(parser, "text", "json", "github", "sarif")
    add_offline(parser)
    parser.add_argument("--strict", action="store_true", help="let warnings count as violations")


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Check the files and print the report."""
    paths = config_files(arguments.files, console.environ)
    report = files.check(paths, arguments.private, env=console.environ, offline=arguments.offline)
    passes = report.ok and not (arguments.strict and report.warnings)
    write = console.document if arguments.format in ("json", "sarif") else console.result
    write(_render(arguments.format, report, console, passes=passes))
    return ExitCode.FINE if passes else ExitCode.REJECTED


def _render(form: str, report: Report, console: Console, *, passes: bool) -> str:
    if form == "json":
        from iop_edge.cli.render.report_json import report_json

        return json_text(report_json(report, ok=passes))
    if form == "github":
        from iop_edge.cli.render.github import report_github

        return report_github(report, ok=passes)
    if form == "sarif":
        from importlib.metadata import version

        from iop_edge.cli.render.sarif import report_sarif

        return json_text(report_sarif(report, version("iop_edge")))
    from iop_edge.cli.render.report import report_text

    return report_text(report, console.style, ok=passes)
