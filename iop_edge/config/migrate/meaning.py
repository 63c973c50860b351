"""What a file means, whatever its spelling: two texts that mean the same differ only in how they are written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from iop_edge.config import layers
from iop_edge.config.layers import Layer
from iop_edge.config.normalize import normalize
from iop_edge.config.positions import Moves
from iop_edge.config.problems import Problems
from iop_edge.config.resolve import resolve
from iop_edge.config.source import Decoded
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.table import Kind, Message
from iop_edge.schema.values import ReadTree, Tree

LEGACY: str = "field.legacy"
"""The rule of the keys that are refused, and removed by a migration."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A file as it is written and as it is normalized, references unresolved.

    `moves` says which adapter instances were made of providers' fields, `broken` which rules normalizing found broken,
    and `faults` counts what decoding found wrong, without legacy keys.
    """

    written: Tree = field(repr=False)
    normalized: Tree = field(repr=False)
    moves: Moves
    broken: frozenset[str]
    faults: int

    def equals(self, other: "Meaning") -> bool:
        """Tell whether another file means the same, and has no fault of its own."""
        return self.faults <= other.faults and self.normalized == other.normalized


def meaning_of(decoded: Decoded) -> Meaning | None:
    """Return what a decoded file means, or None where it could not be read to its end."""
    if decoded.tree is None:
        return None
    problems = Problems()
    written = layers.merge([Layer(decoded.tree, decoded.source.private)], table.root(), problems)
    normalized, moves = normalize(resolve(written, table.root(), None, problems).tree, problems)
    legacy = sum(finding.rule == LEGACY for finding in decoded.findings)
    broken = frozenset(problem.rule for problem in problems.kept)
    return Meaning(written, normalized, moves, broken, decoded.total - legacy)


def aliased_words(tree: ReadTree, message: Message | None = None, path: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield every word of an enum that is written as an alias, with its path."""
    for name, entry in (message or table.root()).fields.items():
        value = tree.get(name)
        here = path.child(name)
        if entry.kind is Kind.ENUM:
            if isinstance(value, str) and value in entry.enum().aliases:
                yield here, value
        elif entry.kind is Kind.MESSAGE:
            for item, place in _messages(value, here):
                yield from aliased_words(item, entry.message(), place)


def _messages(value: Any, path: Path) -> Iterator[tuple[Tree, Path]]:
    """Yield a message, or those of a list, with their paths; a mark in the place of one is none."""
    if isinstance(value, dict):
        yield value, path
    elif isinstance(value, list):
        yield from ((item, path.index(index)) for index, item in enumerate(value) if isinstance(item, dict))
