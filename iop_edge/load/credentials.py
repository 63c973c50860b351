"""No raw credential in a tracked file (CFG-07).

Each tracked file is judged by itself, before layers merge: what an overlay replaces stands in the file all the same.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from iop_edge.load.findings import Trail, to_path
from iop_edge.load.problems import Problem, Problems
from iop_edge.load.references import EnvReference, ReferenceSyntaxError, parse
from iop_edge.schema.paths import Path
from iop_edge.schema.redact import is_secret, reveals
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Sourced, Tree

_HINT: Final = "write ${env:NAME} or ${file:PATH}, or set it in a private overlay"


def check(tree: Tree, message: Message, layer: int, problems: Problems) -> None:
    """Find the raw credentials in the tree of a tracked layer."""
    for path, field in _raw(tree, message, None):
        what = "a credential in the URL" if field.format == "http_url" else "a credential"
        problems.add(Problem("credential.tracked", path, f"a tracked file holds {what}", _HINT, layer=layer))


@cache
def _watched(message: Message) -> tuple[tuple[str, Field], ...]:
    """The fields that may hold a credential, or lead to one."""
    return tuple((name, field) for name, field in message.fields.items() if _may_hold(field))


def _may_hold(field: Field) -> bool:
    if field.kind is Kind.MESSAGE:
        return bool(_watched(field.message()))
    return field.sensitive or field.format == "http_url"


def _raw(tree: Tree, message: Message, trail: Trail) -> Iterator[tuple[Path, Field]]:
    for name, field in _watched(message):
        value = tree.get(name)
        if value is not None:
            yield from _raw_values(value, field, (trail, name, False))


def _raw_values(value: Any, field: Field, trail: Trail) -> Iterator[tuple[Path, Field]]:
    if value.__class__ is list:
        for index, item in enumerate(value):
            yield from _raw_values(item, field, (trail, index, False))
    elif value.__class__ is not dict:
        if _is_raw(value, field, ""):
            yield to_path(trail), field
    elif field.kind is Kind.MESSAGE:
        yield from _raw(value, field.message(), trail)
    else:
        for key, item in value.items():
            if _is_raw(item, field, key):
                yield to_path((trail, key, True)), field


def _is_raw(value: Any, field: Field, map_key: str) -> bool:
    """Tell whether a scalar holds a credential that a reader of the file would see, or a default in its place."""
    if value.__class__ is str:
        return bool(value) and is_secret(field, value, map_key)
    if value.__class__ is not Sourced:
        return False
    if reveals(field, value.reference, map_key):
        return True
    return field.sensitive and map_key.lower() not in field.harmless_keys and _has_default(value.reference)


def _has_default(text: str) -> bool:
    try:
        return any(isinstance(part, EnvReference) and part.default is not None for part in parse(text))
    except ReferenceSyntaxError:
        return False
