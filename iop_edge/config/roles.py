"""How the nodes of a file are read: which field of the schema a scalar is a value of.

The question is asked for few nodes, so it is answered bottom-up: a node's role follows from that of its parent, and
from those of the aliases of its anchor.
"""

from typing import Literal, NamedTuple

from iop_edge.config.nodes import KEY, MAPPING, SCALAR, TAGGED, Document
from iop_edge.schema import table
from iop_edge.schema.table import Field, Kind, Message


class Role(NamedTuple):
    """How a node is read.

    It is the config itself, the value of a field, an item of the field's list or map, or an entry: what stands behind a
    key where the list is written as a mapping. `map_key` is the key of a map's item, if the schema calls it harmless.
    """

    part: Literal["config", "value", "item", "entry"]
    field: Field | None = None
    map_key: str = ""

    @property
    def message(self) -> Message | None:
        """The message that a mapping in this role is read as, if any."""
        if self.field is None:
            return table.root()
        is_message = self.field.is_message if self.part == "value" else self.field.is_message_list
        return self.field.message() if is_message else None

    @property
    def scalar_field(self) -> Field | None:
        """The field that a scalar in this role is a value of, if any."""
        message = self.message
        if message is not None:
            return message.fields.get(message.scalar_form)
        return self.field if self.field and (self.part != "value" or self.field.is_scalar) else None

    def below_key(self, key: str) -> "Role | None":
        """Return the role of the value of a key, if a mapping in this role is read."""
        if self.message is not None:
            field = self.message.keys.get(key)
            return Role("value", field) if field else None
        if self.field is None or self.part != "value":
            return None
        if self.field.kind is Kind.MAP:
            return Role("item", self.field, key if key.lower() in self.field.harmless_keys else "")
        form = self.field.mapping_form
        if form is not None and form.value_field:
            return Role("value", self.field.message().fields[form.value_field])
        return Role("entry", self.field) if form is not None else None

    def of_item(self) -> "Role | None":
        """Return the role of an item, if a list in this role is read."""
        is_list = self.field is not None and self.field.repeated and self.part in ("value", "entry")
        return Role("item", self.field) if is_list else None


class Roles:
    """The roles of the nodes of one file: several where aliases bring a node to several fields."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[int, tuple[Role, ...]] = {}
        self._aliased: dict[int, set[Role]] = {}
        # Backwards: whatever aliases bring roles to the nodes around an alias stand behind it, and are done already.
        for alias in reversed(document.anchors):
            target = document.target(alias)
            if target is not None:
                self._aliased.setdefault(target, set()).update(self.of(alias))

    def of(self, number: int) -> tuple[Role, ...]:
        """Return the roles of a node; none for keys, and for what no field reads."""
        known = self._known.get(number)
        if known is None:
            own = self._own(number)
            known = tuple(dict.fromkeys([*own, *self._aliased[number]])) if number in self._aliased else own
            if not self._document.has(number, SCALAR):
                self._known[number] = known
        return known

    def messages(self, number: int) -> list[Message]:
        """Return the messages that a mapping is read as."""
        return [role.message for role in self.of(number) if role.message is not None]

    def name_fields(self, number: int) -> bool:
        """Tell whether the keys of a mapping are those of a message, or of a list written as a mapping."""
        return any(role.field is None or role.field.kind is Kind.MESSAGE for role in self.of(number))

    def take_keys(self, number: int) -> bool:
        """Tell whether the keys of a mapping are read: of a message, a map, or a list that is written as a mapping."""
        return any(role.message or role.below_key("") for role in self.of(number))

    def reads(self, number: int) -> list[tuple[Field, str]]:
        """Return the fields that a scalar is a value of, each with the key if that is one of a map."""
        if self._document.has(number, TAGGED):
            return []
        return [(role.scalar_field, role.map_key) for role in self.of(number) if role.scalar_field is not None]

    def _own(self, number: int) -> tuple[Role, ...]:
        """Return the roles that a node has where it stands."""
        document = self._document
        if not number:
            return (Role("config"),)
        parent = document.parents[number]
        above = () if document.has(number, KEY) or document.has(parent, TAGGED) else self.of(parent)
        if not above:
            return ()
        is_in_mapping = document.has(parent, MAPPING)
        key = document.key_of(number if is_in_mapping else parent)
        if key is not None and document.is_merge_key(key):
            return above
        if not is_in_mapping:
            return tuple(role for each in above if (role := each.of_item()))
        if key is None or document.has(key, TAGGED):
            return ()
        name = document.values[key]
        return tuple(role for each in above if (role := each.below_key(name)))
