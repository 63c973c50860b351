"""Say what differs between two configs, and what the difference costs a running Edge.

Exit code 0: no difference; 10: live changes only; 3: something needs a restart; 1: one of the configs is not valid.
"""

import argparse

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.inputs import add_format, add_offline, add_private
from iop_edge.cli.render.result import diff_text
from iop_edge.cli.render.text import json_text
from iop_edge.config import files
from iop_edge.documents import document
from iop_edge.errors import ConfigError
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import Mode, RefreshResult, Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("old", metavar="OLD", help="the config that runs")
    parser.add_argument("new", metavar="NEW", help="the candidate")
    add_private(parser)
    add_format(parser, "text", "json")
    add_offline(parser)


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Compare two configs under the same overlays and print the plan."""
    result = _compare(arguments, console)
    if arguments.format == "json":
        console.document(json_text(document(result)))
    else:
        console.result(diff_text(result, console.style))
    return _exit_code(result)


def _compare(arguments: argparse.Namespace, console: Console) -> RefreshResult:
    try:
        old, new = (
            files.load(path, arguments.private, env=console.environ, offline=arguments.offline)
            for path in (arguments.old, arguments.new)
        )
    except ConfigError as error:
        report = error.report
        return RefreshResult(
            Status.REJECTED,
            Mode.DRY_RUN,
            violations=report.violations,
            violations_total=report.total,
            warnings=report.warnings,
        )
    return plan(old, new).result(Mode.DRY_RUN)


def _exit_code(result: RefreshResult) -> ExitCode:
    if result.status is Status.APPLIED:
        return ExitCode.LIVE_CHANGES if result.changes else ExitCode.FINE
    return {Status.REJECTED: ExitCode.REJECTED, Status.RESTART_REQUIRED: ExitCode.RESTART_REQUIRED}[result.status]
