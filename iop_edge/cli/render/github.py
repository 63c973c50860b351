"""What is wrong with a config, as annotations of a GitHub workflow."""

from iop_edge.cli.render.report import verdict
from iop_edge.cli.render.text import printable
from iop_edge.cli.style import PLAIN
from iop_edge.errors import Report, Violation


def report_github(report: Report, *, ok: bool) -> str:
    """Return one workflow command a finding, and, for the log, the verdict that the exit code comes from too."""
    errors = [_command("error", violation) for violation in report.violations]
    warnings = [_command("warning", warning) for warning in report.warnings]
    unlisted = report.total - len(report.violations)
    more = [f"::error::and {unlisted} more"] if unlisted else []
    return "\n".join([*errors, *more, *warnings, verdict(report, PLAIN, ok=ok)])


def _command(level: str, violation: Violation) -> str:
    properties = {"title": violation.rule}
    if violation.span is not None:
        properties |= {"file": violation.span.file}
        if violation.span.line:
            properties |= {"line": str(violation.span.line), "col": str(violation.span.column)}
    rendered = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    path = f"{violation.path}: " if violation.path else ""
    hint = f" ({violation.hint})" if violation.hint else ""
    return f"::{level} {rendered}::{_data(path + violation.message + hint)}"


def _data(text: str) -> str:
    lines = text.replace("%", "%25").replace("\r", "").split("\n")
    return "%0A".join(printable(line) for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
