"""No raw credential in a tracked file (CFG-07).

Each tracked file is judged by itself, before layers merge: what an overlay replaces stands in the file all the same.
"""

from functools import cache
from typing import Any, Final

from iop_edge.config.findings import Trail, to_path
from iop_edge.config.marks import Sourced
from iop_edge.config.problems import Problem, Problems
from iop_edge.rules import Rule
from iop_edge.schema.formats import FORMATS
from iop_edge.schema.redact import has_default, is_secret, may_hold_secret, reveals
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import Tree

_is_usual_url: Final = FORMATS["http_url"].usual.fullmatch
_HINT: Final = "write ${env:NAME} or ${file:PATH}, or set it in a private overlay"


def check(tree: Tree, message: Message, layer: int, problems: Problems) -> None:
    """Find the raw credentials in the tree of a tracked layer."""
    found: list[tuple[Trail, Field]] = []
    _search(tree, message, None, found)
    for trail, field in found:
        what = "a credential in the URL" if field.format == "http_url" else "a credential"
        problem = Problem(Rule.CREDENTIAL_TRACKED, to_path(trail), f"a tracked file holds {what}", _HINT, layer=layer)
        problems.add(problem)


@cache
def _watched(message: Message) -> tuple[tuple[str, Field], ...]:
    """The fields that may hold a credential, or lead to one."""
    return tuple((name, field) for name, field in message.fields.items() if _may_hold(field))


def _may_hold(field: Field) -> bool:
    return bool(_watched(field.message())) if field.kind is Kind.MESSAGE else may_hold_secret(field)


def _search(tree: Tree, message: Message, trail: Trail, found: list[tuple[Trail, Field]]) -> None:
    for name, field in _watched(message):
        value: Any = tree.get(name)
        kind = value.__class__
        if kind is list:
            for index, item in enumerate(value):
                _search_value(item, field, (trail, name, False), (index, False), found)
        elif kind is dict and field.kind is Kind.MAP:
            for key, item in value.items():
                _search_value(item, field, (trail, name, False), (key, True), found)
        elif value is not None:
            _search_value(value, field, trail, (name, False), found)


def _search_value(
    value: Any, field: Field, trail: Trail, step: tuple[str | int, bool], found: list[tuple[Trail, Field]]
) -> None:
    if value.__class__ is dict:
        _search(value, field.message(), (trail, *step), found)
    elif _is_raw(value, field, str(step[0]) if step[1] else ""):
        found.append(((trail, *step), field))


def _is_raw(value: Any, field: Field, map_key: str) -> bool:
    """Tell whether a scalar holds a credential that a reader of the file would see, or a default in its place."""
    if value.__class__ is str:
        # Most URLs are seen to be harmless at the cost of one match.
        is_harmless = not value or (not field.sensitive and _is_usual_url(value))
        return not is_harmless and is_secret(field, value, map_key)
    if value.__class__ is not Sourced:
        return False
    if reveals(field, value.reference, map_key):
        return True
    return field.sensitive and map_key.lower() not in field.harmless_keys and has_default(value.reference)
