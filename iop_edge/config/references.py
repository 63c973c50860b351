"""References in values: `${env:NAME}`, `${env:NAME:-default}` and `${file:PATH}` (CFG-06)."""

import re
from pathlib import PurePosixPath
from typing import Final, NamedTuple, Protocol

_SPECIAL: Final = re.compile(r"\$\$|\$\{([^}]*)(\}?)")
_ENV: Final = re.compile(r"env:([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_FILE: Final = re.compile(r"file:(.+)", re.DOTALL)
_BARE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ANY: Final = "write ${env:NAME} or ${file:PATH}, or $${ for a literal ${"
_ESCAPABLE: Final = re.compile(r"\$(?=[${])")


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
    """A text in which `${` begins no reference. `hint` says what to write; `blind_hint` says it without the text."""

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


Reference = EnvReference | FileReference
Part = str | EnvReference | FileReference


def parse(text: str) -> tuple[Part, ...]:
    """Split a text into its references and what stands between them, `$$` read as `$`.

    Raises:
        ReferenceSyntaxError: `${` begins no reference.
    """
    parts: list[Part] = []
    literal = ""
    position = 0
    for match in _SPECIAL.finditer(text):
        literal += text[position : match.start()]
        position = match.end()
        if match.group() == "$$":
            literal += "$"
            continue
        if literal:
            parts.append(literal)
            literal = ""
        parts.append(_reference(match.group(1), closed=bool(match.group(2))))
    literal += text[position:]
    if literal or not parts:
        parts.append(literal)
    return tuple(parts)


def _reference(inside: str, *, closed: bool) -> Reference:
    if not closed:
        raise ReferenceSyntaxError("a reference that is not closed", "write ${env:NAME}, or $${ for a literal ${")
    if "${" in inside:
        raise ReferenceSyntaxError("references do not nest", "resolve the inner one where the environment is set")
    env = _ENV.fullmatch(inside)
    if env is not None:
        return EnvReference(env.group(1), env.group(2))
    file = _FILE.fullmatch(inside)
    if file is not None:
        return FileReference(file.group(1))
    if _BARE_NAME.fullmatch(inside):
        raise ReferenceSyntaxError("not a reference", f"write ${{env:{inside}}}, or $${{ for a literal ${{", _ANY)
    raise ReferenceSyntaxError("not a reference", _ANY)


def lookup(reference: Reference, base_dir: str, resolver: Resolver) -> str:
    """Return what a reference stands for; its file is relative to `base_dir`.

    Raises:
        ReferenceFailure: it cannot be resolved.
    """
    if isinstance(reference, FileReference):
        return resolver.file(reference.path, base_dir)
    return _variable(reference, resolver)


def _variable(reference: EnvReference, resolver: Resolver) -> str:
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
