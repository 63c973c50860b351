"""Filled instances of every message, made from its descriptor: a new field is in every comparison by itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from tests.interop import official

FIELD_MASK = "google.protobuf.FieldMask"

_INT_BOUNDS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
}

_UNKNOWN_NUMBER = 12345

_DEPTH = 6
"""Messages that hold themselves end here."""


@dataclass(frozen=True)
class Sample:
    """A message as plain values: a dict a message, a list a list, a number an enum value."""

    message: str
    label: str
    values: dict[str, Any]

    @property
    def id(self) -> str:
        """The name of the test that compares it."""
        return f"{self.message}-{self.label}"

    @property
    def holds_field_mask(self) -> bool:
        """Whether a field mask may stand in it."""
        return official.holds(official.messages()[self.message], FIELD_MASK)


Scalar = Callable[[FieldDescriptor], Any]


def typical(field: FieldDescriptor) -> Any:
    """A value that differs from field to field."""
    if field.enum_type is not None:
        return field.enum_type.values[-1].number
    if field.type in _INT_BOUNDS:
        return 1000 + field.number
    if field.type == FieldDescriptor.TYPE_BOOL:
        return True
    return f"{field.name}-ü€𝄞".encode() if field.type == FieldDescriptor.TYPE_BYTES else f'{field.name}-ü€𝄞 "\\\n'


def lowest(field: FieldDescriptor) -> Any:
    """The smallest number, an enum number that nobody has declared, and text that JSON must escape."""
    if field.enum_type is not None:
        return -1
    if field.type in _INT_BOUNDS:
        return _INT_BOUNDS[field.type][0]
    if field.type == FieldDescriptor.TYPE_BOOL:
        return False
    return b"\x00\xff" if field.type == FieldDescriptor.TYPE_BYTES else "\x00\x7f\u2028</script>"


def highest(field: FieldDescriptor) -> Any:
    """The greatest number, another undeclared enum number, and a long text."""
    if field.enum_type is not None:
        return _UNKNOWN_NUMBER
    if field.type in _INT_BOUNDS:
        return _INT_BOUNDS[field.type][1]
    if field.type == FieldDescriptor.TYPE_BOOL:
        return True
    return b"\x80" * 300 if field.type == FieldDescriptor.TYPE_BYTES else "x" * 300


def zero(field: FieldDescriptor) -> Any:
    """The value of a field that is not set: it counts only where presence is explicit."""
    if field.enum_type is not None or field.type in _INT_BOUNDS:
        return 0
    if field.type == FieldDescriptor.TYPE_BOOL:
        return False
    return b"" if field.type == FieldDescriptor.TYPE_BYTES else ""


def samples() -> Iterator[Sample]:
    """Yield the instances of all messages."""
    for name, descriptor in official.messages().items():
        yield Sample(name, "empty", {})
        for scalar in (typical, lowest, highest, zero):
            for label, values in _variants(descriptor, scalar):
                yield Sample(name, f"{scalar.__name__}{label}", values)


def _variants(descriptor: Descriptor, scalar: Scalar) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield one instance a member of the message's oneof, or one where there is none."""
    choices = [member for oneof in _real_oneofs(descriptor) for member in oneof]
    if not choices:
        yield "", _filled(descriptor, scalar, 0)
    for member in choices:
        yield f"-{member.name}", _filled(descriptor, scalar, 0, chosen=member.name)


def _real_oneofs(descriptor: Descriptor) -> list[list[FieldDescriptor]]:
    """Return the members of each oneof but those that only carry `optional`."""
    return [list(oneof.fields) for oneof in descriptor.oneofs if not oneof.name.startswith("_")]


def _filled(descriptor: Descriptor, scalar: Scalar, depth: int, chosen: str = "") -> dict[str, Any]:
    if descriptor.full_name == FIELD_MASK:
        return {"paths": ["some_field", "other.nested_field"]}
    left_out = {member.name for oneof in _real_oneofs(descriptor) for member in oneof} - {chosen}
    if not chosen:
        left_out -= {oneof[-1].name for oneof in _real_oneofs(descriptor)}
    return {
        field.name: _value(field, scalar, depth + 1)
        for field in descriptor.fields
        if field.name not in left_out and not (field.message_type is not None and depth >= _DEPTH)
    }


def _value(field: FieldDescriptor, scalar: Scalar, depth: int) -> Any:
    if field.message_type is None:
        return [scalar(field), typical(field), scalar(field)] if field.is_repeated else scalar(field)
    if field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields
        return {f"{key.name} b": scalar(value), "": typical(value), "a": scalar(value)}
    item = _filled(field.message_type, scalar, depth)
    return [item, {}, item] if field.is_repeated else item
