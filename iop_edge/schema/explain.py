"""What there is to say about a field, for a person who asks: its doc and its whole policy (CFG-09)."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from iop_edge.schema import table
from iop_edge.schema.formats import FORMATS
from iop_edge.schema.paths import ROOT, Path, schema_names
from iop_edge.schema.table import Field, Kind, Message, RefreshClass

_MOST_SUGGESTIONS: Final = 3

_UNIQUE_WITHIN: Final = {"list": "unique in its list", "edge": "unique in the whole config"}


class UnknownPathError(ValueError):
    """A path that is in no config.

    `suggestions` has paths that may have been meant; `hint` says what replaced a legacy key.
    """

    def __init__(self, path: str, suggestions: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(f"no field at {path!r}")
        self.path = path
        self.suggestions = suggestions
        self.hint = hint


@dataclass(frozen=True, slots=True)
class WordDoc:
    """A word that an enum field may hold, and other spellings of it."""

    word: str
    doc: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Child:
    """A field of the message that is explained."""

    name: str
    type: str
    doc: str
    refresh: RefreshClass | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that the schema says of a field.

    `path` has `[]` for every item and key; it is empty for the whole config. `default` is written as it would be in a
    file, and is None where there is none; it counts only where the sibling `default_if` is true, if that is set.
    `spellings` has other keys that are read as this field.
    """

    path: str
    doc: str
    type: str
    default: str | None = None
    default_if: str = ""
    constraints: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    refresh: RefreshClass | None = None
    sensitive: bool = False
    harmless_keys: tuple[str, ...] = ()
    takes_references: bool = False
    spellings: tuple[str, ...] = ()
    words: tuple[WordDoc, ...] = ()
    children: tuple[Child, ...] = ()


def explain(path: str) -> Explanation:
    """Explain the field at a path as a person writes it: `nodes[].address`, `nodes[gpu-a].address` or `nodes.address`.

    Raises:
        UnknownPathError: there is no such field.
    """
    try:
        names = schema_names(path)
    except ValueError as error:
        raise UnknownPathError(path) from error
    if not names:
        root = table.root()
        return Explanation("", root.doc, root.name, children=_children(root))
    owner, here = table.root(), ROOT
    for name in names[:-1]:
        field = _find(owner, name, here, path)
        if field.kind is not Kind.MESSAGE:
            raise UnknownPathError(path, suggestions=(table.pattern(_place(here, field)),))
        owner, here = field.message(), _place(here, field)
    field = _find(owner, names[-1], here, path)
    return _explain_field(field, table.pattern(_place(here, field)))


def yaml_text(value: object) -> str:
    """Return a default as it would be written in a file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def full_doc(field: Field) -> str:
    """Return a field's doc, with what counts where nothing configures it."""
    if field.runtime_default is None:
        return field.doc
    return f"{field.doc} Default at run time, where nothing is configured: {field.runtime_default}."


def type_text(field: Field) -> str:
    """Return the type of a field in words: `int32`, `list of Provider`, `map of string to string`."""
    if field.kind is Kind.MAP:
        return "map of string to string"
    name = field.type_name or field.kind.value
    return f"list of {name}" if field.repeated else name


def _place(owner: Path, field: Field) -> Path:
    here = owner.child(field.name)
    return here.key("") if field.repeated or field.kind is Kind.MAP else here


def _find(owner: Message, name: str, here: Path, asked: str) -> Field:
    field = owner.keys.get(name)
    if field is None:
        raise UnknownPathError(asked, _suggestions(owner, name, here), owner.legacy.get(name, ""))
    return field


def _suggestions(owner: Message, name: str, here: Path) -> tuple[str, ...]:
    """Return paths that may have been meant: a similar name here first, then the same name elsewhere."""
    similar = get_close_matches(name, owner.keys, n=_MOST_SUGGESTIONS)
    found = [table.pattern(_place(here, owner.keys[key])) for key in similar]
    everywhere = _fields_below(table.root(), ROOT)
    found += [table.pattern(place) for place, field in everywhere if name in (field.name, *field.aliases)]
    return tuple(dict.fromkeys(found))[:_MOST_SUGGESTIONS]


def _fields_below(owner: Message, here: Path) -> Iterator[tuple[Path, Field]]:
    for field in owner.fields.values():
        place = _place(here, field)
        yield place, field
        if field.kind is Kind.MESSAGE:
            yield from _fields_below(field.message(), place)


def _explain_field(field: Field, pattern: str) -> Explanation:
    return Explanation(
        path=pattern,
        doc=full_doc(field),
        type=type_text(field),
        default=None if field.default is None else yaml_text(field.default),
        default_if=field.default_if,
        constraints=tuple(_constraints(field)),
        forms=tuple(_forms(field)),
        refresh=field.refresh,
        sensitive=field.sensitive,
        harmless_keys=tuple(sorted(field.harmless_keys)),
        takes_references=field.kind is not Kind.MESSAGE and field.takes_references,
        spellings=field.aliases,
        words=_words(field),
        children=_children(field.message()) if field.kind is Kind.MESSAGE else (),
    )


def _constraints(field: Field) -> Iterator[str]:
    if field.required:
        yield "required"
    yield from _bounds(field)
    if field.format:
        yield FORMATS[field.format].words
    if field.unique:
        yield _UNIQUE_WITHIN[field.unique]
    if field.refers_to:
        yield f"names an {field.refers_to}" if field.refers_to[0] in "aeiou" else f"names a {field.refers_to}"
    if field.caseless_keys:
        yield "keys are case-insensitive"


def _bounds(field: Field) -> Iterator[str]:
    if field.gt is not None:
        yield f"greater than {field.gt}"
    if field.gte is not None:
        yield f"{field.gte} or more"
    if field.lte is not None:
        yield f"{field.lte} or less"
    if field.min_items:
        yield f"items: {field.min_items} or more"
    if field.unique_items:
        yield "no duplicate items"


def _forms(field: Field) -> Iterator[str]:
    """Yield other ways to write the value."""
    if field.kind is Kind.MESSAGE and (scalar := field.message().scalar_form):
        yield f"{'an item' if field.repeated else 'it'} may be written as its `{scalar}` alone"
    if field.mapping_form is not None:
        yield f"the list may be written as a mapping by `{field.mapping_form.key_field}`"
    if field.loose_spelling:
        yield 'a word may be written in any case, and with "-" for "_"'
    if field.unordered:
        yield "the order of the items does not matter"
    if field.shorthand_for:
        yield f"a shorthand: it becomes part of the {field.shorthand_for} that it describes"


def _words(field: Field) -> tuple[WordDoc, ...]:
    if field.kind is not Kind.ENUM:
        return ()
    return tuple(WordDoc(word.word, word.doc, word.aliases) for word in field.enum().words.values())


def _children(message: Message) -> tuple[Child, ...]:
    return tuple(Child(field.name, type_text(field), field.doc, field.refresh) for field in message.fields.values())
