"""What is wrong with a config, for programs."""

from typing import Any

from iop_edge.errors import Report
from iop_edge.refresh.result import violation_as_json


def report_json(report: Report, *, ok: bool) -> dict[str, Any]:
    """Return a report as plain JSON values. `ok` is the verdict that the exit code comes from too."""
    return {
        "ok": ok,
        "violations": [violation_as_json(violation) for violation in report.violations],
        "warnings": [violation_as_json(warning) for warning in report.warnings],
        "total": report.total,
    }
