"""What the front of the loader finds wrong, at places that it knows while it reads."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from iop_edge.errors import MAX_LISTED
from iop_edge.rules import Rule
from iop_edge.schema.paths import ROOT, Path

Trail = tuple["Trail", str | int, bool] | None
"""A path while a file is decoded: the trail before it, the step, and whether the step is a map's key. None is the root.

Every item of a file has one and few are ever shown; a tuple is what costs least.
"""


class Position(Protocol):
    """A place in a text, counted from 0, as the parsers mark it."""

    @property
    def line(self) -> int:
        """The line."""

    @property
    def column(self) -> int:
        """The column, in code points."""


class Finding(NamedTuple):
    """A broken rule at a place: `line` and `column` count from 1; both are 0 where the whole file is meant."""

    rule: Rule
    path: Path
    message: str
    hint: str
    line: int
    column: int


class StopReading(Exception):  # noqa: N818 - not an error of the program: the finding is already noted
    """The rest of the file is not worth reading, or not safe to read."""


class Findings:
    """Collects findings: each once, the first `MAX_LISTED` in full, the rest as a number."""

    def __init__(self) -> None:
        self.total = 0
        self._listed: dict[tuple[int, int, str, str], Finding] = {}

    @property
    def is_full(self) -> bool:
        """Whether further findings are only counted."""
        return len(self._listed) >= MAX_LISTED

    def add(self, rule: Rule, trail: Trail, place: Position, message: str, hint: str = "") -> None:
        """Note a finding at a place. One that an alias brings again is the same finding."""
        key = (place.line, place.column, rule, message)
        if key in self._listed:
            return
        self.total += 1
        if not self.is_full:
            self._listed[key] = Finding(rule, to_path(trail), message, hint, place.line + 1, place.column + 1)

    def add_whole(self, rule: Rule, message: str, hint: str = "") -> None:
        """Note a finding about the file as a whole."""
        self.total += 1
        self._listed[-1, -1, rule, message] = Finding(rule, ROOT, message, hint, 0, 0)

    def stop(self, rule: Rule, trail: Trail, place: Position, message: str, hint: str = "") -> StopReading:
        """Note a finding, and return the exception that ends the reading of the file."""
        self.add(rule, trail, place, message, hint)
        return StopReading()

    def in_order(self) -> list[Finding]:
        """Return what is listed, by position."""
        return sorted(self._listed.values(), key=lambda finding: (finding.line, finding.column))


def to_path(trail: Trail) -> Path:
    """Return the path of a trail."""
    path = ROOT
    for step, is_key in reversed(list(_steps(trail))):
        path = Path(path, step, is_key=is_key)
    return path


def depth(trail: Trail) -> int:
    """Return how many steps a trail has."""
    return sum(1 for _ in _steps(trail))


def _steps(trail: Trail) -> Iterator[tuple[str | int, bool]]:
    while trail is not None:
        trail, step, is_key = trail
        yield step, is_key
