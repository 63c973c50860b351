"""Which rules of the contract the tests prove: the ids stand in docs/contract.md, the proofs in `contract` marks."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

CONTRACT = Path(__file__).resolve().parent.parent / "docs" / "contract.md"

_ID = re.compile(r"^[^\w\n]*([A-Z]{3}-\d{2})\b", re.MULTILINE)


def rule_ids() -> tuple[str, ...]:
    """Return the ids that the contract's lines begin with, in its order; each once."""
    return tuple(dict.fromkeys(_ID.findall(CONTRACT.read_text(encoding="utf-8"))))


def proofs(items: Iterable[pytest.Item], mark: str) -> Counter[str]:
    """Return how many tests carry each id in a mark."""
    return Counter(
        str(rule) for item in items for rule in {rule for found in item.iter_markers(mark) for rule in found.args}
    )


def report(rules: tuple[str, ...], counted: Counter[str]) -> list[str]:
    """Return the lines of the coverage listing."""
    unproved = [rule for rule in rules if not counted[rule]]
    lines = [f"{rule}  {counted[rule]:5d}" for rule in rules]
    summary = f"{len(rules) - len(unproved)} of {len(rules)} rules have a test"
    return [*lines, summary if not unproved else f"{summary}; without: {', '.join(unproved)}"]
