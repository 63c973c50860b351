"""The values of a config tree, and where they came from.

Between the bytes of a file and the generated messages, a config is a tree: a message is a dict from field name to
value, a list is a list, and an enum value is its word. A field that is not set is not in its dict. Trees hold values
alone and compare at C speed, which is what makes a diff of a fleet cheap; messages are built from them once, when
somebody asks. The references that values came from stand beside them, in a tree of their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Union

from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path, Step
from iop_edge.schema.references import is_bare

Tree = dict[str, Any]
"""A message: field name to str, int, float, bool, dict or list of these."""

ReadTree = Mapping[str, Any]
"""A tree that is only read."""

REDACTED: Final = "<redacted>"


@dataclass(frozen=True, slots=True, repr=False)
class Reference:
    """The text that a value was written as (`Bearer ${env:KEY}`).

    `base_dir` is the directory that its file references are relative to.
    """

    text: str
    base_dir: str = ""

    def __repr__(self) -> str:
        # Text around a reference, and the default in one, may be the secret itself.
        return f"Reference({self.text if is_bare(self.text) else '...'})"


ReferenceTree = Mapping[Step, Union[Reference, "ReferenceTree"]]
"""The references in a message, a list or a map, in the shape of its tree: of fields, of the items of a list by their
identity (else by index), or of the values of a map by key. What holds no reference is not in it."""

NONE_BELOW: Final[ReferenceTree] = MappingProxyType({})


def below(references: ReferenceTree, *steps: Step) -> ReferenceTree:
    """Return the references below a place, one step after the other: a field, an item or a key."""
    for step in steps:
        found = references.get(step)
        if found is None or isinstance(found, Reference):
            return NONE_BELOW
        references = found
    return references


def reference(references: ReferenceTree, step: Step) -> Reference | None:
    """Return the reference that a field, an item or a key itself came from."""
    found = references.get(step)
    return found if isinstance(found, Reference) else None


def as_written(references: ReferenceTree, step: Step, text: str) -> str:
    """Return the text of a field, an item or a key as it may be printed: the reference, if it came from one (CFG-08).

    It is for fields that hold no secret.
    """
    found = reference(references, step)
    return found.text if found is not None else text


class References(Mapping[Path, Reference]):
    """The references of a config by path (`nodes[gpu-a].token`), read-only. `tree` holds the same in its shape."""

    __slots__ = ("tree",)

    def __init__(self, tree: ReferenceTree = NONE_BELOW) -> None:
        self.tree = tree

    def __getitem__(self, path: Path) -> Reference:
        if path.parent is not None:
            steps = [each.step for each in path.steps()]
            found = reference(below(self.tree, *steps[:-1]), steps[-1])
            if found is not None:
                return found
        raise KeyError(path)

    def __iter__(self) -> Iterator[Path]:
        return _paths(self.tree, table.root(), ROOT)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self.tree)

    def __repr__(self) -> str:
        return f"References({', '.join(map(str, self))})"


def _paths(references: ReferenceTree, message: table.Message, owner: Path) -> Iterator[Path]:
    for name, found in references.items():
        field, path = message.fields[str(name)], owner.child(str(name))
        if isinstance(found, Reference):
            yield path
        elif field.is_message:
            yield from _paths(found, field.message(), path)
        else:
            for step, entry in found.items():
                here = path.index(step) if isinstance(step, int) else path.key(step)
                if isinstance(entry, Reference):
                    yield here
                else:
                    yield from _paths(entry, field.message(), here)


NO_REFERENCES: Final = References()

LEFT_OUT: Final = object()
"""What `rewritten` leaves out."""

Write = Callable[[table.Field, Any, Reference], Any]
"""Makes another value of one that came from a reference, or `LEFT_OUT`."""


def rewritten(tree: ReadTree, message: table.Message, references: ReferenceTree, write: Write) -> Tree:
    """Return a copy of a tree with what `write` makes of each value that came from a reference."""
    copy = dict(tree)
    for step, found in references.items():
        name = str(step)
        if name not in tree:
            continue
        field, value = message.fields[name], copy.pop(name)
        if isinstance(found, Reference):
            value = write(field, value, found)
        elif field.is_message:
            value = rewritten(value, field.message(), found, write)
        else:
            value = _with_entries_rewritten(value, field, found, write)
        if value is not LEFT_OUT:
            copy[name] = value
    return copy


def _with_entries_rewritten(value: Any, field: table.Field, references: ReferenceTree, write: Write) -> Any:
    new: dict[Step, Any] = {}
    for step, item in entries(field, value).items():
        found = references.get(step)
        if found is None:
            new[step] = item
        elif isinstance(found, Reference):
            new[step] = write(field, item, found)
        else:
            new[step] = rewritten(item, field.message(), found, write)
    kept = {step: item for step, item in new.items() if item is not LEFT_OUT}
    return kept if field.kind is table.Kind.MAP else list(kept.values())


def entries(field: table.Field, value: Any) -> Mapping[Step, Any]:
    """Return the values of a map by key, or the items of a list by their identity, else by index."""
    if field.kind is table.Kind.MAP:
        return dict(value)
    identity = field.message().identity if field.kind is table.Kind.MESSAGE else None
    return dict(enumerate(value)) if identity is None else {item[identity.name]: item for item in value}


def inherited(
    tree: ReadTree, message: table.Message, origins: Sequence[tuple[ReadTree, ReferenceTree]]
) -> ReferenceTree:
    """Return the references of a tree that was put together from others, each given with its references.

    A value has the reference, if any, that it has in the first of them with the same value in the same place.
    """
    found: dict[Step, Reference | ReferenceTree] = {}
    for step in _referenced(origins):
        name = str(step)
        if name in tree:
            below_it = [(values.get(name), references.get(name, NONE_BELOW)) for values, references in origins]
            found[name] = _inherited(message.fields[name], tree[name], below_it)
    return {step: value for step, value in found.items() if value}


def _inherited(field: table.Field, value: Any, origins: Sequence[tuple[Any, Any]]) -> Reference | ReferenceTree:
    if field.is_message:
        return inherited(value, field.message(), [(origin or {}, references) for origin, references in origins])
    if field.is_scalar:
        return _of_same(value, origins)
    own = entries(field, value)
    others = [(entries(field, origin or {}), references) for origin, references in origins]
    found: dict[Step, Reference | ReferenceTree] = {}
    for step in _referenced(others):
        if step in own:
            below_it = [(values.get(step), references.get(step, NONE_BELOW)) for values, references in others]
            if field.is_message_list:
                pairs = [(origin or {}, references) for origin, references in below_it]
                found[step] = inherited(own[step], field.message(), pairs)
            else:
                found[step] = _of_same(own[step], below_it)
    return {step: value for step, value in found.items() if value}


def _referenced(origins: Sequence[tuple[Any, ReferenceTree]]) -> dict[Step, None]:
    return dict.fromkeys(step for _, references in origins for step in references)


def _of_same(value: Any, origins: Sequence[tuple[Any, Any]]) -> Reference | ReferenceTree:
    return next((found for origin, found in origins if origin == value), NONE_BELOW)
