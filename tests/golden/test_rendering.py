import pytest

from iop_edge.cli.console import PLAIN, Style
from iop_edge.cli.render.explain import explanation_json, explanation_text
from iop_edge.cli.render.report import report_github, report_sarif, report_text
from iop_edge.cli.render.result import diff_text, history_text, refresh_text
from iop_edge.cli.render.status import status_text
from iop_edge.client.status import StatusSnapshot
from iop_edge.documents import document, json_text
from iop_edge.errors import Report
from iop_edge.refresh.result import Attempt, RefreshResult
from iop_edge.schema.explain import explain
from tests.golden import samples
from tests.golden.compare import assert_golden

COLOURED = Style(coloured=True)

REPORTS = {"violations": samples.VIOLATIONS, "warnings": samples.WARNINGS, "valid": Report(), "many": samples.MANY}


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(("name", "report"), REPORTS.items())
def test_report(name: str, report: Report) -> None:
    assert_golden(f"report-{name}.txt", report_text(report, PLAIN, ok=report.ok))
    assert_golden(f"report-{name}.json", json_text({"ok": report.ok, **document(report, without="excerpts")}))
    assert_golden(f"report-{name}.github.txt", report_github(report, ok=report.ok))
    assert_golden(f"report-{name}.sarif.json", json_text(report_sarif(report, "1.2.3")))


def test_report_in_colour() -> None:
    assert_golden("report-colour.txt", report_text(samples.VIOLATIONS, COLOURED, ok=False))


@pytest.mark.contract("REF-06")
@pytest.mark.parametrize(("name", "result"), samples.RESULTS.items())
def test_refresh_result(name: str, result: RefreshResult) -> None:
    assert_golden(f"refresh-{name}.txt", refresh_text(result, PLAIN))
    assert_golden(f"refresh-{name}.json", json_text(document(result)))


@pytest.mark.parametrize(("name", "result"), samples.COMPARISONS.items())
def test_diff(name: str, result: RefreshResult) -> None:
    assert_golden(f"diff-{name}.txt", diff_text(result, PLAIN))


@pytest.mark.contract("POL-04")
@pytest.mark.parametrize(("name", "status"), {"quiet": samples.QUIET, "troubled": samples.TROUBLED}.items())
def test_status(name: str, status: StatusSnapshot) -> None:
    assert_golden(f"status-{name}.txt", status_text(status, PLAIN))
    assert_golden(f"status-{name}.json", json_text(document(status)))


@pytest.mark.parametrize(("name", "attempts"), {"some": samples.ATTEMPTS, "none": ()}.items())
def test_history(name: str, attempts: tuple[Attempt, ...]) -> None:
    assert_golden(f"history-{name}.txt", history_text(attempts, PLAIN))
    assert_golden(f"history-{name}.json", json_text({"entries": [document(attempt) for attempt in attempts]}))


@pytest.mark.contract("CFG-09")
@pytest.mark.parametrize(
    "path",
    [
        "nodes[].providers[].capacity",
        "nodes[].adapters[].headers",
        "nodes[].adapters[].type",
        "openai.provider_auth",
        "models[].providers",
    ],
)
def test_explanation(path: str) -> None:
    explanation = explain(path)
    name = path.replace("[]", "")
    assert_golden(f"explain-{name}.txt", explanation_text(explanation, PLAIN))
    assert_golden(f"explain-{name}.json", json_text(explanation_json(explanation)))
