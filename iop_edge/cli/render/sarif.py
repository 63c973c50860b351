"""What is wrong with a config, as a SARIF 2.1.0 log for code scanning."""

from typing import Any, Final
from urllib.parse import quote

from iop_edge.errors import Report, Violation
from iop_edge.rules import Rule

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_MEANINGS: Final[dict[str, str]] = {rule: rule.meaning for rule in Rule}


def report_sarif(report: Report, version: str) -> dict[str, Any]:
    """Return the log of one run of the given version of the program."""
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
        # At most so many violations are listed; the true number is here.
        "properties": {"total": report.total},
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: str) -> dict[str, Any]:
    return {"id": rule, "shortDescription": {"text": _MEANINGS[rule]}}


def _result(level: str, finding: Violation, rules: list[str]) -> dict[str, Any]:
    hint = f" ({finding.hint})" if finding.hint else ""
    path = f"{finding.path}: " if finding.path else ""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": level,
        "message": {"text": f"{path}{finding.message}{hint}"},
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
