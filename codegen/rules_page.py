"""Writes `docs/rules.md`: the rules that errors and warnings name."""

from collections.abc import Iterator
from typing import Final

from iop_edge.rules import Rule

_HEADER = (
    "<!-- Generated from iop_edge/rules.py. DO NOT EDIT! -->",
    "",
    "# Rules",
    "",
    "The ids that errors and warnings carry. Ids are stable: tools may depend on them. Messages are for people and may",
    "change. The last column names the rules of the [contract](contract.md) behind each id.",
)

_HEAD = ("| rule | severity | meaning | contract |", "|---|---|---|---|")
_SECTIONS: Final = {
    Rule.FILE_MISSING: "YAML files",
    Rule.FIELD_DUPLICATE: "Fields",
    Rule.VALUE_ADDRESS: "Values",
    Rule.CREDENTIAL_TRACKED: "Layers, references and secrets",
    Rule.ADAPTER_LABEL: "The config as a whole",
    Rule.MIGRATE_KEPT: "Migrations",
    Rule.NODE_REJECTED: "Refreshes",
    Rule.NODE_ADAPTER: "Rejections by a Node",
}
"""The titles of the page's sections, by the rule that each begins with."""


def render() -> str:
    """Return the page's text."""
    return "\n".join([*_HEADER, *_lines()]) + "\n"


def _lines() -> Iterator[str]:
    for rule in Rule:
        if rule in _SECTIONS:
            yield from ("", f"## {_SECTIONS[rule]}", "", *_HEAD)
        yield f"| `{rule}` | {rule.severity} | {rule.meaning} | {', '.join(rule.contract)} |"
