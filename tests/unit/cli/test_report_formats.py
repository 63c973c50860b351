"""What the formats of `config check` have in common, and what their readers rely on."""

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from iop_edge.errors import MAX_LISTED
from iop_pb.iop.admin.v1 import CheckReport, Violation
from tests import sarif
from tests.support import EXAMPLES
from tests.unit.cli.invoke import invoke

FORMATS = ("text", "json", "github", "sarif")
REJECTED = str(EXAMPLES / "edge.rejected.yaml")
VALID = "edge: {id: e}\n"
WARNED = VALID + (
    "nodes:\n  - id: n\n    address: 127.0.0.1:1\n    adapters:\n"
    "      - {name: unused, type: ollama, base_url: http://127.0.0.1:2}\n"
)
BROKEN = "edge: {id: é b}\n" + "".join(f"unknown_{number}: 1\n" for number in range(MAX_LISTED + 234))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, made the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(form: str, text: str, name: str = "edge.yaml") -> str:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return invoke("config", "check", name, "--format", form).out


def total_told(form: str, out: str) -> int:
    if form == "json":
        return int(json.loads(out)["total"])
    if form == "sarif":
        return int(json.loads(out)["runs"][0]["properties"]["total"])
    match = re.search(r"^not valid, (\d+) violations?\b", out, re.MULTILINE)
    return int(match[1]) if match else 0


def listed(form: str, out: str) -> int:
    if form == "json":
        return len(json.loads(out)["violations"])
    if form == "sarif":
        return len(json.loads(out)["runs"][0]["results"])
    marks = {"text": r"^edge\.yaml:\d+:\d+: ", "github": r"^::error title=[a-z_.]+,file="}
    return len(re.findall(marks[form], out, re.MULTILINE))


@pytest.mark.usefixtures("here")
@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize("form", FORMATS)
def test_at_most_a_thousand_are_listed_and_the_total_is_told(form: str) -> None:
    out = check(form, BROKEN)
    assert (listed(form, out), total_told(form, out)) == (MAX_LISTED, MAX_LISTED + 235)


@pytest.mark.usefixtures("here")
@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("text", "total"), [(VALID, 0), (WARNED, 0), (VALID + "unknown: 1\n", 1)])
def test_total_is_told_where_all_are_listed(form: str, text: str, total: int) -> None:
    assert total_told(form, check(form, text)) == total


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("text", [VALID, WARNED, BROKEN, "edge: [", ""])
def test_json_is_the_message_of_the_proto(text: str) -> None:
    report = json.loads(check("json", text))
    message = CheckReport.from_dict(report)
    assert message == CheckReport(
        ok=report["ok"],
        violations=[Violation(**violation) for violation in report["violations"]],
        warnings=[Violation(**warning) for warning in report["warnings"]],
        total=report["total"],
    )
    assert set(report) == {field.name for field in _fields(CheckReport)}
    for found in (*report["violations"], *report["warnings"]):
        assert set(found) == {field.name for field in _fields(Violation)}


def _fields(message: type) -> Any:
    return message.__dataclass_fields__.values()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("text", [VALID, WARNED, BROKEN, "edge: [", ""])
@pytest.mark.parametrize("name", ["edge.yaml", "a b,é%41.yaml", "a:b.yaml"])
def test_sarif_has_the_standards_form(text: str, name: str) -> None:
    log = json.loads(check("sarif", text, name))
    jsonschema.Draft202012Validator(sarif.LOG).validate(log)
    for result in log["runs"][0]["results"]:
        assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_says_where_each_marked_violation_of_the_example_stands() -> None:
    log = json.loads(invoke("config", "check", REJECTED, "--format", "sarif").out)
    jsonschema.Draft202012Validator(sarif.LOG).validate(log)
    report = json.loads(invoke("config", "check", REJECTED, "--format", "json").out)
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in log["runs"][0]["results"]]
    assert [(region["startLine"], region["startColumn"]) for region in regions] == [
        (violation["line"], violation["column"]) for violation in report["violations"]
    ]


@pytest.mark.parametrize(
    ("name", "uri"),
    [("a b.yaml", "a%20b.yaml"), ("a:b.yaml", "a%3Ab.yaml"), ("ü.yaml", "%C3%BC.yaml"), ("d/e.yaml", "d/e.yaml")],
)
def test_sarif_names_a_file_by_a_relative_uri(here: Path, name: str, uri: str) -> None:
    (here / "d").mkdir()
    assert _uri(check("sarif", "edge: [", name)) == uri


def test_sarif_names_a_file_by_its_absolute_uri(here: Path) -> None:
    path = here / "a b.yaml"
    assert _uri(check("sarif", "edge: [", str(path))) == path.as_uri()


@pytest.mark.usefixtures("here")
def test_sarif_takes_a_name_that_is_not_utf_8() -> None:
    assert _uri(check("sarif", "edge: [", os.fsdecode(b"\xff.yaml"))) == "%FF.yaml"


def _uri(out: str) -> str:
    location = json.loads(out)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    return str(location["uri"])
