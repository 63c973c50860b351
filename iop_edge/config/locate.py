"""Finds where the values of a file stand.

Decoding keeps no positions, since almost every load needs none: whoever has something to say about a value decodes the
file again, followed by somebody who notes the few places that are asked for.
"""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final

from iop_edge.config.decode import Decoder, read_document
from iop_edge.config.events import Event, EventReader
from iop_edge.config.findings import Findings, Position, Trail, to_trail
from iop_edge.config.mappings import Seen
from iop_edge.config.parsers import DEFAULT_PARSER
from iop_edge.config.plans import Plan, unhurried_plan_of
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.config.texts import TextPosition
from iop_edge.errors import Span
from iop_edge.schema.paths import Path
from iop_edge.schema.values import Tree

_START: Final = TextPosition(0, 0)


def locate(source: Source, paths: Collection[Path], limits: Limits = DEFAULT_LIMITS) -> dict[Path, Span]:
    """Return where values of a file's tree begin; for one that is not there, where the nearest thing around it does."""
    places = _followed(source, paths, limits)
    return {path: _span(source, places.values, path) for path in paths}


def locate_keys(source: Source, paths: Collection[Path], limits: Limits = DEFAULT_LIMITS) -> dict[Path, Span]:
    """Return where the keys of fields and of map values stand; for an item of a list, where the item begins."""
    places = _followed(source, paths, limits)
    return {path: _span(source, places.values | places.keys, path) for path in paths}


class _Places:
    """What was asked for, and what was found of it. The first place counts: an explicit key comes before a merge."""

    def __init__(self, paths: Collection[Path]) -> None:
        self.wanted: set[Trail] = {None}
        self.values: dict[Trail, Position] = {}
        self.keys: dict[Trail, Position] = {}
        for path in paths:
            trail = to_trail(path)
            while trail not in self.wanted:
                self.wanted.add(trail)
                trail = trail[0] if trail else None


class _Follower(Decoder):
    """Notes the places that are wanted while it decodes."""

    plan_of = staticmethod(unhurried_plan_of)

    def __init__(self, source: Source, events: EventReader, findings: Findings, *, places: _Places) -> None:
        super().__init__(source, events, findings)
        self._places = places

    def tree(self, plan: Plan, trail: Trail, start: Event) -> Tree:
        """Pass over a message that holds nothing wanted: in a large file, nearly all of them."""
        if trail in self._places.wanted:
            return super().tree(plan, trail, start)
        self.events.skip(start, trail)
        return {}

    def at(self, trail: Trail, event: Event) -> None:
        if trail in self._places.wanted:
            self._places.values.setdefault(trail, event.start_mark)

    def keys_of(self, trail: Trail, seen: Seen) -> None:
        if trail not in self._places.wanted:
            return
        for name, key in seen.items():
            for here in ((trail, name, False), (trail, key.value, True)):
                if here in self._places.wanted:
                    self._places.keys.setdefault(here, key.start_mark)


def _followed(source: Source, paths: Collection[Path], limits: Limits) -> _Places:
    places = _Places(paths)
    if paths:
        read_document(source, Findings(), limits, DEFAULT_PARSER, partial(_Follower, places=places))
    return places


def _span(source: Source, found: Mapping[Trail, Position], path: Path) -> Span:
    trail = to_trail(path)
    while trail is not None and trail not in found:
        trail = trail[0]
    place = found.get(trail, _START)
    return Span(source.name, place.line + 1, place.column + 1)
