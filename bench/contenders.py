"""The loads that are measured."""

from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source


class Secrets:
    """Resolves every reference to the same text."""

    def env(self, name: str) -> str | None:
        """Return a value for any variable."""
        return f"made-up-{name}"

    def file(self, path: str, base_dir: str) -> str:
        """Return a text for any file."""
        return f"made-up-{base_dir}/{path}"


def load(data: bytes) -> Snapshot:
    """Load a config up to a snapshot."""
    return load_sources([Source("edge.yaml", data)], Secrets())


def load_messages(data: bytes) -> Snapshot:
    """Load a config up to a snapshot whose messages are built."""
    snapshot = load(data)
    assert snapshot.config is not None
    return snapshot
