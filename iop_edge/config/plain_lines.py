"""Takes lines in plain style apart (see `plain`).

Each pattern takes less than YAML would: what it leaves out is for a parser. None goes back over what it has matched, so
that a line costs what its length costs.
"""

import re
from typing import Any, Final

# The forms of a line's value are the numbers of the groups that match them in `_LINE`.
_DASH: Final = 1
BLOCK: Final = 2
"""The form of a value that stands below its key."""
_PLAIN_TEXT: Final = 3
LAST_TEXT: Final = 5
"""Up to this one are the forms of scalars that are text in a text field: they have no `$` in them, and are in quotes
or like nothing but text."""
PLAIN_FORMS: Final = (_PLAIN_TEXT, 6)
"""The forms of scalars without quotes."""
LAST_SCALAR: Final = 8
"""Up to this one are the forms of scalars."""
FLOW_LIST: Final = 9
"""The form of a list of scalars between brackets."""
FLOW_MAPPING: Final = 10
"""The form of a mapping of scalars between braces."""

DOCUMENT_START: Final = "---"
"""Stands in place of a key on the line that may begin a document."""

Entry = tuple[str, int, Any]
"""An entry of a mapping, or with an empty key an item of a list: the key, and the form and the content of the value."""

Line = tuple[int, int, str, int, Any, str]
"""A line: the column where it starts, the column of what comes after the dash of an item, or the same one where there
is no dash, the key, which may be empty, the form and the content of the value, and the line itself without its end."""

END: Final[Line] = (-1, -1, "", BLOCK, "", "")
"""Stands after the last line."""

_BEFORE_SCALARS: Final = 1
"""How many groups more come before those of scalars in `_LINE` than in flow collections."""

MOST_REMEMBERED: Final = 4096
"""How many lines are remembered for the next time that they are written."""

_LONGEST: Final = 8192

_KEY: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,127}+"

# Redacted values begin with "<".
_QUOTED_TEXT: Final = r'"((?!<)[^"\\$\r\n]*+)"|\'((?!<)[^\'$\r\n]*+)\''
_QUOTED: Final = r'"([^"\\\r\n]*+)"|\'([^\'\r\n]*+)\''

# None of YAML's marks begins a plain scalar, and a colon or a space in it has more of it behind it. What begins like a
# number, a bool or null may be one.
_WORD: Final = r"[A-Za-z0-9_./@+~{}=,;%&?()-]"
_PLAIN: Final = rf"((?![TtFfNn])[A-Za-z_/]{_WORD}*+(?:[:\ ]{_WORD}++)*+(?![:\ ]?\$))"
_WORD_OR_DOLLAR: Final = r"[A-Za-z0-9_./@+~${}=,;%&?()-]"
_OTHER: Final = rf"((?:[A-Za-z0-9_./~+$]|-(?=[A-Za-z0-9_.])){_WORD_OR_DOLLAR}*+(?:[:\ ]{_WORD_OR_DOLLAR}++)*+)"

# Between brackets and braces these end a scalar, and so does a comma.
_FLOW_WORD: Final = r"[A-Za-z0-9_./@+~=%-]"
_FLOW_PLAIN: Final = rf"((?![TtFfNn])[A-Za-z_/]{_FLOW_WORD}*+(?:[:\ ]{_FLOW_WORD}++)*+)"
_FLOW_OTHER: Final = rf"((?:[A-Za-z0-9_./~+]|-(?=[A-Za-z0-9_.])){_FLOW_WORD}*+(?:[:\ ]{_FLOW_WORD}++)*+)"
_FLOW_SCALAR: Final = rf"(?:{_FLOW_PLAIN}|{_QUOTED_TEXT}|{_FLOW_OTHER}|{_QUOTED})\ *+(?:,|\Z)"

_ENTRY: Final = re.compile(rf"\ *+(?:({_KEY}):\ ++)?+{_FLOW_SCALAR}")
_LINE: Final = re.compile(
    rf"""
    \ *+
    ((?:-\ ++)?+)
    (?:({_KEY}):(?:\ ++|(?=\r?\Z)))?+
    (?:{_PLAIN}|{_QUOTED_TEXT}|{_OTHER}|{_QUOTED}|\[([^][{{}}\r\n]*+)\]|{{([^][{{}}\r\n]*+)}})?+
    \ *+(?:(?<![^\ ])\#[^\r]*+)?+\r?\Z
    """,
    re.VERBOSE,
)


class NotPlain(Exception):  # noqa: N818 - no error: another reader takes over
    """A file has something in it that is for the decoder to read."""


class Lexer(dict[str, Line | None]):
    """Lines by their text, None for those that hold nothing; a line that is written often is taken apart once.

    Looking a line up raises `NotPlain` where it is of another style. The lines live no longer than the load, since they
    may hold secrets.
    """

    def __missing__(self, text: str) -> Line | None:
        # Lines that come once would fill it, so it begins anew: those that come often are soon back.
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        line = self[text] = _parsed(text)
        return line


def _parsed(text: str) -> Line | None:
    match = _LINE.match(text) if len(text) <= _LONGEST else None
    if match is None:
        if text.rstrip(" \r") == DOCUMENT_START:
            return 0, 0, DOCUMENT_START, BLOCK, "", text
        raise NotPlain
    form = match.lastindex or _DASH
    start, column = match.span(_DASH)
    if form == _DASH:
        if start != column:
            raise NotPlain
        return None
    key, content = match.group(BLOCK, form)
    if form > LAST_SCALAR:
        content = _entries(content, is_mapping=form == FLOW_MAPPING)
    return start, column, key or "", form, content, text


def _entries(content: str, *, is_mapping: bool) -> list[Entry]:
    """Return what stands between brackets or braces."""
    entries: list[Entry] = []
    stop = 0
    for match in _ENTRY.finditer(content):
        form = match.lastindex or 0
        key, scalar = match.group(1, form)
        start, end = match.span()
        if start != stop or (key is not None) != is_mapping:
            raise NotPlain
        entries.append((key or "", form + _BEFORE_SCALARS, scalar))
        stop = end
    if stop != len(content) and not content.isspace():
        raise NotPlain
    return entries
