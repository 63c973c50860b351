"""What is wrong with a config: as text, as annotations of a GitHub workflow, and as SARIF 2.1.0 for code scanning."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from iop_edge.cli.console import PLAIN, Paint, Style
from iop_edge.cli.render.text import counted, printable
from iop_edge.errors import Excerpt, Report, Span, Violation, unlisted, violation_lines
from iop_edge.rules import Rule

_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_MEANINGS: Final[Mapping[str, str]] = {rule: rule.meaning for rule in Rule}


def report_text(report: Report, style: Style, *, ok: bool) -> str:
    """Return every violation and warning of a report, and the verdict.

    A violation is a line with its place, path, message and rule, then the source line with a caret.
    """
    lines = [
        *painted_violations(report.violations, report.excerpts, style),
        *unlisted(report.total, len(report.violations)),
        *painted_warnings(report.warnings, report.excerpts, style),
        verdict(report, style, ok=ok),
    ]
    return "\n".join(lines)


def painted_violations(
    violations: Iterable[Violation], excerpts: Mapping[Span, Excerpt], style: Style
) -> Iterator[str]:
    """Yield the lines of violations."""
    return _painted(violations, excerpts, "", Paint.BAD, style)


def painted_warnings(warnings: Iterable[Violation], excerpts: Mapping[Span, Excerpt], style: Style) -> Iterator[str]:
    """Yield the lines of warnings."""
    return _painted(warnings, excerpts, "warning: ", Paint.CAUTION, style)


def verdict(report: Report, style: Style, *, ok: bool) -> str:
    """Return whether a config is valid, and the number of violations and warnings, listed or not."""
    word = style.paint("valid", Paint.GOOD) if ok else style.paint("not valid", Paint.BAD)
    counts = [counted(report.total, "violation")] if report.total else []
    counts += [counted(len(report.warnings), "warning")] if report.warnings else []
    return ", ".join([word, *counts])


def _painted(
    violations: Iterable[Violation], excerpts: Mapping[Span, Excerpt], kind: str, paint: Paint, style: Style
) -> Iterator[str]:
    def line(violation: Violation) -> str:
        place = style.paint(f"{printable(str(violation.span))}:", Paint.PLACE) + " " if violation.span else ""
        rule = style.paint(f"[{violation.rule}]", Paint.FAINT)
        return f"{place}{style.paint(kind, paint)}{printable(violation.text)} {rule}"

    return violation_lines(violations, excerpts, line, style.paint("^", paint))


def report_github(report: Report, *, ok: bool) -> str:
    """Return a workflow command for each finding and, for the log, the verdict."""
    errors = [_command("error", violation) for violation in report.violations]
    warnings = [_command("warning", warning) for warning in report.warnings]
    more = [f"::error::{line}" for line in unlisted(report.total, len(report.violations))]
    return "\n".join([*errors, *more, *warnings, verdict(report, PLAIN, ok=ok)])


def _command(level: str, violation: Violation) -> str:
    properties = {"title": violation.rule}
    if violation.span is not None:
        properties |= {"file": violation.span.file}
        if violation.span.line:
            properties |= {"line": str(violation.span.line), "col": str(violation.span.column)}
    rendered = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {rendered}::{_data(violation.text)}"


def _data(text: str) -> str:
    lines = text.replace("%", "%25").replace("\r", "").split("\n")
    return "%0A".join(printable(line) for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def report_sarif(report: Report, version: str) -> dict[str, Any]:
    """Return the log of one run of a version of the program."""
    rules = sorted({finding.rule for finding in (*report.violations, *report.warnings)})
    driver = {"name": "iop-edge", "version": version, "rules": [_rule(rule) for rule in rules]}
    results = [
        *(_result("error", violation, rules) for violation in report.violations),
        *(_result("warning", warning, rules) for warning in report.warnings),
    ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
        # The list of violations is bounded; this is their true number.
        "properties": {"total": report.total},
    }
    return {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: str) -> dict[str, Any]:
    return {"id": rule, "shortDescription": {"text": _MEANINGS[rule]}}


def _result(level: str, finding: Violation, rules: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": level,
        "message": {"text": finding.text},
    }
    if finding.span is not None:
        result["locations"] = [_location(finding)]
    return result


def _location(finding: Violation) -> dict[str, Any]:
    assert finding.span is not None
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.span.file)}}
    if finding.span.line:
        physical["region"] = {"startLine": finding.span.line, "startColumn": finding.span.column}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.path}]
    return location


def _uri(file: str) -> str:
    path = quote(file, errors="surrogateescape")
    return f"file://{path}" if path.startswith("/") else path
