"""The one way from the bytes of config files to a snapshot."""

from collections.abc import Sequence

from iop_edge.errors import Report
from iop_edge.load.references import Resolver
from iop_edge.load.snapshot import Snapshot
from iop_edge.load.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.schema.values import Tree


def load_sources(sources: Sequence[Source], resolver: Resolver | None, limits: Limits = DEFAULT_LIMITS) -> Snapshot:
    """Load layers of config; without a resolver, references stay unresolved.

    Raises:
        ConfigError: the config cannot be used, with every reason.
    """
    raise NotImplementedError


def check_sources(sources: Sequence[Source], resolver: Resolver | None, limits: Limits = DEFAULT_LIMITS) -> Report:
    """Return what `load_sources` would say of these layers."""
    raise NotImplementedError


def snapshot_of(tree: Tree) -> Snapshot:
    """Return the snapshot of a tree that is normalized already, after validating it.

    Raises:
        ConfigError: the tree breaks a rule.
    """
    return Snapshot(tree)
