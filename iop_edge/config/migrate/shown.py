"""A file as it may be printed: its own text without the secrets in it (CFG-08)."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from iop_edge.config.decode import Decoder, read_document
from iop_edge.config.events import Event, EventReader
from iop_edge.config.findings import Findings, Trail
from iop_edge.config.mappings import is_ignored
from iop_edge.config.migrate.edits import Change, Edit, edited
from iop_edge.config.migrate.nodes import Mapping, Node, Scalar, Sequence, Text, compose
from iop_edge.config.parsers import DEFAULT_PARSER
from iop_edge.config.plans import Slot, unhurried_plan_of
from iop_edge.config.scalars import is_null
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.config.texts import without_bom
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import ROOT
from iop_edge.schema.redact import is_secret, reveals
from iop_edge.schema.references import holds_reference
from iop_edge.schema.table import Field
from iop_edge.schema.values import REDACTED

_PROPERTIES: Final = re.compile(r"(?:[&!]\S*\s+)*")


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a file, and how many of its values are hidden."""

    text: str = field(repr=False)
    hidden: int


def shown(source: Source, limits: Limits = DEFAULT_LIMITS) -> Shown:
    """Return the text of a file that is one YAML document, with `<redacted>` for each value that may be a secret.

    What the loader reads no value of, as behind an unknown key, may be one. Comments are the writer's own.
    """
    text = Text(without_bom(source.data).decode())
    seen = _Seen(set(), set())
    read_document(source, Findings(), limits, DEFAULT_PARSER, partial(_Watcher, text=text, seen=seen))
    edits = [
        Edit(scalar.start + _properties(scalar, text), scalar.stop, json.dumps(REDACTED))
        for scalar, is_read in _root_values(compose(text))
        if scalar.start in seen.secret or (is_read and scalar.start not in seen.plain)
    ]
    return Shown(edited(text.text, [Change(tuple(edits), ROOT, "secrets")]) or "", len(edits))


@dataclass(frozen=True, slots=True)
class _Seen:
    """Where scalars begin that the loader reads: those that may be seen, and those that may not."""

    plain: set[int]
    secret: set[int]


class _Watcher(Decoder):
    """Notes which scalars may be seen while it decodes."""

    plan_of = staticmethod(unhurried_plan_of)

    def __init__(self, source: Source, events: EventReader, findings: Findings, *, text: Text, seen: _Seen) -> None:
        super().__init__(source, events, findings)
        self._text = text
        self._seen = seen

    def scalar_value(self, event: Event, slot: Slot, trail: Trail, *, plain: bool) -> Any:
        map_key = str(trail[1]) if trail is not None and trail[2] else ""
        seen = self._seen.secret if _may_be_secret(slot.field, event.value, map_key) else self._seen.plain
        seen.add(self._text.offset(event.start_mark))
        return super().scalar_value(event, slot, trail, plain=plain)


def _may_be_secret(field: Field, text: str, map_key: str) -> bool:
    if holds_reference(text):
        return reveals(field, text, map_key)
    return is_secret(field, text, map_key) or (field.masked and not has_format(field.format, text))


def _root_values(root: Node) -> Iterator[tuple[Scalar, bool]]:
    """Yield every scalar of a file that is no key, and whether it stands where the loader reads (CFG-12)."""
    for key, value in root.pairs if isinstance(root, Mapping) else ():
        is_read = not (isinstance(key, Scalar) and is_ignored(key.value))
        for scalar in _pair_values(key, value):
            yield scalar, is_read


def _values(node: Node) -> Iterator[Scalar]:
    """Yield every scalar in a node that is a value, and not null."""
    if isinstance(node, Scalar):
        if not is_null(node.value, node.style):
            yield node
    elif isinstance(node, Mapping):
        for key, value in node.pairs:
            yield from _pair_values(key, value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _values(item)


def _pair_values(key: Node, value: Node) -> Iterator[Scalar]:
    """Yield the values of a pair; what looks like a key that has run into its value is a value too."""
    is_null_value = isinstance(value, Scalar) and is_null(value.value, value.style)
    if isinstance(key, Scalar) and ":" in key.value and is_null_value:
        yield key
    yield from _values(value)


def _properties(scalar: Scalar, text: Text) -> int:
    """Return how many characters the anchor and the tag of a scalar take up before it."""
    match = None if scalar.is_bare else _PROPERTIES.match(text.text[scalar.start : scalar.stop])
    return match.end() if match else 0
