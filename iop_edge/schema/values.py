"""The values of a config tree.

Between the bytes of a file and the generated messages, a config is a tree: a message is a dict from field name to
value, a list is a list, an enum value is its word, and a scalar that came from a reference is a `Sourced`. A field that
is not set is not in its dict. Trees compare by value at C speed, which is what makes a diff of a fleet cheap; messages
are built from them once, when somebody asks.
"""

from collections.abc import Mapping
from typing import Any, Final

Tree = dict[str, Any]
"""A message: field name to str, int, float, bool, `Sourced`, dict or list of these."""

ReadTree = Mapping[str, Any]
"""A tree that is only read."""

REDACTED: Final = "<redacted>"


class Unresolved:
    """The value of a reference that was left unresolved on purpose (`--offline`)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNRESOLVED"


UNRESOLVED: Final = Unresolved()


class Sourced:
    """A value that came from a reference: equal to any equal value, shown as the reference (CFG-08).

    `reference` is the scalar as it was written (`Bearer ${env:KEY}`), `value` what it resolved to, in the type of its
    field, or `UNRESOLVED`. `base_dir` is the directory that its file references are relative to.
    """

    __slots__ = ("base_dir", "reference", "value")

    def __init__(self, reference: str, value: object, base_dir: str = "") -> None:
        self.reference = reference
        self.value = value
        self.base_dir = base_dir

    def _comparable(self) -> object:
        return self.reference if self.value is UNRESOLVED else self.value

    def __eq__(self, other: object) -> bool:
        mine = self._comparable()
        if isinstance(other, Sourced):
            return mine == other._comparable()
        return mine == other

    def __hash__(self) -> int:
        return hash(self._comparable())

    def __repr__(self) -> str:
        # Text around a reference, and the default in one, may be the secret itself.
        is_bare = self.reference.startswith("${") and self.reference.find("}") == len(self.reference) - 1
        return f"Sourced({self.reference if is_bare and ':-' not in self.reference else '...'})"


def plain(value: object) -> Any:
    """Return the value itself, where it may have come from a reference."""
    return value.value if isinstance(value, Sourced) else value
