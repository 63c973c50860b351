"""The result of a refresh, and past attempts, for people."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from iop_edge.cli.console import Paint, Style
from iop_edge.cli.render.report import painted_violations, painted_warnings
from iop_edge.cli.render.text import NO_NUMBER, counted, printable, shortened, table, value_text
from iop_edge.errors import unlisted
from iop_edge.refresh.result import Attempt, Change, ChangeKind, Mode, NodeOutcome, NodeReport, RefreshResult, Status
from iop_edge.schema.explain import explain
from iop_edge.schema.table import RefreshClass

_SIGNS: Final = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.MODIFIED: "~"}
_STATUS_PAINT: Final = {Status.APPLIED: Paint.GOOD, Status.RESTART_REQUIRED: Paint.CAUTION, Status.REJECTED: Paint.BAD}
_CLASS_PAINT: Final = {RefreshClass.LIVE: Paint.GOOD, RefreshClass.RESTART: Paint.CAUTION}
_LONGEST_VALUE: Final = 120
_HISTORY_HEADER: Final = ("ID", "TIME", "ACTOR", "TRIGGER", "STATUS", "COMMITTED", "REVISION", "CHANGED")
_GOOD_OUTCOMES: Final = frozenset({NodeOutcome.CHECKED, NodeOutcome.COMMITTED, NodeOutcome.UNCHANGED})


def refresh_text(result: RefreshResult, style: Style) -> str:
    """Return the result of a refresh of a running Edge."""
    return "\n".join([_headline(result, style), *_body(result, style)])


def diff_text(result: RefreshResult, style: Style) -> str:
    """Return the result of comparing two configs without an Edge."""
    return "\n".join([_comparison(result, style), *_body(result, style)])


def change_lines(changes: Iterable[Change], style: Style) -> Iterator[str]:
    """Yield a line for each change: its class, a sign, its path, and its values where they may be shown."""
    for change in changes:
        refresh_class = style.paint(f"{change.refresh_class.value:7}", _CLASS_PAINT[change.refresh_class])
        yield f"  {refresh_class}  {_SIGNS[change.kind]} {printable(change.path)}{_values(change)}"


def _values(change: Change) -> str:
    if change.kind is ChangeKind.ADDED:
        return f": {shortened(value_text(change.after), _LONGEST_VALUE)}"
    if change.kind is ChangeKind.REMOVED:
        return ""
    if change.before is None and change.after is None:
        return ": changed, not shown"
    if change.before == change.after:
        return f": {shortened(value_text(change.after), _LONGEST_VALUE)}, whose value has changed"
    absent = "(not shown)" if explain(change.path).sensitive else "unset"
    before, after = (
        absent if value is None else shortened(value_text(value), _LONGEST_VALUE)
        for value in (change.before, change.after)
    )
    return f": {before} -> {after}"


def _headline(result: RefreshResult, style: Style) -> str:
    status = style.paint(str(result.status).replace("_", " "), _STATUS_PAINT[result.status])
    mode = " (dry run)" if result.mode is Mode.DRY_RUN else ""
    if result.committed:
        revision = f"revision {result.revision_before} -> {result.revision_after}"
    else:
        revision = f"revision {result.revision_before} stays"
    return f"{status}{mode}: {_amount(result)}; {revision}"


def _comparison(result: RefreshResult, style: Style) -> str:
    if result.status is not Status.REJECTED and not result.changes:
        return style.paint("no difference", Paint.GOOD)
    words = {
        Status.APPLIED: "live changes only",
        Status.RESTART_REQUIRED: "restart required",
        Status.REJECTED: "rejected",
    }
    return f"{style.paint(words[result.status], _STATUS_PAINT[result.status])}: {_amount(result)}"


def _amount(result: RefreshResult) -> str:
    if result.violations:
        return counted(result.violations_total, "violation")
    restart = sum(change.refresh_class is RefreshClass.RESTART for change in result.changes)
    live = len(result.changes) - restart
    parts = [counted(live, "live change")] if live else []
    parts += [counted(restart, "restart change")] if restart else []
    return ", ".join(parts) or "no change"


def _body(result: RefreshResult, style: Style) -> Iterator[str]:
    if result.candidate_hash:
        yield style.paint(f"  candidate {result.candidate_hash}", Paint.FAINT)
    yield from painted_violations(result.violations, {}, style)
    yield from unlisted(result.violations_total, len(result.violations))
    yield from painted_warnings(result.warnings, {}, style)
    yield from change_lines(result.changes, style)
    if result.pending and result.pending != result.changes:
        yield "pending until a restart:"
        yield from change_lines(result.pending, style)
    if result.reports:
        rows = [_report(report, result.mode) for report in result.reports]
        yield from table(("NODE", "OUTCOME", "GENERATION", "REASON"), rows, style)


def _report(report: NodeReport, mode: Mode) -> tuple[str, tuple[str, Paint], str, str]:
    paint = Paint.GOOD if report.outcome in _GOOD_OUTCOMES else Paint.BAD
    generation = str(report.generation) if report.generation else NO_NUMBER
    outcome = str(report.outcome).replace("_", " ")
    if report.outcome is NodeOutcome.CHECKED and mode is Mode.DRY_RUN:
        outcome = "would commit"
    return report.node_id, (outcome, paint), generation, report.reason


def history_text(attempts: Sequence[Attempt], style: Style) -> str:
    """Return the attempts as a table."""
    return "\n".join(table(_HISTORY_HEADER, [_attempt(attempt) for attempt in attempts], style))


def utc(at_ms: int) -> str:
    """Return a time of day in UTC."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"


def _attempt(attempt: Attempt) -> tuple[str, ...]:
    before, after = attempt.revision_before, attempt.revision_after
    return (
        str(attempt.id),
        utc(attempt.at_ms),
        attempt.actor or "-",
        str(attempt.trigger),
        str(attempt.status).replace("_", " "),
        "yes" if attempt.committed else "no",
        str(after) if before == after else f"{before} -> {after}",
        _paths(attempt.paths),
    )


def _paths(paths: tuple[str, ...]) -> str:
    if not paths:
        return "-"
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
