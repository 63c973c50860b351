"""What is wrong with a config, for people: place, path, message, rule; then the source line with a caret."""

from collections.abc import Iterable, Iterator, Mapping

from iop_edge.cli.render.text import counted, printable
from iop_edge.cli.style import Paint, Style
from iop_edge.errors import Excerpt, Report, Span, Violation


def report_text(report: Report, style: Style, *, ok: bool) -> str:
    """Return every violation and warning of a report, and the verdict that the exit code comes from too."""
    lines = [
        *violation_lines(report.violations, report.excerpts, style),
        *unlisted(report.total, len(report.violations)),
        *warning_lines(report.warnings, report.excerpts, style),
        verdict(report, style, ok=ok),
    ]
    return "\n".join(lines)


def unlisted(total: int, listed: int) -> Iterator[str]:
    """Yield the line that says how many violations are not listed, if there are any."""
    if total > listed:
        yield f"... and {total - listed} more"


def violation_lines(violations: Iterable[Violation], excerpts: Mapping[Span, Excerpt], style: Style) -> Iterator[str]:
    """Yield the lines of violations."""
    for violation in violations:
        yield from _lines(violation, excerpts, "", Paint.BAD, style)


def warning_lines(warnings: Iterable[Violation], excerpts: Mapping[Span, Excerpt], style: Style) -> Iterator[str]:
    """Yield the lines of warnings."""
    for warning in warnings:
        yield from _lines(warning, excerpts, "warning: ", Paint.CAUTION, style)


def verdict(report: Report, style: Style, *, ok: bool) -> str:
    """Return whether a config is valid, in a word, and how many violations and warnings there are, listed or not."""
    word = style.paint("valid", Paint.GOOD) if ok else style.paint("not valid", Paint.BAD)
    counts = [counted(report.total, "violation")] if report.total else []
    counts += [counted(len(report.warnings), "warning")] if report.warnings else []
    return ", ".join([word, *counts])


def _lines(
    violation: Violation, excerpts: Mapping[Span, Excerpt], kind: str, paint: Paint, style: Style
) -> Iterator[str]:
    place = style.paint(f"{printable(str(violation.span))}:", Paint.PLACE) + " " if violation.span else ""
    path = f"{printable(violation.path)}: " if violation.path else ""
    hint = f" ({printable(violation.hint)})" if violation.hint else ""
    rule = style.paint(f"[{violation.rule}]", Paint.FAINT)
    yield f"{place}{style.paint(kind, paint)}{path}{printable(violation.message)}{hint} {rule}"
    excerpt = excerpts.get(violation.span) if violation.span else None
    if excerpt is not None:
        yield f"    {excerpt.text}"
        yield f"    {' ' * excerpt.caret}{style.paint('^', paint)}"
