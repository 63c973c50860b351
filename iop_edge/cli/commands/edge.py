"""Commands on a running Edge: `config refresh`, `confirm`, `history` and `rollback`, and `status`."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from iop_edge.cli.command import (
    ADMIN,
    RESULT_CODES,
    Argument,
    ExitCode,
    UsageError,
    admin_address,
    argument,
    command,
    formats,
    layers,
    show,
)
from iop_edge.cli.console import Console
from iop_edge.cli.polling import drained, follow, progress, until_stopped
from iop_edge.cli.render.result import history_text, refresh_text
from iop_edge.cli.render.status import status_line, status_text
from iop_edge.client.admin import AdminClient
from iop_edge.client.status import StatusSnapshot
from iop_edge.config import files
from iop_edge.documents import document
from iop_edge.errors import EdgeError
from iop_edge.refresh.result import Mode, RefreshOptions, RefreshResult

_T = TypeVar("_T")

_MODES: Final = {str(mode).replace("_", "-"): mode for mode in Mode}
_MAX_REVISION: Final = 2**64 - 1
_MAX_LIMIT: Final = 2**31 - 1
_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_LONGEST_MS: Final = 7 * 24 * _UNITS["h"]
_WATCH_SECONDS: Final = 2.0


def ask(arguments: argparse.Namespace, console: Console, question: Callable[[AdminClient], Awaitable[_T]]) -> _T:
    """Connect to the running Edge and return its answer."""

    async def answer() -> _T:
        async with AdminClient(admin_address(arguments.admin, console.environ)) as client:
            return await question(client)

    return asyncio.run(answer())


def duration_ms(text: str) -> int:
    """Read a duration such as `90s`, in milliseconds.

    Raises:
        ArgumentTypeError: the text is not a duration, or it is longer than a week.
    """
    number, unit = text.rstrip("hms"), text.lstrip("0123456789")
    if number.isascii() and number.isdigit() and unit in _UNITS and 0 < int(number[:10]) * _UNITS[unit] <= _LONGEST_MS:
        return int(number) * _UNITS[unit]
    raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 500ms, 90s, 5m or 1h, of at most a week")


def _number(what: str, low: int, high: int) -> Callable[[str], int]:
    """Return a parser of a whole number between bounds; `what` is what it says when it fails."""

    def read(text: str) -> int:
        digits = text.lstrip("0") or text[:1]
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 20 and low <= int(digits) <= high):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return int(digits)

    return read


_revision: Final = _number("a revision", 0, _MAX_REVISION)

_REFRESH: Final[tuple[Argument, ...]] = (
    argument("--mode", choices=tuple(_MODES), default="dry-run", help="show what it would do (default), or do it"),
    argument("--expected-revision", type=_revision, metavar="N", help="reject unless this is the running revision"),
    argument(
        "--expected-candidate",
        default="",
        metavar="HASH",
        help="reject unless the candidate has this hash, as a dry run shows it",
    ),
    argument("--live-only", action="store_true", help="apply the live part of a candidate that needs a restart"),
    argument("--require-all", action="store_true", help="reject when an affected Node cannot be reached"),
    argument(
        "--confirm-within",
        type=duration_ms,
        default=0,
        metavar="DURATION",
        help="revert after this time (90s, 5m, 1h) unless `config confirm` is called before",
    ),
    argument(
        "--wait-drained",
        type=duration_ms,
        default=0,
        metavar="DURATION",
        help="afterwards wait up to this time until no changed provider runs more requests than its capacity",
    ),
    ADMIN,
    formats("text", "json"),
)


@command(layers("without one the Edge reads its own files again"), *_REFRESH)
def config_refresh(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Propose a config to the running Edge: show what it would do (dry run), or apply it.

    With FILE, the layers are sent as they are, and the Edge resolves their references in its own environment. Without
    FILE the Edge reads its own files again.

    Exit code 0: applied, or would be; 3: a restart is required; 1: rejected; 4: the Edge cannot be reached.
    """
    if arguments.private and not arguments.files:
        raise UsageError("config refresh: --private needs FILE; without it the Edge reads its own files and overlays")
    sent = files.read_sources(arguments.files, arguments.private) if arguments.files else []
    return _refresh(arguments, console, lambda client, *how: client.refresh(sent, *how))


@command(
    argument(
        "revision", type=_revision, metavar="REVISION", help="the revision to go back to, as `config history` shows it"
    ),
    *_REFRESH,
)
def config_rollback(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Go back to the config of an old revision: a refresh like any other, which makes a new revision.

    Exit code 0: applied, or would be; 3: a restart is required; 1: rejected; 4: the Edge cannot be reached.
    """
    return _refresh(arguments, console, lambda client, *how: client.rollback(arguments.revision, *how))


def _refresh(
    arguments: argparse.Namespace,
    console: Console,
    propose: Callable[[AdminClient, Mode, RefreshOptions], Awaitable[RefreshResult]],
) -> ExitCode:
    options = RefreshOptions(
        expected_revision=arguments.expected_revision,
        expected_candidate=arguments.expected_candidate,
        live_only=arguments.live_only,
        require_all=arguments.require_all,
        confirm_within_ms=arguments.confirm_within,
    )

    async def carry_out(client: AdminClient) -> RefreshResult:
        return await refreshed(client, propose(client, _MODES[arguments.mode], options), arguments, console)

    result = ask(arguments, console, carry_out)
    show(result, refresh_text, arguments.format, console)
    return RESULT_CODES[result.status]


async def refreshed(
    client: AdminClient, refresh: Awaitable[RefreshResult], arguments: argparse.Namespace, console: Console
) -> RefreshResult:
    """Wait for a refresh and, on demand, until providers have drained."""
    async with progress(client.status, console):
        result = await refresh
    if result.committed and arguments.confirm_within:
        # Before any further wait: the time to confirm has already begun.
        console.note(f"keep it with: iop-edge config confirm {result.revision_after}")
    if result.committed and arguments.wait_drained:
        return await drained(result, arguments.wait_drained, client.status, console)
    return result


@command(
    argument("revision", nargs="?", type=_revision, metavar="REVISION", help="only if this is the running revision"),
    ADMIN,
    formats("text", "json"),
)
def config_confirm(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Keep the running revision, which was applied with --confirm-within and would otherwise be reverted.

    Exit code 0: it is confirmed, now or before; 1: another revision runs, or it was not awaiting confirmation; 4: the
    Edge cannot be reached.
    """
    answer = ask(arguments, console, lambda client: client.confirm(arguments.revision))
    if arguments.format == "json":
        console.document(document(answer))
    elif answer.confirmed:
        console.result(f"revision {answer.revision} is confirmed")
    elif arguments.revision not in (None, answer.revision):
        console.result(f"revision {arguments.revision} does not run: revision {answer.revision} does")
    else:
        console.result(f"revision {answer.revision} is not awaiting confirmation")
    return ExitCode.FINE if answer.confirmed else ExitCode.REJECTED


@command(
    argument(
        "--limit",
        type=_number("a number from 1", 1, _MAX_LIMIT),
        default=20,
        metavar="N",
        help="list at most N attempts (default: 20)",
    ),
    ADMIN,
    formats("text", "json"),
)
def config_history(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """List past attempts to change the running config, the newest first: when, by whom, and how each ended.

    Changed paths are listed, never values.
    """
    attempts = ask(arguments, console, lambda client: client.history(arguments.limit))
    if arguments.format == "json":
        console.document({"entries": [document(attempt) for attempt in attempts]})
    else:
        console.result(history_text(attempts, console.style))
    return ExitCode.FINE


@command(
    ADMIN,
    formats("text", "json"),
    argument("--watch", action="store_true", help="keep showing it, every two seconds"),
)
def status(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Show what the Edge runs: its revision, its Nodes and providers, and what is pending until a restart.

    With --watch the state is shown until you stop it: in place on a terminal, elsewhere as a line for each change.

    Exit code 0 whatever the state is; 4: the Edge cannot be reached.
    """
    if arguments.watch:
        screen = Screen(console, arguments.format)

        async def watch(client: AdminClient) -> None:
            await until_stopped(follow(client.status, screen.show, _WATCH_SECONDS))

        ask(arguments, console, watch)
    else:
        show(ask(arguments, console, lambda client: client.status()), status_text, arguments.format, console)
    return ExitCode.FINE


class Screen:
    """Shows one state after another: in place, or as lines for those that differ from the one before."""

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
