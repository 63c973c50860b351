"""The generated messages, built from the same plain values as the official ones."""

from typing import Any

import betterproto2
from google.protobuf.descriptor import Descriptor

import iop_pb.iop.options.v1  # noqa: F401 - registers its messages
from iop_pb.message_pool import default_message_pool
from tests.interop import official


def message_class(full_name: str) -> type[betterproto2.Message]:
    """Return the generated class of a message."""
    return default_message_pool.url_to_type[f"type.googleapis.com/{full_name}"]


def build(descriptor: Descriptor, values: dict[str, Any]) -> betterproto2.Message:
    """Build a generated message from plain values."""
    cls = message_class(descriptor.full_name)
    return cls(**{name: _value(cls, descriptor, name, value) for name, value in values.items()})


def of_sample(full_name: str, values: dict[str, Any]) -> betterproto2.Message:
    """Build the generated message of a sample."""
    return build(official.messages()[full_name], values)


def _value(cls: type[betterproto2.Message], descriptor: Descriptor, name: str, value: Any) -> Any:
    field = descriptor.fields_by_name[name]
    if field.enum_type is not None:
        enum = _field_class(cls, name)
        return [enum(item) for item in value] if isinstance(value, list) else enum(value)
    if field.message_type is None or field.message_type.GetOptions().map_entry:
        return value
    if isinstance(value, list):
        return [build(field.message_type, item) for item in value]
    return build(field.message_type, value)


def _field_class(cls: type[betterproto2.Message], name: str) -> Any:
    metadata: Any = cls._betterproto  # type: ignore[arg-type]  # its descriptor is declared for no class at all
    return metadata.cls_by_field[name]
