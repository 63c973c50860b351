"""Turns bytes that are no text, and texts that are no YAML, into findings (CFG-10)."""

import re
from typing import Final

from yaml.error import MarkedYAMLError, YAMLError

from iop_edge.config.findings import Findings, StopReading
from iop_edge.config.source import Limits, Source
from iop_edge.config.texts import TextPosition, forbidden_in, is_printable_ascii, position_of, without_bom

_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")

# What a parser quotes here is text of the file, which may be a secret that begins with "!".
_QUOTING: Final = re.compile(r"(tag handle) .*", re.DOTALL)

# libyaml's own bound, which a file can reach while the parser still looks for the end of a key.
_TOO_DEEP: Final = "nesting depth"

_HINTS: Final = (
    ("cannot start any token", "indent with spaces; write text that begins with a special character in quotes"),
    ("mapping values are not allowed", "write a value that has a colon and a space in it in quotes"),
    ("question mark", "within { } or [ ] write text that has a question mark in it in quotes"),
    ("unknown escape", "in double quotes a backslash begins an escape; use single quotes, or write it twice"),
)


def check_bytes(source: Source, limits: Limits, findings: Findings) -> None:
    """Check that a file is UTF-8 text of a bearable size.

    Raises:
        StopReading: it is not; the finding says where.
    """
    if len(source.data) > limits.max_bytes:
        findings.add_whole("yaml.size", f"the file has {len(source.data)} bytes; at most {limits.max_bytes} are read")
        raise StopReading
    data = without_bom(source.data)
    if is_printable_ascii(data):
        return
    if data.startswith(_UTF16_MARKS):
        raise findings.stop("yaml.encoding", None, TextPosition(0, 0), "the file is not UTF-8", "save it as UTF-8")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        place = position_of(before, len(before))
        raise findings.stop("yaml.encoding", None, place, "the file is not UTF-8 here", "save it as UTF-8") from None
    match = forbidden_in(text)
    if match is not None:
        place = position_of(text, match.start())
        code = f"U+{ord(match.group()):04X}"
        raise findings.stop("yaml.encoding", None, place, f"the character {code} is not allowed in YAML")


def report_syntax_error(error: YAMLError, source: Source, findings: Findings) -> None:
    """Note what a parser cannot read."""
    mark = None
    problem = "the file is no YAML"
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        problem = _message(error)
    if mark is None:
        findings.add_whole("yaml.syntax", problem)
        return
    rule = "yaml.depth" if _TOO_DEEP in problem else "yaml.syntax"
    findings.add(rule, None, mark, problem, _hint(problem, source, mark.index))


def _message(error: MarkedYAMLError) -> str:
    message = error.problem or "this is no YAML"
    if (
        error.context
        and error.context_mark
        and error.problem_mark
        and error.context_mark.line < error.problem_mark.line
    ):
        message = f"{message}, {error.context} that begins in line {error.context_mark.line + 1}"
    return _QUOTING.sub(r"\1", message)


def _hint(problem: str, source: Source, index: int) -> str:
    near = without_bom(source.data).decode()[max(0, index - 1) : index + 1]
    if near == "${":
        return "within { } or [ ] write a reference in quotes"
    return next((hint for words, hint in _HINTS if words in problem), "")
