"""What stands in a tree in place of a value while it is loaded. The tree of a snapshot holds none of them."""

from enum import Enum
from typing import Final

from iop_edge.schema.values import Reference


class Mark(Enum):
    """What there is instead of a value."""

    INVALID = "invalid"
    UNSET = "unset"


INVALID: Final = Mark.INVALID
"""A value stood here and was reported: later steps pass over it, so that one fault is reported once."""

UNSET: Final = Mark.UNSET
"""A null in a private overlay: what the layers below say of this field or map key is removed (CFG-05)."""


class Unresolved:
    """The value of a reference that has not been resolved, or is left unresolved on purpose (`--offline`)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNRESOLVED"


UNRESOLVED: Final = Unresolved()


class Sourced:
    """A value that came from a reference, until the snapshot keeps the two apart.

    `reference` is the scalar as it was written (`Bearer ${env:KEY}`), `value` what it resolved to, in the type of its
    field, or `UNRESOLVED`. `base_dir` is the directory that its file references are relative to. It equals any equal
    value, so that rules need not tell it from one.
    """

    __slots__ = ("base_dir", "reference", "value")

    def __init__(self, reference: str, value: object, base_dir: str = "") -> None:
        self.reference = reference
        self.value = value
        self.base_dir = base_dir

    def plain(self) -> object:
        """Return the value itself, or the text of the reference where it is not resolved."""
        return self.reference if self.value is UNRESOLVED else self.value

    def __eq__(self, other: object) -> bool:
        return self.plain() == (other.plain() if isinstance(other, Sourced) else other)

    def __hash__(self) -> int:
        return hash(self.plain())

    def __repr__(self) -> str:
        return f"Sourced({Reference(self.reference)})"
