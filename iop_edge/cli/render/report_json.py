"""What is wrong with a config, for programs."""

from typing import Any

from iop_edge.documents import document
from iop_edge.errors import Report


def report_json(report: Report, *, ok: bool) -> dict[str, Any]:
    """Return a report as plain JSON values. `ok` is the verdict that the exit code comes from too."""
    return {"ok": ok, **document(report, without="excerpts")}
