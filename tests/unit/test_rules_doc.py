"""Rule ids: the code uses every one of the registry and no other, and docs/rules.md lists them."""

import ast
import re

import pytest

from codegen import rules_page
from iop_edge.rules import Rule
from tests.contract import rule_ids
from tests.support import ROOT

RULE = re.compile(r"[a-z_]+\.[a-z0-9_]+")
FILE_ENDINGS = frozenset({"yaml", "sock", "sqlite3", "lock", "json", "py"})


def ids_in_the_code() -> set[str]:
    """Return the members of `Rule` that the code names, and its texts that look like an id but not like a file."""
    found: set[str] = set()
    for path in (ROOT / "iop_edge").rglob("*.py"):
        if path.name == "rules.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Rule":
                found.add(Rule[node.attr])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and RULE.fullmatch(node.value):
                found.add(node.value)
    return {text for text in found if text.rpartition(".")[2] not in FILE_ENDINGS and not text.startswith("iop_edge.")}


def test_the_code_uses_the_rules_of_the_registry() -> None:
    assert ids_in_the_code() == set(Rule)


def test_page_is_generated_from_the_registry() -> None:
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == rules_page.render()


def test_every_rule_that_the_rejected_example_announces_is_an_error() -> None:
    text = (ROOT / "examples" / "edge.rejected.yaml").read_text(encoding="utf-8")
    announced = set(re.findall(r"# ! ([a-z_]+\.[a-z0-9_]+)", text))
    assert announced
    assert announced <= {rule for rule in Rule if rule.severity == "error"}


@pytest.mark.parametrize("rule", Rule)
def test_rule_is_explained_in_a_sentence_and_cites_the_contract(rule: Rule) -> None:
    assert rule.meaning.endswith(".")
    assert len(rule.meaning.split()) >= 3
    assert set(rule.contract) <= set(rule_ids())
    assert rule.name == rule.value.replace(".", "_").upper()
