"""Texts as libyaml counts their lines and characters, and what is said of bytes and texts that are no YAML (CFG-10)."""

import codecs
import re
from functools import cache
from typing import Final, NamedTuple

from yaml.error import MarkedYAMLError, YAMLError

from iop_edge.config.findings import Findings, StopReading
from iop_edge.config.source import Limits, Source
from iop_edge.rules import Rule

BOM: Final = codecs.BOM_UTF8
_PRINTABLE_ASCII: Final = bytes((0x09, 0x0A, 0x0D, *range(0x20, 0x7F)))
LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
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


class TextPosition(NamedTuple):
    """A place in a text, from 0; columns are code points."""

    line: int
    column: int


def without_bom(data: bytes) -> bytes:
    """Return the bytes without the byte order mark that they may begin with."""
    return data.removeprefix(BOM)


def is_printable_ascii(data: bytes) -> bool:
    """Tell whether bytes are ASCII text that YAML allows, as nearly all configs are, at the cost of one quick scan."""
    return not data.translate(None, _PRINTABLE_ASCII)


def forbidden_in(text: str) -> re.Match[str] | None:
    """Return the first character that YAML does not allow, if there is one."""
    return _forbidden().search(text)


@cache
def _forbidden() -> re.Pattern[str]:
    """What YAML does not call printable, and the byte order mark: libyaml takes one at the start only.

    Compiled when there is a text that may hold one, since that takes long.
    """
    return re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def position_of(text: str, index: int) -> TextPosition:
    """Return where the character with this index stands."""
    line, start = 0, 0
    for match in LINE_BREAK.finditer(text, 0, index):
        line, start = line + 1, match.end()
    return TextPosition(line, index - start)


def check_bytes(source: Source, limits: Limits, findings: Findings) -> None:
    """Check that a file is UTF-8 text of a bearable size.

    Raises:
        StopReading: it is not; the finding says where.
    """
    if len(source.data) > limits.max_bytes:
        findings.add_whole(Rule.YAML_SIZE, f"the file has more than {limits.max_bytes} bytes, the most that is read")
        raise StopReading
    data = without_bom(source.data)
    if is_printable_ascii(data):
        return
    if data.startswith(_UTF16_MARKS):
        raise findings.stop(Rule.YAML_ENCODING, None, TextPosition(0, 0), "the file is not UTF-8", "save it as UTF-8")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        place = position_of(before, len(before))
        raise findings.stop(Rule.YAML_ENCODING, None, place, "the file is not UTF-8 here", "save it as UTF-8") from None
    match = forbidden_in(text)
    if match is not None:
        place = position_of(text, match.start())
        code = f"U+{ord(match.group()):04X}"
        raise findings.stop(Rule.YAML_ENCODING, None, place, f"the character {code} is not allowed in YAML")


def report_syntax_error(error: YAMLError, source: Source, findings: Findings) -> None:
    """Note what a parser cannot read."""
    mark = None
    problem = "the file is not YAML"
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        problem = _message(error)
    if mark is None:
        findings.add_whole(Rule.YAML_SYNTAX, problem)
        return
    rule = Rule.YAML_DEPTH if _TOO_DEEP in problem else Rule.YAML_SYNTAX
    findings.add(rule, None, mark, problem, _hint(problem, source, mark.index))


def _message(error: MarkedYAMLError) -> str:
    message = error.problem or "this is not YAML"
    if (
        error.context
        and error.context_mark
        and error.problem_mark
        and error.context_mark.line < error.problem_mark.line
    ):
        message = f"{message}, {error.context} that begins on line {error.context_mark.line + 1}"
    return _QUOTING.sub(r"\1", message)


def _hint(problem: str, source: Source, index: int) -> str:
    near = without_bom(source.data).decode()[max(0, index - 1) : index + 1]
    if near == "${":
        return "within { } or [ ] write a reference in quotes"
    return next((hint for words, hint in _HINTS if words in problem), "")
