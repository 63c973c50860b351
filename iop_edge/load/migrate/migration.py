"""The steps of a migration, each looked at: a change that would make another config of the file is not made."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from iop_edge.errors import MAX_LISTED, Excerpt, Report, Span, Violation
from iop_edge.load.decode import decode
from iop_edge.load.decoded import Decoded
from iop_edge.load.excerpt import excerpts
from iop_edge.load.locate import locate, locate_keys
from iop_edge.load.migrate.edits import Change, edited
from iop_edge.load.migrate.forms import make_lists
from iop_edge.load.migrate.keys import remove_legacy, rename
from iop_edge.load.migrate.meaning import LEGACY, Meaning, aliased_words, meaning_of
from iop_edge.load.migrate.nodes import Node, Text, compose
from iop_edge.load.migrate.words import name_instances, resolve_aliases
from iop_edge.load.origins import Moves, Origins
from iop_edge.load.pipeline import check_sources
from iop_edge.load.problems import Problems
from iop_edge.load.reporting import report
from iop_edge.load.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.load.texts import BOM, without_bom

_Step = Callable[[Node, Text, Meaning], Iterator[Change]]


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
    steps = _STEPS if not source.private else _STEPS_OF_AN_OVERLAY
    working = _Working(source, meaning, limits)
    for step in steps:
        working.take(step)
    result = working.source
    after = decode(result, limits)
    lost = sorted(
        [*_kept(source, after, working.refused, limits), *_gone(before)],
        key=lambda violation: (violation.span or Span(source.name), violation.path),
    )
    # All that a migration takes away of what decoding finds wrong is legacy keys; of them, only so many are listed.
    total = max(len(lost), before.total - after.total)
    listed = tuple(lost[:MAX_LISTED])
    shown = excerpts(source, {violation.span for violation in listed if violation.span}, limits)
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

    def __init__(self, source: Source, meaning: Meaning, limits: Limits) -> None:
        self.source = source
        self.refused: list[Change] = []
        self._meaning = meaning
        self._limits = limits

    def take(self, step: _Step) -> None:
        """Make the changes of a step that leave the meaning as it is."""
        text = without_bom(self.source.data).decode()
        place = Text(text)
        proposed = list(step(compose(place), place, self._meaning))
        self.refused += [change for change in proposed if not change.edits]
        changes = [change for change in proposed if change.edits]
        if changes:
            kept = self._sound(text, [], changes)
            source, meaning = self._after(text, kept) or (self.source, self._meaning)
            self.source, self._meaning = source, meaning

    def _sound(self, text: str, kept: Sequence[Change], proposed: Sequence[Change]) -> Sequence[Change]:
        """Return the changes that can be made together, those before first; note the others as refused."""
        together = [*kept, *proposed]
        if self._after(text, together) is not None:
            return together
        if len(proposed) == 1:
            self.refused += proposed
            return kept
        half = len(proposed) // 2
        return self._sound(text, self._sound(text, kept, proposed[:half]), proposed[half:])

    def _after(self, text: str, changes: Iterable[Change]) -> tuple[Source, Meaning] | None:
        """Return the file with these changes and what it means, or None where it does not mean the same."""
        new = edited(text, changes)
        if new is None:
            return None
        bom = BOM if self.source.data.startswith(BOM) else b""
        source = replace(self.source, data=bom + new.encode())
        meaning = meaning_of(decode(source, self._limits))
        return (source, meaning) if meaning is not None and meaning.equals(self._meaning) else None


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


def _kept(source: Source, after: Decoded, refused: Iterable[Change], limits: Limits) -> list[Violation]:
    """Return what had to stay: changes that were refused, and types whose alias nobody can resolve in this file."""
    changes = {change.path: change.what for change in refused}
    words = {path: f"the type {word}" for path, word in aliased_words(after.tree or {})}
    spans = locate_keys(source, changes, limits) | locate(source, words, limits)
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
