"""What `config refresh` and `config rollback` share: their options, and how they end."""

import argparse
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.render.result import refresh_text
from iop_edge.cli.render.text import json_text
from iop_edge.refresh.attempt import Options
from iop_edge.refresh.result import Mode, RefreshResult, Status, as_json

_MODES: Final = {str(mode).replace("_", "-"): mode for mode in Mode}
_MOST_DIGITS: Final = 20
_EXIT_CODES: Final = {
    Status.APPLIED: ExitCode.FINE,
    Status.RESTART_REQUIRED: ExitCode.RESTART_REQUIRED,
    Status.REJECTED: ExitCode.REJECTED,
}


def add_refresh_options(parser: argparse.ArgumentParser) -> None:
    """Add how a refresh is carried out."""
    parser.add_argument(
        "--mode", choices=tuple(_MODES), default="dry-run", help="say what it would do (default), or do it"
    )
    parser.add_argument(
        "--expected-revision", type=revision, metavar="N", help="only when this is the running revision"
    )
    parser.add_argument(
        "--expected-candidate",
        default="",
        metavar="HASH",
        help="only when the candidate has the hash that a dry run showed",
    )
    parser.add_argument("--live-only", action="store_true", help="apply the live part of what needs a restart")
    parser.add_argument("--require-all", action="store_true", help="reject when an affected Node cannot be reached")


def revision(text: str) -> int:
    """Read the number of a revision.

    Raises:
        ArgumentTypeError: the text is none.
    """
    digits = text.lstrip("0") or text[:1]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MOST_DIGITS or int(digits) >= 2**64:
        raise argparse.ArgumentTypeError(f"{text!r} is no revision")
    return int(digits)


def chosen_mode(arguments: argparse.Namespace) -> Mode:
    """Return the mode that the arguments ask for."""
    return _MODES[arguments.mode]


def chosen_options(arguments: argparse.Namespace) -> Options:
    """Return how the arguments want the refresh carried out."""
    return Options(
        expected_revision=arguments.expected_revision,
        expected_candidate=arguments.expected_candidate,
        live_only=arguments.live_only,
        require_all=arguments.require_all,
    )


def conclude(result: RefreshResult, form: str, console: Console) -> ExitCode:
    """Print a result and return its exit code."""
    console.result(json_text(as_json(result)) if form == "json" else refresh_text(result, console.style))
    return _EXIT_CODES[result.status]
