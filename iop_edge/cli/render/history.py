"""What was tried on an Edge."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from iop_edge.cli.render.text import table
from iop_edge.cli.style import Style
from iop_edge.documents import document
from iop_edge.refresh.result import Attempt

_HEADER = ("ID", "TIME", "ACTOR", "TRIGGER", "STATUS", "COMMITTED", "REVISION", "CHANGED")


def history_text(attempts: Sequence[Attempt], style: Style) -> str:
    """Return the attempts as a table."""
    return "\n".join(table(_HEADER, [_row(attempt) for attempt in attempts], style))


def history_json(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """Return the attempts as plain JSON values."""
    return {"entries": [document(attempt) for attempt in attempts]}


def utc(at_ms: int) -> str:
    """Return a time as people read it."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"


def _row(attempt: Attempt) -> tuple[str, ...]:
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
