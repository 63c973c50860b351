"""References in values: `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}` (CFG-06).

This is the only module that knows their grammar.
"""

import re
from pathlib import PurePosixPath
from typing import Final, NamedTuple, Protocol

_NAME: Final = "[A-Za-z_][A-Za-z0-9_]*"
_DOLLAR: Final = re.compile(
    rf"""\$ (?:
        \$                                                        # an escaped dollar sign
      | \{{ env: (?P<env>{_NAME}) (?: :-(?P<default>[^}}]*) )? \}}
      | \{{ file: (?P<file>[^}}]+) \}}
      | \{{ (?P<other>[^}}]*) (?P<end>\}}?)                         # what is meant to be a reference
    )""",
    re.VERBOSE,
)
_ESCAPABLE: Final = re.compile(r"\$(?=[${])")
_is_name: Final = re.compile(_NAME).fullmatch

JSON_PATTERN: Final = r"\$\{(env|file):[^}]*\}"
"""Finds a reference in a text, as a pattern of a JSON Schema; it accepts a little more than the grammar."""

JSON_ANY_PATTERN: Final = r"(^|[^$])\$\{"
"""Finds what begins a reference in a text, as a pattern of a JSON Schema."""

_ANY: Final = "write ${env:NAME} or ${file:PATH}, or $${ for a literal ${"


class ReferenceFailure(Exception):  # noqa: N818 - the domain's word; an error is what a load reports
    """A reference cannot be resolved. The text says why, and never holds a value."""


class Resolver(Protocol):
    """What references resolve against."""

    def env(self, name: str) -> str | None:
        """Return the value of an environment variable, or None where it is not set."""

    def file(self, path: str, base_dir: str) -> str:
        """Return the text of a file; a relative path is below `base_dir`.

        Raises:
            ReferenceFailure: the file cannot be used.
        """


class ReferenceSyntaxError(ValueError):
    """A text in which `${` begins no reference. `hint` says what to write; `blind_hint` does not quote the text."""

    def __init__(self, message: str, hint: str, blind_hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.blind_hint = blind_hint or hint


class EnvReference(NamedTuple):
    """`${env:NAME}`, or with a default."""

    name: str
    default: str | None

    def __str__(self) -> str:
        default = "" if self.default is None else f":-{self.default}"
        return f"${{env:{self.name}{default}}}"


class FileReference(NamedTuple):
    """`${file:PATH}`."""

    path: str

    def __str__(self) -> str:
        return f"${{file:{self.path}}}"


ParsedReference = EnvReference | FileReference
Part = str | ParsedReference


def holds_reference(text: str) -> bool:
    """Tell whether a text must be parsed: it has a reference in it, or an escaped dollar sign."""
    return "${" in text or "$$" in text


def is_bare(text: str) -> bool:
    """Tell whether a text is one reference without a default, and nothing else: it holds no secret itself."""
    match = _DOLLAR.fullmatch(text)
    return match is not None and (match["env"] or match["file"]) is not None and match["default"] is None


def parse(text: str) -> tuple[Part, ...]:
    """Split a text into its references and the literal texts between them; `$$` is read as `$`.

    Raises:
        ReferenceSyntaxError: `${` begins no reference.
    """
    parts: list[Part] = []
    literal = ""
    position = 0
    for match in _DOLLAR.finditer(text):
        literal += text[position : match.start()]
        position = match.end()
        if match.group() == "$$":
            literal += "$"
            continue
        if literal:
            parts.append(literal)
            literal = ""
        parts.append(_reference(match))
    literal += text[position:]
    if literal or not parts:
        parts.append(literal)
    return tuple(parts)


def _reference(match: re.Match[str]) -> ParsedReference:
    env, default, file, other, end = match.group("env", "default", "file", "other", "end")
    if "${" in (default or file or other or ""):
        if other is not None and not end:
            raise _not_closed()
        raise ReferenceSyntaxError("references do not nest", "resolve the inner one where the environment is set")
    if env is not None:
        return EnvReference(env, default)
    if file is not None:
        return FileReference(file)
    if not end:
        raise _not_closed()
    if _is_name(other):
        raise ReferenceSyntaxError("not a reference", f"write ${{env:{other}}}, or $${{ for a literal ${{", _ANY)
    raise ReferenceSyntaxError("not a reference", _ANY)


def _not_closed() -> ReferenceSyntaxError:
    return ReferenceSyntaxError("the reference is not closed", "write ${env:NAME}, or $${ for a literal ${")


def lookup(reference: ParsedReference, base_dir: str, resolver: Resolver) -> str:
    """Return what a reference stands for; its file is relative to `base_dir`.

    Raises:
        ReferenceFailure: it cannot be resolved.
    """
    if isinstance(reference, FileReference):
        return resolver.file(reference.path, base_dir)
    value = resolver.env(reference.name)
    if reference.default is not None and not value:
        return reference.default
    if value is None:
        raise ReferenceFailure("the environment variable is not set")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ReferenceFailure("the environment variable is not UTF-8") from None
    return value


def escape(text: str) -> str:
    """Return the text as it is written in a config, where `$` before `$` or `{` means something else."""
    return _ESCAPABLE.sub("$$", text) if "$" in text else text


def absolute_files(text: str, base_dir: str) -> str:
    """Return a text with references as it would be written in a file of any other directory."""
    parts = (
        FileReference(str(PurePosixPath(base_dir, part.path))) if isinstance(part, FileReference) else part
        for part in parse(text)
    )
    return "".join(escape(part) if isinstance(part, str) else str(part) for part in parts)
