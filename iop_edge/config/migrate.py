"""Turns a file with keys and spellings of old releases into the current shape, by edits of its text.

Each step is checked: a change that would alter what the file means is not made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from iop_edge.config import layers
from iop_edge.config.decode import decode
from iop_edge.config.edits import Change, edited
from iop_edge.config.excerpt import Disclosure
from iop_edge.config.layers import Layer
from iop_edge.config.nodes import Document, compose
from iop_edge.config.normalize import normalize
from iop_edge.config.pipeline import check_sources
from iop_edge.config.positions import Moves, Origins, Positions
from iop_edge.config.problems import Problems
from iop_edge.config.reporting import report
from iop_edge.config.resolve import resolve
from iop_edge.config.rewrites import make_lists, name_instances, remove_legacy, rename, resolve_aliases
from iop_edge.config.source import DEFAULT_LIMITS, Decoded, Limits, Source
from iop_edge.config.texts import BOM
from iop_edge.errors import MAX_LISTED, Excerpt, Report, Span, Violation
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.table import Kind, Message
from iop_edge.schema.values import ReadTree, Tree

_LEGACY: Final = Rule.FIELD_LEGACY
"""The rule of the keys that are refused, and removed by a migration."""

_FEWEST_TRIES: Final = 24
_MOST_TRIED: Final = 8 * 1024 * 1024
"""How many characters a step may read to find out which of its changes leave the meaning as it is."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """A file as it is written and as it is normalized, references unresolved: what it means, whatever its spelling.

    `moves` says which adapter instances were made of providers' fields, `broken` which rules normalizing found broken,
    and `faults` counts what decoding found wrong, without legacy keys.
    """

    written: Tree = field(repr=False)
    normalized: Tree = field(repr=False)
    moves: Moves
    broken: frozenset[str]
    faults: int

    def equals(self, other: "_Meaning") -> bool:
        """Tell whether another file means the same, and has no fault of its own."""
        return self.faults <= other.faults and self.normalized == other.normalized


def _meaning_of(decoded: Decoded) -> _Meaning | None:
    """Return what a decoded file means, or None where it could not be read to its end."""
    if decoded.tree is None:
        return None
    problems = Problems()
    written = layers.merge([Layer(decoded.tree, decoded.source.private)], table.root(), problems)
    normalized, moves = normalize(resolve(written, decoded.referring, None, problems).tree, problems)
    legacy = sum(finding.rule == _LEGACY for finding in decoded.findings)
    broken = frozenset(problem.rule for problem in problems.kept)
    return _Meaning(written, normalized, moves, broken, decoded.total - legacy)


_Step = Callable[[Document, _Meaning], Iterator[Change]]


def _name_instances(document: Document, meaning: _Meaning) -> Iterator[Change]:
    return name_instances(document, meaning.written, meaning.normalized)


def _resolve_aliases(document: Document, meaning: _Meaning) -> Iterator[Change]:
    if Rule.ADAPTER_LABEL in meaning.broken:  # which label an instance has is unknown: it would be lost with the alias
        return iter(())
    return resolve_aliases(document, meaning.written, meaning.normalized, meaning.moves.made)


_STEPS_OF_AN_OVERLAY: Final[tuple[_Step, ...]] = (
    lambda document, _: remove_legacy(document),
    lambda document, _: rename(document),
    lambda document, _: make_lists(document),
)
_STEPS: Final[tuple[_Step, ...]] = (*_STEPS_OF_AN_OVERLAY, _name_instances, _resolve_aliases)


@dataclass(frozen=True, slots=True)
class Migration:
    """A file in the current shape.

    Where the file cannot be read, `source` is the file as it was. `lost` says what could not be carried over, keys that
    are gone and spellings that had to stay, by their places in the file that was given; at most `MAX_LISTED` are
    listed, and `lost_total` counts all. `report` says what is wrong with the result, at its own lines.
    """

    source: Source
    report: Report
    is_readable: bool = True
    is_changed: bool = False
    lost: tuple[Violation, ...] = ()
    lost_total: int = 0
    excerpts: Mapping[Span, Excerpt] = field(default_factory=dict, repr=False)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is lost, and nothing wrong with the result."""
        return not self.lost and self.report.ok


def migrate(source: Source, limits: Limits = DEFAULT_LIMITS) -> Migration:
    """Return a file in the current shape.

    A tracked file is checked as the only one of a config, with its references unresolved. An overlay is part of a
    config: it is only decoded, and what depends on the other files stays as it is.
    """
    before = decode(source, limits)
    meaning = _meaning_of(before)
    if meaning is None:
        return Migration(source, _check(source, before, limits), is_readable=False)
    document = compose(source, limits)
    steps = _STEPS if not source.private else _STEPS_OF_AN_OVERLAY
    working = _Working(before, meaning, document, limits)
    for step in steps:
        working.take(step)
    after = working.decoded
    result = after.source
    lost = sorted(
        [*_kept(Positions(document, source.name), after, working.refused), *_gone(before)],
        key=lambda violation: (violation.span or Span(source.name), violation.path),
    )
    # Legacy keys are the only findings that a migration removes, and decoding lists only the first of them.
    total = max(len(lost), before.total - after.total)
    listed = tuple(lost[:MAX_LISTED])
    shown = Disclosure(document).excerpts({violation.span for violation in listed if violation.span})
    return Migration(
        result,
        _check(result, after, limits),
        is_changed=result.data != source.data,
        lost=listed,
        lost_total=total,
        excerpts=shown,
    )


class _Working:
    """A file between the steps of its migration."""

    def __init__(self, decoded: Decoded, meaning: _Meaning, document: Document, limits: Limits) -> None:
        self.decoded = decoded
        self.refused: list[Change] = []
        self._meaning = meaning
        self._limits = limits
        self._tries = 0
        self._document = document

    def take(self, step: _Step) -> None:
        """Make the changes of a step that leave the meaning as it is."""
        proposed = list(step(self._document, self._meaning))
        self.refused += [change for change in proposed if not change.edits]
        changes = [change for change in proposed if change.edits]
        if changes:
            self._tries = max(_FEWEST_TRIES, _MOST_TRIED // len(self._document.text))
            before = self.decoded
            self._make([], changes)
            if self.decoded is not before:
                self._document = compose(self.decoded.source, self._limits)

    def _make(self, made: Sequence[Change], proposed: Sequence[Change]) -> Sequence[Change]:
        """Make the changes that can be made together, those before first, and return them; note the others as refused.

        Each try reads the whole file. Where too many would be needed, what has not been tried is refused too.
        """
        together = [*made, *proposed]
        if self._tries and self._is_made(together):
            return together
        if len(proposed) == 1 or not self._tries:
            self.refused += proposed
            return made
        half = len(proposed) // 2
        return self._make(self._make(made, proposed[:half]), proposed[half:])

    def _is_made(self, changes: Iterable[Change]) -> bool:
        """Make changes to the text that the step was given, unless that alters its meaning."""
        self._tries -= 1
        new = edited(self._document.text, (edit for change in changes for edit in change.edits))
        if new is None:
            return False
        source = self.decoded.source
        bom = BOM if source.data.startswith(BOM) else b""
        decoded = decode(replace(source, data=bom + new.encode()), self._limits)
        meaning = _meaning_of(decoded)
        if meaning is None or not meaning.equals(self._meaning):
            return False
        self.decoded, self._meaning = decoded, meaning
        return True


def _kept(positions: Positions, after: Decoded, refused: Iterable[Change]) -> list[Violation]:
    """Return what had to stay: changes that were refused, and aliases of types that this file alone cannot resolve."""
    changes = {change.path: change.what for change in refused}
    words = {path: f"the type {word}" for path, word in _aliased_words(after.tree or {}, table.root())}
    spans = {path: positions.of_key(path) for path in changes} | {path: positions.of_value(path) for path in words}
    return [
        Violation(Rule.MIGRATE_KEPT, str(path), spans[path], f"{what} stays as it is", "change it by hand")
        for path, what in {**changes, **words}.items()
    ]


def _gone(before: Decoded) -> list[Violation]:
    """Return the keys that were removed."""
    name = before.source.name
    return [
        Violation(_LEGACY, str(found.path), Span(name, found.line, found.column), found.message, found.hint)
        for found in before.findings
        if found.rule == _LEGACY
    ]


def _check(source: Source, decoded: Decoded, limits: Limits) -> Report:
    if not source.private:
        return check_sources([source], None, limits)
    return report([decoded], Origins([], Moves()), Problems(), Problems(), limits)


def _aliased_words(tree: ReadTree, message: Message, path: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield every word of an enum that is written as an alias, with its path."""
    for name, value in tree.items():
        entry, here = message.fields[name], path.child(name)
        if entry.kind is Kind.ENUM and isinstance(value, str) and value in entry.enum().aliases:
            yield here, value
        elif entry.kind is Kind.MESSAGE:
            items = [(here.index(index), item) for index, item in enumerate(value if isinstance(value, list) else ())]
            for place, item in items if entry.repeated else [(here, value)]:
                if isinstance(item, dict):
                    yield from _aliased_words(item, entry.message(), place)
