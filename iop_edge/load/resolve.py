"""Resolves the references in a tree (CFG-06).

Runs after merging, so that what an overlay replaces need not resolve, and after parsing, so that no value changes the
structure.
"""

from typing import Any

from iop_edge.load.findings import Trail, to_path
from iop_edge.load.marks import INVALID
from iop_edge.load.problems import Problem, Problems
from iop_edge.load.references import (
    EnvReference,
    FileReference,
    Part,
    Reference,
    ReferenceFailure,
    ReferenceSyntaxError,
    Resolver,
    parse,
)
from iop_edge.load.scalars import ScalarError, from_text
from iop_edge.schema.paths import Path
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Sourced, Tree


def resolve(tree: Tree, message: Message, resolver: Resolver | None, problems: Problems) -> Tree:
    """Return the tree with its references resolved; the tree that comes in stays as it is.

    Without a resolver they stay unresolved, but what is wrong with their form and place is found all the same. What
    does not resolve becomes `INVALID`.
    """
    return _Resolution(resolver, problems).message(tree, message, None)


class _Resolution:
    def __init__(self, resolver: Resolver | None, problems: Problems) -> None:
        self._resolver = resolver
        self._problems = problems

    def message(self, tree: Tree, message: Message, trail: Trail) -> Tree:
        resolved = tree
        for name, value in tree.items():
            kind = value.__class__
            if kind is str or kind is int or kind is bool:
                continue
            new = self._value(value, message.fields[name], (trail, name, False))
            if new is not value:
                if resolved is tree:
                    resolved = dict(tree)
                resolved[name] = new
        return resolved

    def _value(self, value: Any, field: Field, trail: Trail) -> Any:
        if value.__class__ is Sourced:
            return self._sourced(value, field, to_path(trail))
        if value.__class__ is list:
            return self._list(value, field, trail)
        if value.__class__ is dict:
            if field.kind is Kind.MAP:
                return self._map(value, field, trail)
            return self.message(value, field.message(), trail)
        return value

    def _list(self, items: list[Any], field: Field, trail: Trail) -> list[Any]:
        resolved = items
        for index, item in enumerate(items):
            if item.__class__ is str:
                continue
            new = self._value(item, field, (trail, index, False))
            if new is not item:
                if resolved is items:
                    resolved = list(items)
                resolved[index] = new
        return resolved

    def _map(self, entries: dict[str, Any], field: Field, trail: Trail) -> dict[str, Any]:
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
            return self._fail("reference.syntax", path, str(error), error.hint)
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
            return _lookup(part, base_dir, resolver)
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


def _lookup(reference: Reference, base_dir: str, resolver: Resolver) -> str:
    if isinstance(reference, FileReference):
        return resolver.file(reference.path, base_dir)
    return _variable(reference, resolver)


def _variable(reference: EnvReference, resolver: Resolver) -> str:
    value = resolver.env(reference.name)
    if reference.default is not None and not value:
        return reference.default
    if value is None:
        raise ReferenceFailure("the environment variable is not set")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ReferenceFailure("the environment variable is not UTF-8") from None
    return value
