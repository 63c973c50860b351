"""The config files of an Edge, which win at its next start (REF-10)."""

import hashlib
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from iop_edge.config.files import STDIN, FileResolver, read_sources
from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.errors import ConfigError, Report
from iop_edge.schema.references import ReferenceFailure, Resolver


@dataclass(slots=True)
class _Recorder:
    """Passes lookups on to another resolver, and remembers a digest of each answer."""

    inner: Resolver
    env_digests: dict[str, bytes] = field(default_factory=dict)
    file_digests: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def env(self, name: str) -> str | None:
        value = self.inner.env(name)
        self.env_digests[name] = _digest(value)
        return value

    def file(self, path: str, base_dir: str) -> str:
        text = _file_or_none(self.inner, path, base_dir)
        self.file_digests[path, base_dir] = _digest(text)
        # Asked again, the resolver raises its own description of the fault.
        return self.inner.file(path, base_dir) if text is None else text

    def holds(self) -> bool:
        """Return whether every answer would be the same now."""
        return all(_digest(self.inner.env(name)) == digest for name, digest in self.env_digests.items()) and all(
            _digest(_file_or_none(self.inner, *key)) == digest for key, digest in self.file_digests.items()
        )


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of the files: its input and its result."""

    sources: tuple[tuple[str, bytes], ...]
    answers: _Recorder
    outcome: Snapshot | Report


class OwnFiles:
    """An Edge's own files. They are loaded again only when they, or what they refer to, have changed.

    Standard input is read once. Several threads may load at the same time.

    Args:
        paths: the tracked files; `-` is standard input.
        private: the private overlays.
    """

    def __init__(self, paths: Sequence[str], private: Sequence[str] = ()) -> None:
        self._paths = tuple(paths)
        self._private = tuple(private)
        self._resolver = FileResolver()
        self._stdin: tuple[Source, ...] = ()
        self._last: _Reading | None = None
        self._lock = threading.Lock()

    @property
    def directories(self) -> tuple[Path, ...]:
        """The directories of the files, from which a proposed candidate may read (CFG-06).

        Standard input has none: the current directory of a service is often the root directory.
        """
        paths = (*self._paths, *self._private)
        return tuple({Path(path).parent: None for path in paths if path != STDIN})

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, and those that they referred to at the last reading."""
        own = tuple(Path(path) for path in (*self._paths, *self._private) if path != STDIN)
        with self._lock:
            last = self._last
        return own if last is None else (*own, *(Path(base, path) for path, base in last.answers.file_digests))

    def overlays(self) -> list[Source]:
        """Read those private overlays that can be read; standard input keeps its content."""
        with self._lock:
            kept = zip((*self._paths, *self._private), self._stdin, strict=False)
            from_stdin = [source for path, source in kept if path == STDIN and source.private]
        found = []
        for path in self._private:
            with suppress(ConfigError):
                found += from_stdin if path == STDIN else read_sources((), (path,))
        return found

    def look(self) -> Snapshot | Report:
        """Load the files and return the config, or what is wrong with them."""
        with self._lock:
            return self._read()

    def load(self) -> Snapshot:
        """Load the files.

        Raises:
            ConfigError: they cannot be used.
        """
        outcome = self.look()
        if isinstance(outcome, Report):
            # A new error: one that is raised repeatedly would collect the tracebacks of all times.
            raise ConfigError(outcome)
        return outcome

    def _read(self) -> Snapshot | Report:
        try:
            sources = self._sources()
        except ConfigError as error:
            self._last = None
            return error.report
        digests = tuple((source.name, hashlib.sha256(source.data).digest()) for source in sources)
        last = self._last
        if last is not None and last.sources == digests and last.answers.holds():
            return last.outcome
        answers = _Recorder(self._resolver)
        outcome: Snapshot | Report
        try:
            outcome = load_sources(sources, answers)
        except ConfigError as error:
            outcome = error.report
        self._last = _Reading(digests, answers, outcome)
        return outcome

    def _sources(self) -> list[Source]:
        """Read the layers in the order of the paths; standard input keeps its content."""
        if STDIN not in (*self._paths, *self._private):
            return read_sources(self._paths, self._private)
        if not self._stdin:
            self._stdin = tuple(read_sources(self._paths, self._private))
            return list(self._stdin)
        return [
            kept if path == STDIN else _read_one(path, private=kept.private)
            for path, kept in zip((*self._paths, *self._private), self._stdin, strict=True)
        ]


def _read_one(path: str, *, private: bool) -> Source:
    (source,) = read_sources((), (path,)) if private else read_sources((path,), ())
    return source


def _file_or_none(resolver: Resolver, path: str, base_dir: str) -> str | None:
    try:
        return resolver.file(path, base_dir)
    except ReferenceFailure:
        return None


def _digest(text: str | None) -> bytes:
    return b"" if text is None else hashlib.sha256(text.encode(errors="surrogateescape")).digest()
