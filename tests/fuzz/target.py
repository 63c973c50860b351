"""The way into the loader for all fuzzing: what is fed, and what must hold for whatever comes out."""

import re
from typing import Final

from iop_edge.config.pipeline import check_sources, load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.errors import ConfigError
from iop_edge.schema.references import ReferenceFailure, Resolver
from iop_edge.schema.values import REDACTED

TRACKED: Final = b"\n#%tracked\n"
"""Begins a tracked layer, within what is fed."""

PRIVATE: Final = b"\n#%private\n"
"""Begins a private overlay."""

_LAYER: Final = re.compile(rb"\n#%(tracked|private)\n")

_ENVIRONMENT: Final = {
    "A": "7",
    "B": "",
    "C": "a: [b",
    "D": "true",
    "E": "http://user:s3cr3t@h/?key=s3cr3t",
    "F": "127.0.0.1:7501",
    "G": "x\x00\r\n\u2028${env:A}",
    "H": "\ud800",
    "I": "0" * 10_000,
}


class _World:
    """What references resolve to: a few texts that fit, and others that mean harm."""

    def env(self, name: str) -> str | None:
        return "s3cr3t" if name.startswith("IOP_") else _ENVIRONMENT.get(name)

    def file(self, path: str, base_dir: str) -> str:
        if len(path) % 2:
            return path
        raise ReferenceFailure(f"nothing is read below {base_dir}")


def sources(data: bytes) -> list[Source]:
    """Return the layers that stand in some bytes: the first one is tracked."""
    first, *rest = _LAYER.split(data)
    layers = [Source("0.yaml", first)]
    for number, (kind, text) in enumerate(zip(rest[::2], rest[1::2], strict=True), 1):
        layers.append(Source(f"{number}.yaml", text, private=kind == b"private"))
    return layers


def feed(data: bytes) -> None:
    """Load layers, as a process that has the secrets and as one that has none.

    Raises:
        Exception: the loader raised something else than a `ConfigError`, or what it gave is not right.
    """
    layers = sources(data)
    for world in (_World(), None):
        try:
            snapshot = load_sources(layers, world)
        except ConfigError as error:
            _check_error(error, layers, world)
        else:
            _check_snapshot(snapshot, world)


def _check_error(error: ConfigError, layers: list[Source], world: Resolver | None) -> None:
    report = check_sources(layers, world)
    assert report == error.report
    assert report.violations
    assert report.total >= len(report.violations)
    names = {source.name for source in layers}
    assert all(violation.span is not None and violation.span.file in names for violation in report.violations)
    str(error).encode()


def _check_snapshot(snapshot: Snapshot, world: Resolver | None) -> None:
    assert bytes(snapshot.config)
    written = snapshot.dump()
    if REDACTED not in written:
        again = load_sources([Source("dump.yaml", written.encode())], world)
        assert again == snapshot
