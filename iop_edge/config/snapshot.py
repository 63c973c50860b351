"""A config that has been loaded: checked, normalized, and never changed again."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn, cast

from iop_edge.config.dump import dump, dump_for_history
from iop_edge.errors import Violation
from iop_edge.schema import table
from iop_edge.schema.values import NO_REFERENCES, ReadTree, References

if TYPE_CHECKING:
    from iop_pb import trees
    from iop_pb.iop.config.v1 import EdgeConfig


class Snapshot:
    """A valid, normalized config.

    Two snapshots are equal when their trees are: a value that came from a reference equals the same value written out.
    Nothing that prints a snapshot shows a secret (CFG-08).
    """

    __slots__ = ("_config", "_is_offline", "_references", "_tree", "_warnings")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        tree: ReadTree,
        references: References = NO_REFERENCES,
        warnings: Iterable[Violation] = (),
        *,
        is_offline: bool = False,
    ) -> None:
        """Make a snapshot of a normalized tree; its warnings are gone through when somebody asks for them first."""
        self._tree = cast("trees.EdgeConfig", tree)
        self._references = references
        self._is_offline = is_offline
        self._warnings = warnings
        self._config: EdgeConfig | None = None

    @property
    def tree(self) -> "trees.EdgeConfig":
        """The normalized tree. It is shared and only to be read; it holds secrets.

        An unresolved value is the text of its reference.
        """
        return self._tree

    @property
    def references(self) -> References:
        """The references that values came from, by path (`nodes[gpu-a].token`): they are shown in place of those."""
        return self._references

    @property
    def is_offline(self) -> bool:
        """Whether references were left unresolved: such a config can be looked at, but not run."""
        return self._is_offline

    @property
    def warnings(self) -> tuple[Violation, ...]:
        """What somebody should look at, though the config is valid (VAL-11)."""
        if not isinstance(self._warnings, tuple):
            self._warnings = tuple(self._warnings)
        return self._warnings

    @property
    def config(self) -> "EdgeConfig":
        """The config as the generated message, built when it is asked for first. It holds secrets.

        In an offline snapshot a value that is unresolved is the text of its reference where the field holds text, and
        is unset elsewhere.
        """
        if self._config is None:
            from iop_edge.schema.messages import config_message, without_unresolved

            tree = without_unresolved(self.tree, table.root(), self.references.tree) if self.is_offline else self.tree
            self._config = config_message(tree)
        return self._config

    def digest(self, key: bytes) -> str:
        """Return the config hash in hex; `key` keeps it from being an oracle for the secrets."""
        from iop_edge.schema import canonical

        return canonical.digest(self.tree, table.root(), key)

    def dump(self) -> str:
        """Return the config as YAML, redacted; without raw secrets it loads again to an equal snapshot (NRM-07)."""
        return dump(self.tree, self.references)

    def dump_for_history(self) -> str:
        """Return the config as `dump` does, with file references that hold from any directory (REF-11)."""
        return dump_for_history(self.tree, self.references)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self.tree is other.tree or self.tree == other.tree

    def __repr__(self) -> str:
        nodes = len(self.tree.get("nodes", ()))
        models = len(self.tree.get("models", ()))
        return f"Snapshot(edge={self.tree['edge']['id']!r}, nodes={nodes}, models={models})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a snapshot holds secrets: it is not pickled")
