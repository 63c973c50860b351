"""Resolves the references in a tree (CFG-06).

Runs after merging, so that what an overlay replaces need not resolve, and after parsing, so that no value changes the
structure.
"""

from functools import cache
from operator import is_
from typing import Any

from iop_edge.load.findings import Trail, to_path
from iop_edge.load.marks import INVALID
from iop_edge.load.problems import Problem, Problems
from iop_edge.load.references import (
    Part,
    ReferenceFailure,
    ReferenceSyntaxError,
    Resolver,
    lookup,
    parse,
)
from iop_edge.load.scalars import ScalarError, from_text
from iop_edge.schema.paths import Path
from iop_edge.schema.redact import is_secret
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Sourced, Tree


def resolve(tree: Tree, message: Message, resolver: Resolver | None, problems: Problems) -> Tree:
    """Return the tree with its references resolved; the tree that comes in stays as it is.

    Without a resolver they stay unresolved, but what is wrong with their form and place is found all the same. What
    does not resolve becomes `INVALID`.
    """
    return _Resolution(resolver, problems).message(tree, message, None)


@cache
def _containers(message: Message) -> tuple[tuple[str, Field], ...]:
    """The fields that hold more than one scalar."""
    return tuple((name, field) for name, field in message.fields.items() if not field.is_scalar)


class _Resolution:
    def __init__(self, resolver: Resolver | None, problems: Problems) -> None:
        self._resolver = resolver
        self._problems = problems

    def message(self, tree: Tree, message: Message, trail: Trail) -> Tree:
        resolved = tree
        # Nearly all values hold no reference: the ones that do are found by a scan of types that costs next to nothing.
        if Sourced in set(map(type, tree.values())):
            resolved = {
                name: self._sourced(value, message.fields[name], to_path((trail, name, False)))
                if value.__class__ is Sourced
                else value
                for name, value in tree.items()
            }
        for name, field in _containers(message):
            value = tree.get(name)
            if value is None or value is INVALID:
                continue
            new = self._container(value, field, (trail, name, False))
            if new is not value:
                if resolved is tree:
                    resolved = dict(tree)
                resolved[name] = new
        return resolved

    def _container(self, value: Any, field: Field, trail: Trail) -> Any:
        if field.is_message_list:
            message = field.message()
            items = [
                item if item is INVALID else self.message(item, message, (trail, index, False))
                for index, item in enumerate(value)
            ]
            return value if all(map(is_, items, value)) else items
        if field.kind is Kind.MESSAGE:
            return self.message(value, field.message(), trail)
        if field.kind is Kind.MAP:
            return self._map(value, field, trail)
        if Sourced in set(map(type, value)):
            return [
                self._sourced(item, field, to_path((trail, index, False))) if item.__class__ is Sourced else item
                for index, item in enumerate(value)
            ]
        return value

    def _map(self, entries: dict[str, Any], field: Field, trail: Trail) -> dict[str, Any]:
        if Sourced not in set(map(type, entries.values())) and "${" not in "".join(entries):
            return entries
        resolved: dict[str, Any] = {}
        for key, value in entries.items():
            if "${" in key:
                self._fail("reference.not_allowed", to_path((trail, key, True)), "no reference is allowed in a key")
            elif value.__class__ is Sourced:
                resolved[key] = self._sourced(value, field, to_path((trail, key, True)))
            else:
                resolved[key] = value
        return resolved

    def _sourced(self, value: Sourced, field: Field, path: Path) -> Any:
        try:
            parts = parse(value.reference)
        except ReferenceSyntaxError as error:
            key = str(path.step) if path.is_key else ""
            is_hidden = field.masked or is_secret(field, value.reference, key)
            return self._fail("reference.syntax", path, str(error), error.blind_hint if is_hidden else error.hint)
        if all(isinstance(part, str) for part in parts):
            return self._typed("".join(map(str, parts)), field, path, "the text")
        if not field.takes_references:
            what = "an identity" if field.identity else "the name of something else"
            return self._fail("reference.not_allowed", path, f"no reference is allowed in {what}", "write it out")
        if self._resolver is None:
            return value
        texts = [self._part(part, value.base_dir, path, self._resolver) for part in parts]
        if None in texts:
            return INVALID
        result = self._typed("".join(map(str, texts)), field, path, f"the value of {value.reference}")
        return result if result is INVALID else Sourced(value.reference, result, value.base_dir)

    def _part(self, part: Part, base_dir: str, path: Path, resolver: Resolver) -> str | None:
        if isinstance(part, str):
            return part
        try:
            return lookup(part, base_dir, resolver)
        except ReferenceFailure as failure:
            self._fail("reference.missing", path, f"{part}: {failure}")
            return None

    def _typed(self, text: str, field: Field, path: Path, what: str) -> Any:
        if field.kind is Kind.STRING or field.kind is Kind.MAP:
            return text
        try:
            return from_text(field, text)
        except ScalarError as error:
            return self._fail(error.rule, path, f"{what} {error.message}", error.hint)

    def _fail(self, rule: str, path: Path, message: str, hint: str = "") -> Any:
        self._problems.add(Problem(rule, path, message, hint))
        return INVALID
