"""Turns what the steps of a load have found into a report: with positions, in order, source lines masked (CFG-04).

Positions are looked up only when something was found, and source lines only for a report that is printed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from iop_edge.config.excerpt import Disclosure
from iop_edge.config.nodes import Document, compose
from iop_edge.config.positions import Origin, Origins, Positions
from iop_edge.config.problems import Problem, Problems
from iop_edge.config.source import Decoded, Limits, Source
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
    files = _Files([file.source for file in decoded], origins, limits)
    found = files.findings(decoded) + [files.placed(problem) for problem in problems.kept]
    distinct = _distinct(found)
    violations = _in_order(distinct)
    total = problems.total + sum(file.total for file in decoded) - (len(found) - len(distinct))
    noted = _in_order(_distinct(files.placed(warning) for warning in warnings.kept))
    shown = MappingProxyType(files.excerpts([*violations, *noted]))
    return Report(_violations(violations), _violations(noted), total, shown)


def placed_warnings(
    sources: Sequence[Source], origins: Origins, warnings: Problems, limits: Limits
) -> tuple[Violation, ...]:
    """Return warnings at their places, without source lines."""
    files = _Files(sources, origins, limits)
    return _violations(_in_order(_distinct(files.placed(warning) for warning in warnings.kept)))


def bare_report(problems: Problems) -> Report:
    """Return the report of a tree that came from no file."""
    violations = tuple(_bare(problem) for problem in problems.kept[:MAX_LISTED])
    return Report(violations, (), problems.total)


class _File:
    """A file of a config, composed at most once."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self._source = source
        self._limits = limits

    @cached_property
    def _document(self) -> Document:
        return compose(self._source, self._limits)

    @cached_property
    def positions(self) -> Positions:
        """Where its values stand."""
        return Positions(self._document, self._source.name)

    @cached_property
    def disclosure(self) -> Disclosure:
        """What of it may be shown."""
        return Disclosure(self._document)


class _Files:
    """The files of a config."""

    def __init__(self, sources: Sequence[Source], origins: Origins, limits: Limits) -> None:
        self._files = [_File(source, limits) for source in sources]
        self._origins = origins

    def findings(self, decoded: Sequence[Decoded]) -> list[_Placed]:
        """Return what decoding found, without the keys that must not be named."""
        placed: list[_Placed] = []
        for layer, file in enumerate(decoded):
            if not file.findings:
                continue
            for found in self._files[layer].disclosure.findings(file.findings):
                span = Span(file.source.name, found.line, found.column)
                violation = Violation(found.rule, str(found.path), span, found.message, found.hint)
                placed.append(_Placed(layer, violation))
        return placed

    def placed(self, problem: Problem) -> _Placed:
        """Return a problem at its place."""
        origin = self._origin(problem.path, problem.layer)
        message = problem.message
        if problem.other is not None:
            message += f" (the other is at {self._span(self._origin(problem.other, problem.other_layer))})"
        violation = Violation(problem.rule, str(origin.path), self._span(origin), message, problem.hint)
        return _Placed(origin.layer, violation)

    def _origin(self, path: Path, layer: int | None) -> Origin:
        return self._origins.of(path) if layer is None else Origin(layer, path)

    def _span(self, origin: Origin) -> Span:
        return self._files[origin.layer].positions.of_value(origin.path)

    def excerpts(self, found: Iterable[_Placed]) -> dict[Span, Excerpt]:
        """Return the masked source lines of violations."""
        spans: dict[int, set[Span]] = {}
        for item in found:
            span = item.violation.span
            if span is not None and span.line:
                spans.setdefault(item.layer, set()).add(span)
        # Layers may have one name: where a span is in two of them, no line is that of both.
        layers = Counter(span for wanted in spans.values() for span in wanted)
        shown: dict[Span, Excerpt] = {}
        for layer, wanted in spans.items():
            shown.update(self._files[layer].disclosure.excerpts(span for span in wanted if layers[span] == 1))
        return shown


def _distinct(found: Iterable[_Placed]) -> list[_Placed]:
    """Return each violation once: what an alias brings to several paths is one fault at one place."""
    by_place = {(item.layer, item.violation.rule, item.violation.span, item.violation.message): item for item in found}
    return list(by_place.values())


def _in_order(found: Iterable[_Placed]) -> list[_Placed]:
    return sorted(found, key=lambda item: item.order)[:MAX_LISTED]


def _violations(found: Iterable[_Placed]) -> tuple[Violation, ...]:
    return tuple(item.violation for item in found)


def _bare(problem: Problem) -> Violation:
    other = f" (the other is {problem.other})" if problem.other is not None else ""
    return Violation(problem.rule, str(problem.path), None, problem.message + other, problem.hint)
