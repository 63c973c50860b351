"""Resolves the references in a tree (CFG-06).

Runs after merging, so that what an overlay replaces need not resolve, and after parsing, so that no value changes the
structure. While the loader works, a value and its reference stand together (`Sourced`), so that a report can name the
reference; a snapshot keeps them apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import is_
from typing import Any, NamedTuple

from iop_edge.config.findings import Trail, to_path
from iop_edge.config.marks import INVALID, UNRESOLVED, Sourced
from iop_edge.config.positions import Moves
from iop_edge.config.problems import Problem, Problems
from iop_edge.config.scalars import ScalarError, from_text
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.paths import Step
from iop_edge.schema.redact import is_secret
from iop_edge.schema.references import (
    Part,
    ReferenceFailure,
    ReferenceSyntaxError,
    Resolver,
    lookup,
    parse,
)
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import ReadTree, Reference, References, Tree, rewritten


class Resolved(NamedTuple):
    """A tree whose references are resolved, and the places of those that were."""

    tree: Tree
    places: Sequence[Trail]


def resolve(tree: Tree, referring: frozenset[Field], resolver: Resolver | None, problems: Problems) -> Resolved:
    """Resolve the references of a tree; the tree that comes in stays as it is.

    Without a resolver they stay unresolved, but what is wrong with their form and place is found all the same. What
    does not resolve becomes `INVALID`.

    Args:
        tree: the tree.
        referring: the fields in which references stand: nothing else is looked at.
        resolver: what references resolve against.
        problems: where to record what does not resolve.
    """
    run = _Run(referring, resolver, problems)
    return Resolved(run.message(tree, table.root(), None), run.places)


def take_apart(tree: Tree, places: Iterable[Trail], moves: Moves) -> References:
    """Leave the values alone in a normalized tree, in place, and return the references that they came from.

    Args:
        tree: the tree. In one that breaks rules, values at places that no sound tree has keep their references.
        places: where it had references when they were resolved.
        moves: what has moved since.
    """
    references: dict[Step, Any] = {}
    made = {(node, provider): instance for (node, instance), provider in moves.made.items()}
    for place in places:
        steps = _steps(place)
        _take_apart(tree, steps, references)
        is_of_provider = len(steps) > 4 and (steps[0], steps[2]) == ("nodes", "providers")
        instance = made.get((steps[1], steps[3])) if is_of_provider else None
        if instance is not None:
            # A provider's field may have moved to the instance made of it, and its type is there too.
            _take_apart(tree, [*steps[:2], "adapters", instance, *steps[4:]], references)
    return References(references)


def put_together(tree: ReadTree, references: References, *, is_offline: bool) -> Tree:
    """Return a copy of a tree in which values stand with their references again, as rules and reports take them."""

    def sourced(_field: Field, value: Any, reference: Reference) -> Sourced:
        return Sourced(reference.text, UNRESOLVED if is_offline else value, reference.base_dir)

    return rewritten(tree, table.root(), references.tree, sourced)


def _steps(trail: Trail) -> list[Any]:
    steps: list[Any] = []
    while trail is not None:
        trail, step, _ = trail
        steps.append(step)
    return steps[::-1]


def _take_apart(tree: Tree, steps: Sequence[Any], references: dict[Step, Any]) -> None:
    """Take one value from its reference; of a list of scalars, which may have been sorted since, all of them."""
    owner: Any = tree
    keys: list[Any] = []
    fields: Mapping[str, Field] = table.root().fields
    field: Field | None = None
    for step in steps[:-1]:
        key = step
        if field is None:
            if step not in owner:
                return
            field, owner = fields[step], owner[step]
        else:
            owner = owner[step]
            identity = field.message().identity
            key = step if identity is None or owner is INVALID else owner.get(identity.name)
        if owner.__class__ not in (dict, list) or key.__class__ not in (str, int):
            return
        keys.append(key)
        if owner.__class__ is dict and field.kind is Kind.MESSAGE:
            fields, field = field.message().fields, None
    for step in range(len(owner)) if owner.__class__ is list else steps[-1:]:
        value = owner[step] if owner.__class__ is list else owner.get(step)
        if value.__class__ is Sourced:
            owner[step] = value.plain()
            below: dict[Step, Any] = references
            for key in keys:
                below = below.setdefault(key, {})
            below[step] = Reference(value.reference, value.base_dir)


@lru_cache(maxsize=256)
def _watched(message: Message, referring: frozenset[Field]) -> Mapping[str, Field]:
    """Return the fields of a message in which references stand, and those that lead to such fields."""
    return {
        name: field
        for name, field in message.fields.items()
        if field in referring or (field.kind is Kind.MESSAGE and _watched(field.message(), referring))
    }


class _Run:
    """One pass over a tree. What a reference resolves to is looked up once for each field that it stands in.

    A message, a list or a map comes out as itself where nothing in it is to be resolved.
    """

    def __init__(self, referring: frozenset[Field], resolver: Resolver | None, problems: Problems) -> None:
        self._referring = referring
        self._resolver = resolver
        self._problems = problems
        self.places: list[Trail] = []
        self._known: dict[tuple[str, str, Field], Any] = {}

    def message(self, tree: Tree, message: Message, trail: Trail) -> Tree:
        """Return a message resolved."""
        fields = _watched(message, self._referring)
        resolved = tree
        for name, value in tree.items() if fields else ():
            field = fields.get(name)
            if field is None:
                continue
            new = self._value(value, field, (trail, name, False))
            if new is not value:
                if resolved is tree:
                    resolved = dict(tree)
                resolved[name] = new
        return resolved

    def _value(self, value: Any, field: Field, trail: Trail) -> Any:
        kind = value.__class__
        if kind is Sourced:
            return self.sourced(value, field, trail)
        if kind is list:
            items = [self._value(item, field, (trail, index, False)) for index, item in enumerate(value)]
            return value if all(map(is_, items, value)) else items
        if kind is dict:
            is_map = field.kind is Kind.MAP
            return self._map(value, field, trail) if is_map else self.message(value, field.message(), trail)
        return value

    def _map(self, entries: dict[str, Any], field: Field, trail: Trail) -> dict[str, Any]:
        if Sourced not in set(map(type, entries.values())) and "${" not in "".join(entries):
            return entries
        resolved: dict[str, Any] = {}
        for key, value in entries.items():
            here = (trail, key, True)
            if "${" in key:
                self.fail(Rule.REFERENCE_NOT_ALLOWED, here, "a reference is not allowed in a key")
            else:
                resolved[key] = self._value(value, field, here)
        return resolved

    def sourced(self, value: Sourced, field: Field, trail: Trail) -> Any:
        """Return what a value with references in it resolves to, or `INVALID`."""
        key = (value.reference, value.base_dir, field)
        known = self._known.get(key)
        if known is None:
            known = self._sourced(value, field, trail)
            if known is not INVALID:  # a fault is reported at each of its places
                self._known[key] = known
        if known.__class__ is Sourced:
            self.places.append(trail)
        return known

    def _sourced(self, value: Sourced, field: Field, trail: Trail) -> Any:
        try:
            parts = parse(value.reference)
        except ReferenceSyntaxError as error:
            key = str(trail[1]) if trail is not None and trail[2] else ""
            is_hidden = field.masked or is_secret(field, value.reference, key)
            return self.fail(Rule.REFERENCE_SYNTAX, trail, str(error), error.blind_hint if is_hidden else error.hint)
        if all(isinstance(part, str) for part in parts):
            return self._typed("".join(map(str, parts)), field, trail, "the text")
        if not field.takes_references:
            what = "an identity" if field.identity else "the name of something else"
            return self.fail(Rule.REFERENCE_NOT_ALLOWED, trail, f"a reference is not allowed in {what}", "write it out")
        if self._resolver is None:
            return value
        texts = [self._part(part, value.base_dir, trail, self._resolver) for part in parts]
        if None in texts:
            return INVALID
        result = self._typed("".join(map(str, texts)), field, trail, f"the value of {value.reference}")
        return result if result is INVALID else Sourced(value.reference, result, value.base_dir)

    def _part(self, part: Part, base_dir: str, trail: Trail, resolver: Resolver) -> str | None:
        if isinstance(part, str):
            return part
        try:
            return lookup(part, base_dir, resolver)
        except ReferenceFailure as failure:
            self.fail(Rule.REFERENCE_MISSING, trail, f"{part}: {failure}")
            return None

    def _typed(self, text: str, field: Field, trail: Trail, what: str) -> Any:
        if field.kind is Kind.STRING or field.kind is Kind.MAP:
            return text
        try:
            return from_text(field, text)
        except ScalarError as error:
            return self.fail(error.rule, trail, f"{what} {error.message}", error.hint)

    def fail(self, rule: Rule, trail: Trail, message: str, hint: str = "") -> Any:
        """Record a problem, and return what stands in place of a value then."""
        self._problems.add(Problem(rule, to_path(trail), message, hint))
        return INVALID
