"""The schema as typed, frozen records over the generated field table.

Everything that the library knows of a field comes from here: no other module lists fields, defaults or secrets.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from iop_edge.schema.paths import ROOT as ROOT_PATH
from iop_edge.schema.paths import Path
from iop_pb import field_table

INT_RANGES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "int32": (-(2**31), 2**31 - 1),
        "int64": (-(2**63), 2**63 - 1),
        "uint32": (0, 2**32 - 1),
        "uint64": (0, 2**64 - 1),
    }
)


class Kind(Enum):
    """What a field holds; `MAP` is a map from text to text."""

    STRING = "string"
    BYTES = "bytes"
    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    UINT32 = "uint32"
    UINT64 = "uint64"
    DOUBLE = "double"
    ENUM = "enum"
    MESSAGE = "message"
    MAP = "map"

    @property
    def is_integer(self) -> bool:
        """Whether the field holds a whole number."""
        return self.value in INT_RANGES


class RefreshClass(Enum):
    """What a change of a field costs (REF-02)."""

    LIVE = "live"
    RESTART = "restart"


class MappingForm(NamedTuple):
    """How a list of messages is also written as a mapping: see the option of the same name."""

    key_field: str
    value_field: str
    name_field: str


class Word(NamedTuple):
    """One word of an enum. `profiles`, `requires` and `refuses` are set for adapter types."""

    word: str
    number: int
    proto_name: str
    doc: str
    aliases: tuple[str, ...]
    profiles: tuple[str, ...]
    requires: tuple[str, ...]
    refuses: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class EnumType:
    """An enum. `words` has the words that a config may hold, by word; the zero value is none of them."""

    name: str
    full_name: str
    doc: str
    words: Mapping[str, Word]

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Other spellings, each with the word that it stands for."""
        return {alias: word.word for word in self.words.values() for alias in word.aliases}

    @cached_property
    def by_number(self) -> Mapping[int, Word]:
        """The words by their numbers."""
        return {word.number: word for word in self.words.values()}


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One field and its policy. Empty texts and None mean that the option is not set.

    `default` is typed as the field is; `harmless_keys` are in lower case; `type_name` names the message or enum.
    """

    name: str
    number: int
    kind: Kind
    doc: str
    type_name: str = ""
    repeated: bool = False
    oneof: str = ""
    refresh: RefreshClass | None = None
    default: str | bool | int | float | None = None
    default_if: str = ""
    runtime_default: int | None = None
    required: bool = False
    identity: bool = False
    refers_to: str = ""
    sensitive: bool = False
    harmless_keys: frozenset[str] = frozenset()
    masked: bool = False
    format: str = ""
    gt: int | None = None
    gte: int | None = None
    lte: int | None = None
    min_items: int = 0
    unique_items: bool = False
    unordered: bool = False
    unique: str = ""
    aliases: tuple[str, ...] = ()
    mapping_form: MappingForm | None = None
    loose_spelling: bool = False
    caseless_keys: bool = False
    shorthand_for: str = ""

    @property
    def is_message(self) -> bool:
        """Whether the field holds one message."""
        return self.kind is Kind.MESSAGE and not self.repeated

    @property
    def is_message_list(self) -> bool:
        """Whether the field holds a list of messages."""
        return self.kind is Kind.MESSAGE and self.repeated

    @property
    def is_scalar(self) -> bool:
        """Whether the field holds one scalar."""
        return not self.repeated and self.kind not in (Kind.MESSAGE, Kind.MAP)

    @property
    def takes_references(self) -> bool:
        """Whether a value may be a reference: not in identities, nor in what refers to one (CFG-06)."""
        return not self.identity and not self.refers_to

    def folded(self, key: str) -> str:
        """Return what all spellings of a map's key have in common: header names are case-insensitive."""
        return key.lower() if self.caseless_keys else key

    def message(self) -> "Message":
        """Return the type of the message that the field holds."""
        return message(self.type_name)

    def enum(self) -> EnumType:
        """Return the type of the enum that the field holds."""
        return enum(self.type_name)


@dataclass(frozen=True, eq=False)
class Message:
    """A message type. `fields` is in the order of the proto; `legacy` has the refused keys with what replaced them."""

    name: str
    full_name: str
    doc: str
    scalar_form: str
    legacy: Mapping[str, str]
    fields: Mapping[str, Field]

    @cached_property
    def keys(self) -> Mapping[str, Field]:
        """The fields by every spelling of their keys."""
        keys = dict(self.fields)
        for field in self.fields.values():
            keys.update(dict.fromkeys(field.aliases, field))
        return keys

    @cached_property
    def identity(self) -> Field | None:
        """The field that names this message among its siblings."""
        return next((field for field in self.fields.values() if field.identity), None)

    @cached_property
    def required(self) -> tuple[Field, ...]:
        """The fields that must be given."""
        return tuple(field for field in self.fields.values() if field.required)


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "kind": Kind,
    "refresh": RefreshClass,
    "harmless_keys": lambda keys: frozenset(map(str.lower, keys)),
    "mapping_form": MappingForm._make,
}
"""What makes the attributes of a field that are no literals of those in the generated table."""


def _field(name: str, row: Mapping[str, Any]) -> Field:
    return Field(name, **{key: _READERS[key](value) if key in _READERS else value for key, value in row.items()})


@cache
def message(name: str) -> Message:
    """Return a message type by its name without the package.

    Raises:
        KeyError: there is none.
    """
    row = field_table.MESSAGES[name]
    return Message(
        name=name,
        full_name=row["full_name"],
        doc=row["doc"],
        scalar_form=row.get("scalar_form", ""),
        legacy=row.get("legacy", {}),
        fields={field: _field(field, values) for field, values in row["fields"].items()},
    )


@cache
def enum(name: str) -> EnumType:
    """Return an enum type by its name without the package.

    Raises:
        KeyError: there is none.
    """
    row = field_table.ENUMS[name]
    words = {word: Word(word=word, **values) for word, values in row["words"].items() if values["number"]}
    return EnumType(name=name, full_name=row["full_name"], doc=row["doc"], words=words)


def root() -> Message:
    """Return the type of a whole config."""
    return message(field_table.ROOT)


def message_names() -> tuple[str, ...]:
    """Return the names of all messages, those of the admin and runtime services too."""
    return tuple(field_table.MESSAGES)


class Leaf(NamedTuple):
    """A field that holds values rather than messages, with its pattern: lists and maps as `[]`."""

    pattern: str
    owner: Message
    field: Field


def leaves(owner: Message | None = None, path: Path = ROOT_PATH) -> Iterator[Leaf]:
    """Yield every leaf of the config schema, in the order of the proto: `nodes[].providers[].capacity`."""
    owner = root() if owner is None else owner
    for field in owner.fields.values():
        here = path.child(field.name)
        if field.kind is not Kind.MESSAGE:
            marked = here.key("") if field.repeated or field.kind is Kind.MAP else here
            yield Leaf(pattern(marked), owner, field)
        else:
            yield from leaves(field.message(), here.key("") if field.repeated else here)


def pattern(path: Path) -> str:
    """Return a path with every key and index as `[]`."""
    parts = []
    for part in path.steps():
        is_item = part.is_key or isinstance(part.step, int)
        parts.append("[]" if is_item else f".{part.step}")
    return "".join(parts).removeprefix(".")
