"""How the generated messages print: with the fields that are set, and without their secrets (CFG-08)."""

from collections.abc import Callable, Iterable
from typing import Any

from iop_edge.schema import table
from iop_edge.schema.redact import redact_text
from iop_edge.schema.values import REDACTED


def printer(name: str) -> Callable[[Any], str]:
    """Return the `__repr__` of a message, by its name without the package."""

    def shown(message: Any) -> str:
        return f"{type(message).__name__}({', '.join(_fields(message, table.message(name)))})"

    return shown


def _fields(message: Any, kind: table.Message) -> Iterable[str]:
    for name, field in kind.fields.items():
        value = getattr(message, name)
        if value is None or value in ([], {}, "", b""):
            continue
        yield f"{name}={_value(field, value)}"


def _value(field: table.Field, value: Any) -> str:
    if field.kind is table.Kind.MAP:
        return repr({key: redact_text(field, item, key) for key, item in value.items()})
    if field.kind is table.Kind.STRING and not field.repeated:
        return repr(redact_text(field, value))
    return REDACTED if field.sensitive else repr(value)
