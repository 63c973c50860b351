"""The one way from the bytes of config files to a snapshot: decoded, merged, resolved, normalized, validated.

What words a report is imported for the files that need it.
"""

from collections.abc import Iterator, Sequence

from iop_edge.config import credentials, layers
from iop_edge.config.decode import decode
from iop_edge.config.findings import Findings, Trail
from iop_edge.config.layers import Layer
from iop_edge.config.normalize import normalize, sort_unordered
from iop_edge.config.positions import Moves, Origins
from iop_edge.config.problems import Problems
from iop_edge.config.resolve import put_together, resolve, take_apart
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import DEFAULT_LIMITS, Decoded, Limits, Source
from iop_edge.config.validate import validate
from iop_edge.config.warnings import warn
from iop_edge.errors import ConfigError, Report, Violation
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.references import Resolver
from iop_edge.schema.values import References, Tree, inherited


def load_sources(sources: Sequence[Source], resolver: Resolver | None, limits: Limits = DEFAULT_LIMITS) -> Snapshot:
    """Load layers of config, the later ones over the earlier ones (CFG-05).

    Args:
        sources: the layers.
        resolver: what references resolve against; without one they stay unresolved.
        limits: bounds on what a file may cost.

    Raises:
        ConfigError: the config cannot be used, with every reason.
    """
    outcome = _load(sources, resolver, limits)
    if not outcome.is_sound:
        raise ConfigError(outcome.report())
    references = take_apart(outcome.tree, outcome.places, outcome.moves)
    is_offline = resolver is None and bool(references)
    warnings = _LaterWarnings(outcome, references, is_offline=is_offline)
    return Snapshot(outcome.tree, references, warnings, is_offline=is_offline)


def check_sources(sources: Sequence[Source], resolver: Resolver | None, limits: Limits = DEFAULT_LIMITS) -> Report:
    """Return what `load_sources` finds in these layers: why it would raise, or what it would warn of."""
    return _load(sources, resolver, limits).report()


def snapshot_of(tree: Tree, *origins: Snapshot) -> Snapshot:
    """Return the snapshot of a tree that is normalized already, after validating it.

    Args:
        tree: the tree.
        origins: what it was put together from: its values have the references that they have there.

    Raises:
        ConfigError: the tree breaks a rule. Its violations have no places in files.
    """
    parts = [(origin.tree, origin.references.tree) for origin in origins]
    references = References(inherited(tree, table.root(), parts))
    problems = Problems()
    validate(put_together(tree, references, is_offline=False), problems)
    if problems.total:
        from iop_edge.config.reporting import bare_report

        raise ConfigError(bare_report(problems))
    return Snapshot(tree, references)


class _Outcome:
    """What a load comes to. The tree is normalized if it is sound; it is empty where a file could not be read."""

    def __init__(self, decoded: Sequence[Decoded], limits: Limits) -> None:
        self.decoded = decoded
        self.limits = limits
        self.problems = Problems()
        self.tree: Tree = {}
        self.places: Sequence[Trail] = ()
        self.moves = Moves()

    @property
    def is_sound(self) -> bool:
        return not self.problems.total and not any(file.total for file in self.decoded)

    def report(self) -> Report:
        warnings = warn(self.tree) if self.is_sound else Problems()
        if self.is_sound and not warnings.total:
            return Report()
        from iop_edge.config.reporting import report

        origins = Origins(_layers(self.decoded), self.moves)
        return report(self.decoded, origins, self.problems, warnings, self.limits)


class _LaterWarnings:
    """Warnings that are sought when they are asked for, and placed in files that are read again.

    Few loads are asked for them. Until then the bytes of the files are kept, but not the trees that were made of them.
    """

    def __init__(self, outcome: _Outcome, references: References, *, is_offline: bool) -> None:
        self._sources = tuple(file.source for file in outcome.decoded)
        self._limits = outcome.limits
        self._moves = outcome.moves
        self._tree = outcome.tree
        self._references = references
        self._is_offline = is_offline

    def __iter__(self) -> Iterator[Violation]:
        warnings = warn(put_together(self._tree, self._references, is_offline=self._is_offline))
        if not warnings.total:
            return iter(())
        from iop_edge.config.reporting import placed_warnings

        origins = Origins(_layers([decode(source, self._limits) for source in self._sources]), self._moves)
        return iter(placed_warnings(self._sources, origins, warnings, self._limits))


def _load(sources: Sequence[Source], resolver: Resolver | None, limits: Limits) -> _Outcome:
    if len(sources) > limits.max_layers:
        return _Outcome([_surplus(sources[limits.max_layers], limits)], limits)
    outcome = _Outcome([decode(source, limits) for source in sources], limits)
    decoded, problems = outcome.decoded, outcome.problems
    for number, file in enumerate(decoded):
        if file.tree is not None and not file.source.private:
            credentials.check(file.tree, table.root(), number, problems)
    if any(file.tree is None for file in decoded):
        # What the unreadable file would have brought is unknown: nothing can be said of the whole.
        return outcome
    tree = layers.merge(_layers(decoded), table.root(), problems)
    referring = frozenset().union(*(file.referring for file in decoded))
    tree, outcome.places = resolve(tree, referring, resolver, problems)
    outcome.tree, outcome.moves = normalize(tree, problems)
    validate(outcome.tree, problems)
    if outcome.is_sound:
        sort_unordered(outcome.tree)
    return outcome


def _surplus(source: Source, limits: Limits) -> Decoded:
    """Return what there is to say of the first file that is too many."""
    findings = Findings()
    findings.add_whole(Rule.LAYER_LIMIT, f"a config has at most {limits.max_layers} files", "merge some of them")
    return Decoded(source, None, findings.in_order(), findings.total, frozenset())


def _layers(decoded: Sequence[Decoded]) -> list[Layer]:
    return [Layer(file.tree or {}, file.source.private) for file in decoded]
