"""What comes of reading one file."""

from dataclasses import dataclass, field

from iop_edge.config.findings import Finding
from iop_edge.config.source import Source
from iop_edge.schema.values import Tree


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file as a tree, and what is wrong with it.

    `tree` is None where the file cannot be read to its end; `findings` is in order of position, and `total` counts
    those too that it does not list.
    """

    source: Source
    tree: Tree | None = field(repr=False)
    findings: list[Finding]
    total: int
