"""The one way from the bytes of config files to a snapshot: decoded, merged, resolved, normalized, validated."""

from collections.abc import Sequence

from iop_edge.errors import ConfigError, Report
from iop_edge.load import credentials, layers
from iop_edge.load.decode import decode
from iop_edge.load.layers import Layer
from iop_edge.load.normalize import normalize, sort_unordered
from iop_edge.load.origins import Moves, Origins
from iop_edge.load.problems import Problems
from iop_edge.load.references import Resolver
from iop_edge.load.reporting import bare_report, report, with_excerpts
from iop_edge.load.resolve import resolve
from iop_edge.load.snapshot import Snapshot
from iop_edge.load.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.load.validate import validate, warn
from iop_edge.schema import table
from iop_edge.schema.values import Tree


def load_sources(sources: Sequence[Source], resolver: Resolver | None, limits: Limits = DEFAULT_LIMITS) -> Snapshot:
    """Load layers of config, the later ones over the earlier ones (CFG-05).

    Args:
        sources: the layers.
        resolver: what references resolve against; without one they stay unresolved.
        limits: bounds on what a file may cost.

    Raises:
        ConfigError: the config cannot be used, with every reason.
    """
    tree, found = _load(sources, resolver, limits)
    if not found.ok:
        raise ConfigError(with_excerpts(found, sources, limits))
    return Snapshot(tree, found.warnings)


def check_sources(sources: Sequence[Source], resolver: Resolver | None, limits: Limits = DEFAULT_LIMITS) -> Report:
    """Return what `load_sources` finds in these layers: why it would raise, or what it would warn of."""
    return with_excerpts(_load(sources, resolver, limits)[1], sources, limits)


def snapshot_of(tree: Tree) -> Snapshot:
    """Return the snapshot of a tree that is normalized already, after validating it.

    Raises:
        ConfigError: the tree breaks a rule. Its violations have no places in files.
    """
    problems = Problems()
    validate(tree, problems)
    if problems.total:
        raise ConfigError(bare_report(problems))
    return Snapshot(tree)


def _load(sources: Sequence[Source], resolver: Resolver | None, limits: Limits) -> tuple[Tree, Report]:
    decoded = [decode(source, limits) for source in sources]
    problems = Problems()
    for number, file in enumerate(decoded):
        if file.tree is not None and not file.source.private:
            credentials.check(file.tree, table.root(), number, problems)
    parts = [Layer(file.tree or {}, file.source.private) for file in decoded]
    if any(file.tree is None for file in decoded):
        # What the unreadable file would have brought is unknown: nothing can be said of the whole.
        return {}, report(decoded, Origins(parts, Moves()), problems, Problems(), limits)
    tree = layers.merge(parts, table.root(), problems)
    tree = resolve(tree, table.root(), resolver, problems)
    tree, moves = normalize(tree, problems)
    inventory = validate(tree, problems)
    is_sound = not problems.total and not any(file.total for file in decoded)
    warnings = warn(tree, inventory) if is_sound else Problems()
    if is_sound:
        sort_unordered(tree)
    return tree, report(decoded, Origins(parts, moves), problems, warnings, limits)
