"""What `config refresh` and `config rollback` share: their options, and how they end."""

import argparse
from collections.abc import Awaitable
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.following import drained, progress
from iop_edge.cli.render.result import refresh_text
from iop_edge.cli.render.text import json_text
from iop_edge.client.admin import AdminClient
from iop_edge.documents import document
from iop_edge.refresh.result import Mode, RefreshOptions, RefreshResult, Status

_MODES: Final = {str(mode).replace("_", "-"): mode for mode in Mode}
_MOST_DIGITS: Final = 20
_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_LONGEST_MS: Final = 7 * 24 * _UNITS["h"]
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
    parser.add_argument(
        "--confirm-within",
        type=duration_ms,
        default=0,
        metavar="DURATION",
        help="go back by itself after this time (90s, 5m, 1h) unless `config confirm` comes before",
    )
    parser.add_argument(
        "--wait-drained",
        type=duration_ms,
        default=0,
        metavar="DURATION",
        help="then wait so long until no changed provider runs more requests than it takes now",
    )


async def carry_out(
    client: AdminClient, refresh: Awaitable[RefreshResult], arguments: argparse.Namespace, console: Console
) -> RefreshResult:
    """Wait for a refresh, and where it is asked for until providers have drained."""
    async with progress(client.status, console):
        result = await refresh
    if result.committed and arguments.confirm_within:
        # Before anything else is waited for: the time to confirm runs already.
        console.note(f"keep it with: iop-edge config confirm {result.revision_after}")
    if result.committed and arguments.wait_drained:
        return await drained(result, arguments.wait_drained, client.status, console)
    return result


def duration_ms(text: str) -> int:
    """Read a duration, as `90s`, in milliseconds.

    Raises:
        ArgumentTypeError: the text is none, or it is none that anybody waits for.
    """
    number, unit = text.rstrip("hms"), text.lstrip("0123456789")
    if number.isascii() and number.isdigit() and unit in _UNITS and 0 < int(number[:10]) * _UNITS[unit] <= _LONGEST_MS:
        return int(number) * _UNITS[unit]
    raise argparse.ArgumentTypeError(f"{text!r} is no duration as 500ms, 90s, 5m or 1h, of a week at most")


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


def chosen_options(arguments: argparse.Namespace) -> RefreshOptions:
    """Return how the arguments want the refresh carried out."""
    return RefreshOptions(
        expected_revision=arguments.expected_revision,
        expected_candidate=arguments.expected_candidate,
        live_only=arguments.live_only,
        require_all=arguments.require_all,
        confirm_within_ms=arguments.confirm_within,
    )


def conclude(result: RefreshResult, arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Print a result and return its exit code."""
    if arguments.format == "json":
        console.document(json_text(document(result)))
    else:
        console.result(refresh_text(result, console.style))
    return _EXIT_CODES[result.status]
