"""Turns what the steps have found into a report: placed, in the order of the files, source lines masked (CFG-04).

Places and source lines are sought only when something was found, and lines only for a report that somebody reads.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import NamedTuple

from iop_edge.config.decoded import Decoded
from iop_edge.config.excerpt import excerpts
from iop_edge.config.locate import locate
from iop_edge.config.origins import Origins, Place
from iop_edge.config.problems import Problem, Problems
from iop_edge.config.source import Limits, Source
from iop_edge.errors import MAX_LISTED, Excerpt, Report, Span, Violation
from iop_edge.schema.paths import Path


class _Placed(NamedTuple):
    layer: int
    violation: Violation

    @property
    def order(self) -> tuple[int, int, int]:
        span = self.violation.span
        return (self.layer, span.line, span.column) if span else (self.layer, 0, 0)


def report(
    decoded: Sequence[Decoded], origins: Origins, problems: Problems, warnings: Problems, limits: Limits
) -> Report:
    """Return the report of a load.

    Args:
        decoded: the files, with what was found in each while it was read.
        origins: where the paths of problems come from.
        problems: what the later steps found.
        warnings: what is no fault.
        limits: bounds on what a file may cost, as they were when it was read first.
    """
    sources = [file.source for file in decoded]
    places = _Places(sources, origins, [*problems.kept, *warnings.kept], limits)
    found = _findings(decoded) + [places.placed(problem) for problem in problems.kept]
    distinct = _distinct(found)
    violations = _in_order(distinct)
    total = problems.total + sum(file.total for file in decoded) - (len(found) - len(distinct))
    noted = _in_order(_distinct(places.placed(warning) for warning in warnings.kept))
    shown = MappingProxyType(_excerpts(sources, [*violations, *noted], limits))
    return Report(_violations(violations), _violations(noted), total, shown)


def placed_warnings(
    sources: Sequence[Source], origins: Origins, warnings: Problems, limits: Limits
) -> tuple[Violation, ...]:
    """Return warnings at their places, without source lines."""
    places = _Places(sources, origins, warnings.kept, limits)
    return _violations(_in_order(_distinct(places.placed(warning) for warning in warnings.kept)))


def bare_report(problems: Problems) -> Report:
    """Return the report of a tree that came from no file."""
    violations = tuple(_bare(problem) for problem in problems.kept[:MAX_LISTED])
    return Report(violations, (), problems.total)


class _Places:
    """The places of problems: each file is read once more, for all of them together."""

    def __init__(
        self, sources: Sequence[Source], origins: Origins, problems: Sequence[Problem], limits: Limits
    ) -> None:
        self._origins = origins
        wanted: dict[int, set[Path]] = {}
        for problem in problems:
            for place in (self._own(problem), self._other(problem)):
                if place is not None:
                    wanted.setdefault(place.layer, set()).add(place.path)
        self._spans = {layer: locate(sources[layer], paths, limits) for layer, paths in wanted.items()}

    def placed(self, problem: Problem) -> _Placed:
        """Return a problem at its place."""
        place, other = self._own(problem), self._other(problem)
        message = problem.message
        if other is not None:
            message += f" (the other is at {self._spans[other.layer][other.path]})"
        span = self._spans[place.layer][place.path]
        return _Placed(place.layer, Violation(problem.rule, str(place.path), span, message, problem.hint))

    def _own(self, problem: Problem) -> Place:
        return self._place(problem.path, problem.layer)

    def _other(self, problem: Problem) -> Place | None:
        return None if problem.other is None else self._place(problem.other, problem.other_layer)

    def _place(self, path: Path, layer: int | None) -> Place:
        return self._origins.place(path) if layer is None else Place(layer, path)


def _findings(decoded: Sequence[Decoded]) -> list[_Placed]:
    return [
        _Placed(
            layer,
            Violation(
                finding.rule,
                str(finding.path),
                Span(file.source.name, finding.line, finding.column),
                finding.message,
                finding.hint,
            ),
        )
        for layer, file in enumerate(decoded)
        for finding in file.findings
    ]


def _distinct(found: Iterable[_Placed]) -> list[_Placed]:
    """Return each violation once: what an alias brings to several paths is one fault at one place."""
    by_place = {(item.layer, item.violation.rule, item.violation.span, item.violation.message): item for item in found}
    return list(by_place.values())


def _in_order(found: Iterable[_Placed]) -> list[_Placed]:
    return sorted(found, key=lambda item: item.order)[:MAX_LISTED]


def _violations(found: Iterable[_Placed]) -> tuple[Violation, ...]:
    return tuple(item.violation for item in found)


def _excerpts(sources: Sequence[Source], found: Iterable[_Placed], limits: Limits) -> dict[Span, Excerpt]:
    spans: dict[int, set[Span]] = {}
    for item in found:
        span = item.violation.span
        if span is not None and span.line:
            spans.setdefault(item.layer, set()).add(span)
    # Layers may have one name: where a span is in two of them, no line is that of both.
    layers = Counter(span for wanted in spans.values() for span in wanted)
    shown: dict[Span, Excerpt] = {}
    for layer, wanted in spans.items():
        shown.update(excerpts(sources[layer], {span for span in wanted if layers[span] == 1}, limits))
    return shown


def _bare(problem: Problem) -> Violation:
    other = f" (the other is {problem.other})" if problem.other is not None else ""
    return Violation(problem.rule, str(problem.path), None, problem.message + other, problem.hint)
