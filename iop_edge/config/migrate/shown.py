"""A file as it may be printed: its own text without the secrets in it (CFG-08)."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from iop_edge.config.mappings import is_ignored
from iop_edge.config.migrate.edits import Change, Edit, edited
from iop_edge.config.nodes import Document, Mapping, Node, Scalar, Sequence, compose
from iop_edge.config.roles import Roles
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
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
    document = compose(source, limits)
    roles = Roles(document)
    edits = [
        Edit(scalar.start + _properties(scalar, document), scalar.stop, json.dumps(REDACTED))
        for scalar, is_read in _root_values(document.node(0))
        if _is_hidden(roles.reads(scalar.number), scalar.value, is_read=is_read)
    ]
    return Shown(edited(document.text, [Change(tuple(edits), ROOT, "secrets")]) or "", len(edits))


def _is_hidden(reads: Iterable[tuple[Field, str]], text: str, *, is_read: bool) -> bool:
    return any(_may_be_secret(field, text, key) for field, key in reads) or (is_read and not reads)


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
        if not node.document.is_null(node.number):
            yield node
    elif isinstance(node, Mapping):
        for key, value in node.pairs:
            yield from _pair_values(key, value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _values(item)


def _pair_values(key: Node, value: Node) -> Iterator[Scalar]:
    """Yield the values of a pair; what looks like a key that has run into its value is a value too."""
    is_null_value = isinstance(value, Scalar) and value.document.is_null(value.number)
    if isinstance(key, Scalar) and ":" in key.value and is_null_value:
        yield key
    yield from _values(value)


def _properties(scalar: Scalar, text: Document) -> int:
    """Return how many characters the anchor and the tag of a scalar take up before it."""
    match = None if scalar.is_bare else _PROPERTIES.match(text.text[scalar.start : scalar.stop])
    return match.end() if match else 0
