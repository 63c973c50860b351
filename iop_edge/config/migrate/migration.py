"""The steps of a migration, each looked at: a change that would make another config of the file is not made."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from iop_edge.config.decode import decode
from iop_edge.config.excerpt import Disclosure
from iop_edge.config.migrate.edits import Change, edited
from iop_edge.config.migrate.forms import make_lists
from iop_edge.config.migrate.keys import remove_legacy, rename
from iop_edge.config.migrate.meaning import LEGACY, Meaning, aliased_words, meaning_of
from iop_edge.config.migrate.words import name_instances, resolve_aliases
from iop_edge.config.nodes import Document, Node, compose
from iop_edge.config.pipeline import check_sources
from iop_edge.config.positions import Moves, Origins, Positions
from iop_edge.config.problems import Problems
from iop_edge.config.reporting import report
from iop_edge.config.source import DEFAULT_LIMITS, Decoded, Limits, Source
from iop_edge.config.texts import BOM
from iop_edge.errors import MAX_LISTED, Excerpt, Report, Span, Violation

_FEWEST_LOOKS: Final = 24
_MOST_LOOKED_AT: Final = 8 * 1024 * 1024
"""How many characters a step may read to find out which of its changes leave the meaning as it is."""

_Step = Callable[[Node, Document, Meaning], Iterator[Change]]


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
    config: it is only read, and what hangs on the other files stays as it is.
    """
    before = decode(source, limits)
    meaning = meaning_of(before)
    if meaning is None:
        return Migration(source, _check(source, before, limits), is_readable=False)
    document = compose(source, limits)
    steps = _STEPS if not source.private else _STEPS_OF_AN_OVERLAY
    working = _Working(before, meaning, limits)
    for step in steps:
        working.take(step)
    after = working.decoded
    result = after.source
    lost = sorted(
        [*_kept(Positions(document, source.name), after, working.refused), *_gone(before)],
        key=lambda violation: (violation.span or Span(source.name), violation.path),
    )
    # All that a migration takes away of what decoding finds wrong is legacy keys; of them, only so many are listed.
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
    """A file on its way from step to step."""

    def __init__(self, decoded: Decoded, meaning: Meaning, limits: Limits) -> None:
        self.decoded = decoded
        self.refused: list[Change] = []
        self._meaning = meaning
        self._limits = limits
        self._looks = 0
        self._compose()

    def take(self, step: _Step) -> None:
        """Make the changes of a step that leave the meaning as it is."""
        proposed = list(step(self._document.node(0), self._document, self._meaning))
        self.refused += [change for change in proposed if not change.edits]
        changes = [change for change in proposed if change.edits]
        if changes:
            self._looks = max(_FEWEST_LOOKS, _MOST_LOOKED_AT // len(self._document.text))
            before = self.decoded
            self._make([], changes)
            if self.decoded is not before:
                self._compose()

    def _compose(self) -> None:
        self._document = compose(self.decoded.source, self._limits)

    def _make(self, made: Sequence[Change], proposed: Sequence[Change]) -> Sequence[Change]:
        """Make the changes that can be made together, those before first, and return them; note the others as refused.

        Each try reads the whole file. Where too many would be needed, what has not been tried is refused too.
        """
        together = [*made, *proposed]
        if self._looks and self._is_made(together):
            return together
        if len(proposed) == 1 or not self._looks:
            self.refused += proposed
            return made
        half = len(proposed) // 2
        return self._make(self._make(made, proposed[:half]), proposed[half:])

    def _is_made(self, changes: Iterable[Change]) -> bool:
        """Make changes to the text that the step was given, unless the file would not mean the same then."""
        self._looks -= 1
        new = edited(self._document.text, changes)
        if new is None:
            return False
        source = self.decoded.source
        bom = BOM if source.data.startswith(BOM) else b""
        decoded = decode(replace(source, data=bom + new.encode()), self._limits)
        meaning = meaning_of(decoded)
        if meaning is None or not meaning.equals(self._meaning):
            return False
        self.decoded, self._meaning = decoded, meaning
        return True


_STEPS_OF_AN_OVERLAY: tuple[_Step, ...] = (
    lambda root, text, _: remove_legacy(root, text),
    lambda root, text, _: rename(root, text),
    lambda root, text, _: make_lists(root, text),
)
_STEPS: tuple[_Step, ...] = (
    *_STEPS_OF_AN_OVERLAY,
    lambda root, _, meaning: name_instances(root, meaning),
    resolve_aliases,
)


def _kept(positions: Positions, after: Decoded, refused: Iterable[Change]) -> list[Violation]:
    """Return what had to stay: changes that were refused, and types whose alias nobody can resolve in this file."""
    changes = {change.path: change.what for change in refused}
    words = {path: f"the type {word}" for path, word in aliased_words(after.tree or {})}
    spans = {path: positions.of_key(path) for path in changes} | {path: positions.of_value(path) for path in words}
    return [
        Violation("migrate.kept", str(path), spans[path], f"{what} stays as it is", "change it by hand")
        for path, what in {**changes, **words}.items()
    ]


def _gone(before: Decoded) -> list[Violation]:
    """Return the keys that were removed."""
    name = before.source.name
    return [
        Violation(LEGACY, str(found.path), Span(name, found.line, found.column), found.message, found.hint)
        for found in before.findings
        if found.rule == LEGACY
    ]


def _check(source: Source, decoded: Decoded, limits: Limits) -> Report:
    if not source.private:
        return check_sources([source], None, limits)
    return report([decoded], Origins([], Moves()), Problems(), Problems(), limits)
