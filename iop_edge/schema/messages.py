"""Builds the generated messages from trees, and makes them safe to print.

Importing this module imports the generated code, which costs as much as everything else of the library together: only
code that needs messages imports it.
"""

from collections.abc import Iterable
from typing import Any, Final, cast

import betterproto2
from pydantic.dataclasses import rebuild_dataclass

import iop_pb.iop.admin.v1
import iop_pb.iop.config.v1
import iop_pb.iop.runtime.v1
from iop_edge.schema import table
from iop_edge.schema.redact import redact_text
from iop_edge.schema.values import REDACTED, UNRESOLVED, ReadTree, Sourced
from iop_pb.iop.config.v1 import EdgeConfig
from iop_pb.message_pool import default_message_pool


def message_class(name: str) -> type[betterproto2.Message]:
    """Return the generated class of a message, by its name without the package."""
    return _CLASSES[name]


def config_message(tree: ReadTree) -> EdgeConfig:
    """Build the message of a whole config from its normalized tree.

    A value that is unresolved stands in its message as its reference where the field holds text, and is unset
    elsewhere.
    """
    return cast("EdgeConfig", build(tree, table.root()))


def build(tree: ReadTree, message: table.Message) -> betterproto2.Message:
    """Build a message from a tree whose values have been checked against the field table."""
    values: dict[str, Any] = {}
    for name, value in tree.items():
        built = _build_value(value, message.fields[name])
        if built is not UNRESOLVED:
            values[name] = built
    return _CLASSES[message.name](**values)


def _build_value(value: Any, field: table.Field) -> Any:
    if isinstance(value, Sourced):
        if value.value is UNRESOLVED:
            return value.reference if field.kind is table.Kind.STRING else UNRESOLVED
        value = value.value
    if field.kind is table.Kind.MESSAGE:
        message = field.message()
        return [build(item, message) for item in value] if field.repeated else build(value, message)
    if field.kind is table.Kind.MAP:
        return {key: _build_text(item) for key, item in value.items()}
    if field.kind is table.Kind.ENUM:
        words = field.enum().words
        enum = _ENUMS[field.type_name]
        return [enum(words[word].number) for word in value] if field.repeated else enum(words[value].number)
    return [_build_text(item) for item in value] if field.repeated else value


def _build_text(value: Any) -> Any:
    if isinstance(value, Sourced):
        return value.reference if value.value is UNRESOLVED else value.value
    return value


def _shown(message: betterproto2.Message) -> Iterable[str]:
    fields = table.message(_NAMES[type(message)]).fields
    for name, field in fields.items():
        value = getattr(message, name)
        if value is None or value in ([], {}, "", b""):
            continue
        yield f"{name}={_shown_value(field, value)}"


def _shown_value(field: table.Field, value: Any) -> str:
    if field.kind is table.Kind.MAP:
        return repr({key: redact_text(field, item, key) for key, item in value.items()})
    if field.kind is table.Kind.STRING and not field.repeated:
        return repr(redact_text(field, value))
    return REDACTED if field.sensitive else repr(value)


def _safe_repr(message: betterproto2.Message) -> str:
    """Return the fields that are set, sensitive ones redacted (CFG-08)."""
    return f"{type(message).__name__}({', '.join(_shown(message))})"


def _generated_classes() -> dict[str, type[betterproto2.Message]]:
    by_full_name = {url.rpartition("/")[2]: cls for url, cls in default_message_pool.url_to_type.items()}
    return {name: by_full_name[table.message(name).full_name] for name in table.message_names()}


def _generated_enums() -> dict[str, type[betterproto2.Enum]]:
    modules = (iop_pb.iop.config.v1, iop_pb.iop.runtime.v1, iop_pb.iop.admin.v1)
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, betterproto2.Enum)
    }


_CLASSES: Final = _generated_classes()
_ENUMS: Final = _generated_enums()
_NAMES: Final = {cls: name for name, cls in _CLASSES.items()}

for _class in _CLASSES.values():
    # Without this, bytes() of a message that pydantic built from a dict raises.
    rebuild_dataclass(_class)  # type: ignore[arg-type]
    _class.__repr__ = _safe_repr  # type: ignore[method-assign]
