"""Reads config files, and what their references point to, for the loader, which itself reads nothing."""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from iop_edge.config.pipeline import check_sources, load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.errors import ConfigError, Report, Span, Violation
from iop_edge.rules import Rule
from iop_edge.schema.references import ReferenceFailure, Resolver

STDIN: Final = "-"
"""The name that stands for standard input in place of a file's."""

MAX_REFERENCED_BYTES: Final = 1024 * 1024
"""The most that a file may have that a value refers to."""

_CHUNK: Final = 1024 * 1024

PathLike = str | os.PathLike[str]


def load(
    paths: PathLike | Sequence[PathLike],
    private: PathLike | Iterable[PathLike] = (),
    *,
    env: Mapping[str, str] | None = None,
    offline: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Snapshot:
    """Load a config from its files.

    Args:
        paths: the tracked file, or several; `-` is standard input.
        private: the overlay that may hold raw secrets, or several, applied in this order.
        env: what `${env:...}` looks names up in; the environment of this process unless given.
        offline: leave references unresolved.
        limits: the bounds of the load (CFG-10).

    Raises:
        ConfigError: the config cannot be used, with every reason.
    """
    return load_sources(read_sources(paths, private, limits), _resolver(env, offline=offline), limits)


def check(
    paths: PathLike | Sequence[PathLike],
    private: PathLike | Iterable[PathLike] = (),
    *,
    env: Mapping[str, str] | None = None,
    offline: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Report:
    """Return what is wrong with a config, and what somebody should look at; the arguments are those of `load`."""
    try:
        sources = read_sources(paths, private, limits)
    except ConfigError as error:
        return error.report
    return check_sources(sources, _resolver(env, offline=offline), limits)


def read_sources(
    paths: PathLike | Sequence[PathLike],
    private: PathLike | Iterable[PathLike] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> list[Source]:
    """Read the layers of a config; of a file over the size limit, enough to see that it is.

    Raises:
        ConfigError: files cannot be read; the report names all of them.
    """
    sources: list[Source] = []
    violations: list[Violation] = []
    for is_private, path in [
        *((False, path) for path in _several(paths)),
        *((True, path) for path in _several(private)),
    ]:
        name = os.fspath(path)
        try:
            data = _read_stdin(limits) if name == STDIN else _read_file(name, limits)
        except OSError as error:
            violations.append(_unreadable(name, error))
        else:
            base_dir = str(Path.cwd() if name == STDIN else Path(name).absolute().parent)
            sources.append(Source("<stdin>" if name == STDIN else name, data, private=is_private, base_dir=base_dir))
    if violations:
        raise ConfigError(Report(tuple(violations), (), len(violations)))
    return sources


class FileResolver:
    """Resolves references against an environment and the file system (CFG-06).

    Args:
        env: the environment; that of this process unless given.
        roots: the only directories that files may be below, after symbolic links are followed; without them, any file
            may be read.
    """

    def __init__(self, env: Mapping[str, str] | None = None, roots: Iterable[PathLike] | None = None) -> None:
        self._env = os.environ if env is None else env
        self._roots = None if roots is None else tuple(Path(root).resolve() for root in roots)

    def env(self, name: str) -> str | None:
        """Return the value of an environment variable, or None where it is not set."""
        return self._env.get(name)

    def file(self, path: str, base_dir: str) -> str:
        """Return the text of a regular file of UTF-8, without its last line break.

        Raises:
            ReferenceFailure: the file cannot be used.
        """
        try:
            target = Path(base_dir, path).resolve()
            if self._roots is not None and not any(target.is_relative_to(root) for root in self._roots):
                raise ReferenceFailure("the file is outside the directories that this Edge reads files from")
            text = _read_referenced(target).decode()
        except (OSError, ValueError, RuntimeError) as error:
            raise ReferenceFailure(_why(error)) from None
        return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _several(paths: PathLike | Iterable[PathLike]) -> tuple[PathLike, ...]:
    return (paths,) if isinstance(paths, str | os.PathLike) else tuple(paths)


def _resolver(env: Mapping[str, str] | None, *, offline: bool) -> Resolver | None:
    return None if offline else FileResolver(env)


def _read_stdin(limits: Limits) -> bytes:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "standard input is closed")
    return _head(sys.stdin.buffer, limits.max_bytes)


def _read_file(name: str, limits: Limits) -> bytes:
    with Path(name).open("rb") as file:
        return _head(file, limits.max_bytes)


def _head(file: BinaryIO, limit: int) -> bytes:
    """Return what is in a file, or enough of it to see that it is over a limit."""
    chunks: list[bytes] = []
    size = 0
    while size <= limit and (chunk := file.read(_CHUNK)):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def _read_referenced(target: Path) -> bytes:
    # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
    descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ReferenceFailure("not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = _head(file, MAX_REFERENCED_BYTES)
    finally:
        os.close(descriptor)
    if len(data) > MAX_REFERENCED_BYTES:
        raise ReferenceFailure(f"the file has more than {MAX_REFERENCED_BYTES} bytes")
    return data


def _unreadable(name: str, error: OSError) -> Violation:
    rule = Rule.FILE_MISSING if isinstance(error, FileNotFoundError | NotADirectoryError) else Rule.FILE_UNREADABLE
    return Violation(rule, "", Span(name), f"the file cannot be read: {_why(error)}")


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "the file is not UTF-8"
    if isinstance(error, OSError):
        return (error.strerror or "it cannot be read").lower()
    return "not a valid file path"
