"""A config that has been loaded: checked, normalized, and never changed again."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from iop_edge.config.collector import collector_paused
from iop_edge.config.dump import dump
from iop_edge.errors import Violation
from iop_edge.schema import table
from iop_edge.schema.values import ReadTree

if TYPE_CHECKING:
    from iop_pb.iop.config.v1 import EdgeConfig


class Snapshot:
    """A valid, normalized config.

    Two snapshots are equal when their trees are: a value that came from a reference equals the same value written out.
    Nothing that prints a snapshot shows a secret (CFG-08).
    """

    __slots__ = ("_config", "_tree", "_warnings")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tree: ReadTree, warnings: Iterable[Violation] = ()) -> None:
        """Make a snapshot of a normalized tree; its warnings are gone through when somebody asks for them first."""
        self._tree = tree
        self._warnings = warnings
        self._config: EdgeConfig | None = None

    @property
    def tree(self) -> ReadTree:
        """The normalized tree. It is shared and only to be read; it holds secrets."""
        return self._tree

    @property
    def warnings(self) -> tuple[Violation, ...]:
        """What somebody should look at, though the config is valid (VAL-11)."""
        if not isinstance(self._warnings, tuple):
            self._warnings = tuple(self._warnings)
        return self._warnings

    @property
    def config(self) -> "EdgeConfig":
        """The config as the generated message, built when it is asked for first. It holds secrets."""
        if self._config is None:
            from iop_edge.schema.messages import config_message

            with collector_paused():
                self._config = config_message(self._tree)
        return self._config

    def digest(self, key: bytes) -> str:
        """Return the config hash in hex; `key` keeps it from being an oracle for the secrets."""
        from iop_edge.schema import canonical

        return canonical.digest(self._tree, table.root(), key)

    def dump(self) -> str:
        """Return the config as YAML, redacted; without raw secrets it loads again to an equal snapshot (NRM-07)."""
        return dump(self._tree)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self._tree is other._tree or self._tree == other._tree

    def __repr__(self) -> str:
        nodes = len(self._tree.get("nodes", ()))
        models = len(self._tree.get("models", ()))
        return f"Snapshot(edge={self._tree['edge']['id']!r}, nodes={nodes}, models={models})"
