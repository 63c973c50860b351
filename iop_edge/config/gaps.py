"""Fields that may have been given by something that could not be read (CFG-04).

A fault is reported once: what is missing only because of it is no fault of its own.
"""

from collections.abc import Iterator
from functools import cache

from iop_edge.config.marks import INVALID
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Tree


def fill_gaps(tree: Tree, message: Message) -> None:
    """Mark, in place, the fields that must be given and are not: something in their place was reported."""
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
