"""Edits of a text, and groups of them that mean something only together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from iop_edge.config.nodes import Document, Mapping, Node
from iop_edge.schema.paths import Path


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Puts a text in place of the characters from `start` up to `stop`; nothing is replaced where they are equal."""

    start: int
    stop: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    """Edits that are made all or not at all: what they change stands at `path`, and `what` names it for people."""

    edits: tuple[Edit, ...]
    path: Path
    what: str


def edited(text: str, changes: Iterable[Change]) -> str | None:
    """Return the text with all changes made, or None where two of them disagree.

    The same edit twice is one edit: what is used in several places of a config is written, and changed, once. Edits at
    one place are made in the order of the changes.
    """
    distinct = dict.fromkeys(edit for change in changes for edit in change.edits)
    edits = sorted(distinct, key=lambda edit: (edit.start, edit.stop))
    pieces: list[str] = []
    position = 0
    for edit in edits:
        if edit.start < position:
            return None
        pieces += text[position : edit.start], edit.text
        position = edit.stop
    return "".join([*pieces, text[position:]])


def added_behind(value: Node, mapping: Mapping, lines: Iterable[str], text: Document, shift: int = 0) -> Edit:
    """Return the edit that adds fields to a mapping, behind a field of it with this value.

    Args:
        value: the value behind which they go.
        mapping: the mapping.
        lines: the fields.
        text: the text.
        shift: by how many columns other edits move the mapping to the right.
    """
    if mapping.is_flow:
        return Edit(value.stop, value.stop, "".join(f", {line}" for line in lines))
    indent = text.line_break + " " * (text.column(mapping.start) + shift)
    stop = text.line_stop(value.stop)
    return Edit(stop, stop, "".join(f"{indent}{line}" for line in lines))
