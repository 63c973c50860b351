"""What the schema says of a field, for `config explain`."""

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from iop_edge.cli.console import Paint, Style
from iop_edge.cli.render.text import table
from iop_edge.documents import document
from iop_edge.schema.explain import Explanation
from iop_edge.schema.table import RefreshClass

_WIDTH: Final = 88


def explanation_text(explanation: Explanation, style: Style) -> str:
    """Return an explanation for people."""
    lines = [style.paint(explanation.path or "(the whole config)", Paint.PLACE)]
    lines += textwrap.wrap(explanation.doc, _WIDTH, initial_indent="  ", subsequent_indent="  ")
    lines += ["", *(line for name, value in _facts(explanation) for line in _fact(name, value))]
    if explanation.words:
        rows = [(word.word, " ".join(word.aliases), word.doc) for word in explanation.words]
        lines += ["", *_indented(table(("WORD", "ALIASES", "MEANING"), rows, style))]
    if explanation.children:
        children = [
            (child.name, child.type, _class_word(child.refresh), _first_sentence(child.doc))
            for child in explanation.children
        ]
        lines += ["", *_indented(table(("FIELD", "TYPE", "REFRESH", "MEANING"), children, style))]
    return "\n".join(lines)


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return an explanation as plain JSON values; a field without a refresh class has an empty one."""
    shown = document(explanation)
    for item in (shown, *shown["children"]):
        item["refresh"] = item["refresh"] or ""
    return shown


def _facts(explanation: Explanation) -> Iterator[tuple[str, str]]:
    yield "type", explanation.type
    if explanation.default is not None:
        condition = f" (where {explanation.default_if} is true)" if explanation.default_if else ""
        yield "default", f"{explanation.default or 'the empty text'}{condition}"
    for constraint in explanation.constraints:
        yield "constraint", constraint
    for form in explanation.forms:
        yield "written", form
    for spelling in explanation.spellings:
        yield "also read as", spelling
    if explanation.refresh is not None:
        yield "refresh", _class_word(explanation.refresh)
    if explanation.sensitive:
        yield "sensitive", "never shown; in a tracked file only as a reference"
        if explanation.harmless_keys:
            yield "", f"but not under {', '.join(explanation.harmless_keys)}"
    if explanation.type != "" and not explanation.children:
        yield "reference", "allowed" if explanation.takes_references else "not allowed"


def _fact(name: str, value: str) -> list[str]:
    return textwrap.wrap(value, _WIDTH, initial_indent=f"  {name:12} ", subsequent_indent=" " * 15)


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _class_word(refresh: RefreshClass | None) -> str:
    return refresh.value if refresh else ""


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")
