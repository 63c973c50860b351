"""A config file with what the schema says of each field above it."""

import textwrap
from typing import Final

from iop_edge.config.migrate.edits import Change, Edit, edited
from iop_edge.config.migrate.walk import Place, places
from iop_edge.config.nodes import Document, Scalar, compose
from iop_edge.config.source import Source
from iop_edge.schema.explain import explain
from iop_edge.schema.paths import ROOT

_WIDTH: Final = 100


def documented(text: str) -> str:
    """Return a valid config with a comment above the first appearance of each field in block style."""
    whole = compose(Source("", text.encode()))
    told: set[str] = set()
    edits: list[Edit] = []
    for place in places(whole.node(0)):
        for key, _ in place.node.fields if not place.node.is_flow else ():
            comment = _comment(place, key, whole)
            if comment not in told:
                told.add(comment)
                line = whole.line_start(key.start)
                edits.append(Edit(line, line, comment))
    return edited(text, [Change(tuple(edits), ROOT, "comments")]) or text


def _comment(place: Place, key: Scalar, text: Document) -> str:
    explanation = explain(str(place.path.child(place.field(key))))
    words = f" One of: {', '.join(word.word for word in explanation.words)}." if explanation.words else ""
    line = text.text[text.line_start(key.start) :]
    indent = " " * (len(line) - len(line.lstrip(" ")))
    wrapped = textwrap.wrap(explanation.doc + words, _WIDTH - len(indent))
    return "".join(f"{indent}# {each}{text.line_break}" for each in wrapped)
