"""What stands in a tree in place of a value while it is loaded. The tree of a snapshot holds none of them."""

from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import Final

from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Reference, Tree


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


def fill_gaps(tree: Tree, message: Message) -> None:
    """Mark, in place, the required fields that a message lacks, since a fault in it was reported.

    What is missing only because of a fault is no fault of its own (CFG-04).
    """
    for name in _needed(message):
        tree.setdefault(name, INVALID)


@cache
def _needed(message: Message) -> tuple[str, ...]:
    """Return the fields that must be given, in every message or in some, or that hold such fields."""
    return tuple(dict.fromkeys(_names(message)))


def _names(message: Message) -> Iterator[str]:
    for name, field in message.fields.items():
        if field.required or (field.is_message and _needed(field.message())) or (field.refers_to and field.is_scalar):
            yield name
        if field.kind is Kind.ENUM and not field.repeated:
            yield from (each for each in _asked_for(field) if _is_own(message, each))


def _asked_for(field: Field) -> Iterator[str]:
    for word in field.enum().words.values():
        yield from word.requires


def _is_own(message: Message, name: str) -> bool:
    return name in message.fields and not message.fields[name].shorthand_for
