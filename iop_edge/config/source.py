"""What a load is given, named bytes and bounds on what they may cost, and what comes of reading them."""

from dataclasses import dataclass, field
from typing import Final

from iop_edge.config.findings import Finding
from iop_edge.schema.table import Field
from iop_edge.schema.values import Tree


@dataclass(frozen=True, slots=True)
class Source:
    """One layer of a config.

    `name` is what reports call it. `private` marks an overlay that may hold raw secrets (CFG-05, CFG-07). `base_dir` is
    the directory that its file references are relative to.
    """

    name: str
    data: bytes = field(repr=False)
    private: bool = False
    base_dir: str = "."


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a load (CFG-10).

    `max_layers` bounds how many files there are, `max_bytes` each of them, `max_depth` the nesting of its mappings and
    lists, and `max_recorded` how many parser events may stand below anchors, since those are kept for the aliases to
    come.
    """

    max_layers: int = 1000
    max_bytes: int = 256 * 1024 * 1024
    max_depth: int = 64
    max_recorded: int = 1_000_000


DEFAULT_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file as a tree, and what is wrong with it.

    `tree` is None where the file cannot be read to its end; `findings` is in order of position, and `total` counts
    those too that it does not list. `referring` has the fields in which references, or escaped dollar signs, stand.
    """

    source: Source
    tree: Tree | None = field(repr=False)
    findings: list[Finding]
    total: int
    referring: frozenset[Field]
