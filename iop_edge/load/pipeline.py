"""The one way from the bytes of config files to a snapshot: decoded, merged, resolved, normalized, validated.

The parsers, and what words a report, are imported for the files that need them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from iop_edge.errors import ConfigError, Report, Violation
from iop_edge.load import credentials, layers
from iop_edge.load.collector import collector_paused
from iop_edge.load.decoded import Decoded
from iop_edge.load.layers import Layer
from iop_edge.load.normalize import normalize, sort_unordered
from iop_edge.load.origins import Moves, Origins
from iop_edge.load.plain import read_plain
from iop_edge.load.problems import Problems
from iop_edge.load.references import Resolver
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
    with collector_paused():
        outcome = _load(sources, resolver, limits)
        if not outcome.is_sound:
            raise ConfigError(outcome.report())
        return Snapshot(outcome.tree, outcome.warnings_later() if outcome.warnings.total else ())


def check_sources(sources: Sequence[Source], resolver: Resolver | None, limits: Limits = DEFAULT_LIMITS) -> Report:
    """Return what `load_sources` finds in these layers: why it would raise, or what it would warn of."""
    with collector_paused():
        return _load(sources, resolver, limits).report()


def snapshot_of(tree: Tree) -> Snapshot:
    """Return the snapshot of a tree that is normalized already, after validating it.

    Raises:
        ConfigError: the tree breaks a rule. Its violations have no places in files.
    """
    problems = Problems()
    validate(tree, problems)
    if problems.total:
        from iop_edge.load.reporting import bare_report

        raise ConfigError(bare_report(problems))
    return Snapshot(tree)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a load comes to. The tree is normalized if it is sound; without one, a file could not be read to its end."""

    decoded: Sequence[Decoded]
    limits: Limits
    problems: Problems
    tree: Tree = field(default_factory=dict)
    moves: Moves = field(default_factory=Moves)
    warnings: Problems = field(default_factory=Problems)

    @property
    def is_sound(self) -> bool:
        return not self.problems.total and not any(file.total for file in self.decoded)

    def report(self) -> Report:
        if self.is_sound and not self.warnings.total:
            return Report()
        from iop_edge.load.reporting import report

        origins = Origins(_layers(self.decoded), self.moves)
        return report(self.decoded, origins, self.problems, self.warnings, self.limits)

    def warnings_later(self) -> "_LaterWarnings":
        sources = tuple(file.source for file in self.decoded)
        return _LaterWarnings(sources, self.limits, self.moves, self.warnings)


@dataclass(frozen=True, slots=True)
class _LaterWarnings:
    """Warnings that are placed when they are asked for, from files that are read again; few loads are asked for them.

    Until then the bytes of the files are kept, but not the trees that were made of them.
    """

    sources: Sequence[Source]
    limits: Limits
    moves: Moves
    warnings: Problems

    def __iter__(self) -> Iterator[Violation]:
        from iop_edge.load.reporting import placed_warnings

        decoded = [_read(source, self.limits) for source in self.sources]
        origins = Origins(_layers(decoded), self.moves)
        return iter(placed_warnings(self.sources, origins, self.warnings, self.limits))


def _load(sources: Sequence[Source], resolver: Resolver | None, limits: Limits) -> _Outcome:
    decoded = [_read(source, limits) for source in sources]
    problems = Problems()
    for number, file in enumerate(decoded):
        if file.tree is not None and not file.source.private:
            credentials.check(file.tree, table.root(), number, problems)
    if any(file.tree is None for file in decoded):
        # What the unreadable file would have brought is unknown: nothing can be said of the whole.
        return _Outcome(decoded, limits, problems)
    tree = layers.merge(_layers(decoded), table.root(), problems)
    tree = resolve(tree, table.root(), resolver, problems)
    tree, moves = normalize(tree, problems)
    inventory = validate(tree, problems)
    outcome = _Outcome(decoded, limits, problems, tree, moves)
    if not outcome.is_sound:
        return outcome
    warnings = warn(tree, inventory)
    sort_unordered(tree)
    return replace(outcome, warnings=warnings)


def _read(source: Source, limits: Limits) -> Decoded:
    """Read a file, without a parser if that can be."""
    tree = read_plain(source, limits)
    if tree is not None:
        return Decoded(source, tree, [], 0)
    from iop_edge.load.decode import decode

    return decode(source, limits)


def _layers(decoded: Sequence[Decoded]) -> list[Layer]:
    return [Layer(file.tree or {}, file.source.private) for file in decoded]
