"""The pages of the project: they lead somewhere, and speak of what there is."""

import re
from pathlib import Path

import pytest

from tests.contract import rule_ids
from tests.support import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
CITED = re.compile(r"\b(?:CFG|NRM|VAL|REF|PAY|PSH|POL)-\d{2}\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_every_decision_is_listed() -> None:
    decisions = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\(([^)]+)\)", (decisions / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in decisions.glob("*.md") if path.name != "README.md")


def test_every_example_is_described() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in (ROOT / "examples").glob("*.yaml") if f"[{path.name}]" not in page] == []


def test_every_contract_rule_that_is_cited_exists() -> None:
    sources = [path for top in ("iop_edge", "tests") for path in (ROOT / top).rglob("*.py")]
    cited = {rule for path in sources for rule in CITED.findall(path.read_text(encoding="utf-8"))}
    assert cited - set(rule_ids()) == set()
