"""What a step of the loader finds wrong, before its position in a file is looked up.

Most loads find nothing, so a step carries only a cheap trail of names and indexes with it; paths are made when a
problem is recorded, and positions when all steps are done. The functions in lower case make the problems of the kinds
that several places find.
"""

import json
from collections import Counter
from typing import Any, Final, NamedTuple

from iop_edge.config.marks import INVALID, UNRESOLVED, Sourced
from iop_edge.errors import MAX_LISTED, MAX_TEXT, shortened
from iop_edge.rules import Rule
from iop_edge.schema.paths import Path
from iop_edge.schema.redact import is_secret, is_withheld, looks_like_credential, reveals
from iop_edge.schema.table import Field
from iop_edge.schema.values import REDACTED

_LONGEST_SHOWN: Final = 60


class Problem(NamedTuple):
    """One broken rule, at a path.

    The path is one of the merged config, or, where `layer` is set, one of that layer's own file. `other` is the second
    place that the problem is about, with a layer of its own.
    """

    rule: Rule
    path: Path
    message: str
    hint: str = ""
    layer: int | None = None
    other: Path | None = None
    other_layer: int | None = None


def required(path: Path, message: str, hint: str = "") -> Problem:
    """Return the problem of a field that must be set."""
    return Problem(Rule.FIELD_REQUIRED, path, message, hint)


def invalid(rule: Rule, path: Path, message: str, hint: str = "") -> Problem:
    """Return the problem of a value that is not what its field takes."""
    return Problem(rule, path, message, hint)


def duplicate(path: Path, what: str, other: Path) -> Problem:
    """Return the problem of a value that must be unique and is used at another place too."""
    return Problem(Rule.ID_DUPLICATE, path, f"{what} is already used", other=other)


def not_found(path: Path, message: str, hint: str = "") -> Problem:
    """Return the problem of a name that refers to nothing."""
    return Problem(Rule.REF_UNKNOWN, path, message, hint)


def ambiguous(path: Path, message: str, hint: str, other: Path | None = None) -> Problem:
    """Return the problem of a name that fits several things."""
    return Problem(Rule.REF_AMBIGUOUS, path, message, hint, other=other)


class Problems:
    """Collects problems: all are counted, and of each rule the first ones are kept."""

    def __init__(self) -> None:
        self.kept: list[Problem] = []
        self._counts: Counter[str] = Counter()

    def add(self, problem: Problem) -> None:
        """Record a problem."""
        self._counts[problem.rule] += 1
        if self._counts[problem.rule] <= MAX_LISTED:
            message, hint = shortened(problem.message, MAX_TEXT), shortened(problem.hint, MAX_TEXT)
            self.kept.append(problem._replace(message=message, hint=hint))

    @property
    def total(self) -> int:
        """How many were recorded."""
        return self._counts.total()


def known(value: Any) -> Any:
    """Return a value as rules may judge it, or None where there is none, or none that is known."""
    if value.__class__ is Sourced:
        value = value.value
    return None if value is UNRESOLVED or value is INVALID else value


def told(value: Any) -> str:
    """Return a value of a field that holds no secret as a message names it: a reference as it is written (CFG-08)."""
    if isinstance(value, Sourced):
        return value.reference
    if not isinstance(value, str):
        return str(value)
    if looks_like_credential(value):
        return REDACTED
    text = value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "..."
    return json.dumps(text, ensure_ascii=not text.isprintable())


def shown(field: Field, value: Any, map_key: str = "") -> str:
    """Return `, got VALUE` for a message, or nothing where the value is not to be seen (CFG-08)."""
    if isinstance(value, Sourced):
        hidden = field.masked or reveals(field, value.reference, map_key)
        return "" if hidden else f", got the value of {value.reference}"
    if field.masked or field.sensitive or is_secret(field, str(value), map_key):
        return ""
    if isinstance(value, str) and is_withheld(field, value):
        return ""
    return f", got {told(value)}"
