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
    search = _Search()
    search.message(tree, message, None)
    for trail, field in search.found:
        what = "a credential in the URL" if field.format == "http_url" else "a credential"
        problem = Problem(Rule.CREDENTIAL_TRACKED, to_path(trail), f"a tracked file holds {what}", _HINT, layer=layer)
        problems.add(problem)


@cache
def _watched(message: Message) -> tuple[tuple[str, Field], ...]:
    """The fields that may hold a credential, or lead to one."""
    return tuple((name, field) for name, field in message.fields.items() if _may_hold(field))


def _may_hold(field: Field) -> bool:
    return bool(_watched(field.message())) if field.kind is Kind.MESSAGE else may_hold_secret(field)


class _Search:
    """One pass over a tree. A text with references is judged once for each field: a fleet repeats it."""

    def __init__(self) -> None:
        self.found: list[tuple[Trail, Field]] = []
        self._judged: dict[tuple[str, Field, str], bool] = {}

    def message(self, tree: Tree, message: Message, trail: Trail) -> None:
        """Search a message and all below it."""
        for name, field in _watched(message):
            value: Any = tree.get(name)
            kind = value.__class__
            if kind is list:
                for index, item in enumerate(value):
                    self._value(item, field, (trail, name, False), (index, False))
            elif kind is dict and field.kind is Kind.MAP:
                for key, item in value.items():
                    self._value(item, field, (trail, name, False), (key, True))
            elif value is not None:
                self._value(value, field, trail, (name, False))

    def _value(self, value: Any, field: Field, trail: Trail, step: tuple[str | int, bool]) -> None:
        if value.__class__ is dict:
            self.message(value, field.message(), (trail, *step))
        elif self._is_raw(value, field, str(step[0]) if step[1] else ""):
            self.found.append(((trail, *step), field))

    def _is_raw(self, value: Any, field: Field, map_key: str) -> bool:
        """Tell whether a scalar holds a credential that a reader of the file would see, or a default in its place."""
        if value.__class__ is str:
            # Most URLs are seen to be harmless at the cost of one match.
            is_harmless = not value or (not field.sensitive and _is_usual_url(value))
            return not is_harmless and is_secret(field, value, map_key)
        if value.__class__ is not Sourced:
            return False
        key = (value.reference, field, map_key)
        known = self._judged.get(key)
        if known is None:
            known = self._judged[key] = _reveals(*key)
        return known


def _reveals(reference: str, field: Field, map_key: str) -> bool:
    if reveals(field, reference, map_key):
        return True
    return field.sensitive and map_key.lower() not in field.harmless_keys and has_default(reference)
