"""The field table, cut for the inner loop of the decoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from iop_edge.config.scalars import BOOLS, item_field
from iop_edge.schema import table
from iop_edge.schema.table import Field, Kind, Message

_MOST_REMEMBERED: Final = 4096


Shape = Literal["scalar", "list", "map", "message", "messages"]
"""How the value of a field is written."""


@dataclass(frozen=True, slots=True, eq=False)
class Slot:
    """A field as the decoder reads it.

    Two shortcuts stand here: `is_text` says that a text which looks like nothing else is its own value, and `known` has
    the values of plain scalars that were read before. `item` is the slot of one item of a list or map.
    """

    name: str
    field: Field
    shape: Shape
    is_text: bool
    known: dict[str, Any]
    item: "Slot | None" = None
    remembers: bool = False

    def remember(self, text: str, value: Any) -> None:
        """Keep the value of a plain scalar, if this is a field whose values come again and again."""
        if self.remembers and len(self.known) < _MOST_REMEMBERED:
            self.known[text] = value


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A message as the decoder reads it: its slots by every spelling of their keys."""

    message: Message
    slots: Mapping[str, Slot]

    def name_of(self, key: str) -> str:
        """Return the name of the field that a key spells, or the key itself."""
        slot = self.slots.get(key)
        return key if slot is None else slot.name


@cache
def plan_of(message_name: str) -> Plan:
    """Return the plan of a message."""
    message = table.message(message_name)
    return Plan(message, {key: _slot(field) for key, field in message.keys.items()})


def _slot(field: Field) -> Slot:
    shape = _shape(field)
    if shape == "scalar":
        return Slot(
            field.name,
            field,
            shape,
            is_text=field.kind is Kind.STRING,
            known=_known(field),
            remembers=field.kind.is_integer,
        )
    item = None if shape == "message" else _slot(item_field(field))
    return Slot(field.name, field, shape, is_text=False, known={}, item=item)


def _shape(field: Field) -> Shape:
    if field.kind is Kind.MAP:
        return "map"
    if field.kind is Kind.MESSAGE:
        return "messages" if field.repeated else "message"
    return "list" if field.repeated else "scalar"


def _known(field: Field) -> dict[str, Any]:
    if field.kind is Kind.BOOL:
        return dict(BOOLS)
    if field.kind is Kind.ENUM:
        enum = field.enum()
        return {word: word for word in (*enum.words, *enum.aliases)}
    return {}
