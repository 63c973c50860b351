"""docs/rules.md has every rule id of the code, and no other."""

import ast
import re
from collections import Counter

import pytest

from tests.contract import rule_ids
from tests.support import ROOT

PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z_]+\.[a-z0-9_]+)` \| (.+) \|$", PAGE, re.MULTILINE)

RULE = re.compile(r"[a-z_]+\.[a-z0-9_]+")
FILE_ENDINGS = frozenset({"yaml", "sock", "sqlite3", "lock", "json", "py"})


def ids_in_the_code() -> set[str]:
    """Return the texts of the code that have the form of a rule id and name neither a file nor a module."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "iop_edge").rglob("*.py")]
    texts = {
        node.value
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and RULE.fullmatch(node.value)
    }
    return {text for text in texts if text.rpartition(".")[2] not in FILE_ENDINGS and not text.startswith("iop_edge.")}


def test_the_page_has_every_rule_of_the_code() -> None:
    assert ids_in_the_code() - {rule for rule, _ in ROWS} == set()


def test_the_page_has_no_rule_that_the_code_has_not() -> None:
    assert {rule for rule, _ in ROWS} - ids_in_the_code() == set()


def test_a_rule_stands_on_the_page_once() -> None:
    assert [rule for rule, count in Counter(rule for rule, _ in ROWS).items() if count > 1] == []


def test_the_page_cites_rules_of_the_contract_only() -> None:
    assert set(re.findall(r"\b[A-Z]{3}-\d{2}\b", PAGE)) - set(rule_ids()) == set()


def test_every_rule_that_the_rejected_example_announces_is_on_the_page() -> None:
    text = (ROOT / "examples" / "edge.rejected.yaml").read_text(encoding="utf-8")
    announced = set(re.findall(r"# ! ([a-z_]+\.[a-z0-9_]+)", text))
    assert announced
    assert announced - {rule for rule, _ in ROWS} == set()


@pytest.mark.parametrize(("rule", "meaning"), ROWS)
def test_a_rule_is_explained(rule: str, meaning: str) -> None:
    assert len(meaning.split()) >= 3, rule
