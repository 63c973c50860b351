"""Reads protobuf messages from a peer's bytes, strictly.

The message library decodes much that is no message of the type at all. Bytes that come from outside this process pass
a structural check first: wire types, lengths, UTF-8, nesting, no field twice that may stand once. Unknown fields pass;
who must not meet any looks for them afterwards (`unknown_parts`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

import betterproto2

from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path

MAX_DEPTH: Final = 64

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_WIRE_TYPES: Final = {
    **dict.fromkeys(betterproto2.WIRE_VARINT_TYPES, _VARINT),
    **dict.fromkeys(betterproto2.WIRE_FIXED_64_TYPES, _FIXED64),
    **dict.fromkeys(betterproto2.WIRE_FIXED_32_TYPES, _FIXED32),
    **dict.fromkeys(betterproto2.WIRE_LEN_DELIM_TYPES, _LENGTH),
}
_FIXED_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_MAX_FIELD_NUMBER: Final = (1 << 29) - 1
_MAX_VARINT_BYTES: Final = 10
_SHORT_VARINTS: Final = [bytes((value,)) for value in range(0x80)]

_M = TypeVar("_M", bound=betterproto2.Message)


class WireError(ValueError):
    """Bytes that are no message of the expected type. The message names fields, never values."""


@dataclass(frozen=True, slots=True)
class _WireField:
    name: str
    proto_type: str
    wire_type: int
    message: type[betterproto2.Message] | None
    repeated: bool
    oneof: str

    @property
    def may_be_packed(self) -> bool:
        return self.repeated and self.wire_type != _LENGTH

    @property
    def stands_once(self) -> bool:
        return self.proto_type == betterproto2.TYPE_MESSAGE and not self.repeated


def decode(cls: type[_M], data: bytes) -> _M:
    """Decode a message that a peer has sent.

    Raises:
        WireError: the bytes are no message of this type.
    """
    _check_message(cls, memoryview(data), cls.__name__, MAX_DEPTH)
    try:
        return cls.parse(data)
    except Exception as error:  # noqa: BLE001
        # The library's own errors quote the values that they complain about.
        raise WireError(f"{cls.__name__}: not decodable ({type(error).__name__})") from None


def require_few(cls: type[betterproto2.Message], data: bytes, most: int) -> None:
    """Check that bytes hold at most so many fields, those of nested messages not counted.

    To build a message costs a hundred times what its bytes cost to read: a peer's list needs a bound of its own.

    Raises:
        WireError: there are more, or the bytes are no message.
    """
    view, path = memoryview(data), cls.__name__
    count = position = 0
    while position < len(view):
        key, position = _varint(view, position, path)
        _, position = _value(view, position, key & 7, path)
        count += 1
        if count > most:
            raise WireError(f"{path}: more than {most} fields")


def number_field(number: int, value: int) -> bytes:
    """Return an unsigned number as a field. Fields that follow each other are a message: one can be put together."""
    return varint_bytes(number << 3 | _VARINT) + varint_bytes(value)


def bytes_field(number: int, data: bytes) -> tuple[bytes, bytes]:
    """Return bytes, or an encoded message, as a field in two parts to be joined: what is encoded once is sent often."""
    return varint_bytes(number << 3 | _LENGTH) + varint_bytes(len(data)), data


def unknown_parts(message: betterproto2.Message, kind: table.Message, path: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield what this software does not know in a message, or misses: the place, and what is wrong there.

    That are fields beyond the schema, enum values beyond their enum or not given, and a choice without a set branch.
    """
    if message._unknown_fields:  # noqa: SLF001
        yield path, "contains an unknown field"
    for choice in _unset_choices(message, kind):
        yield path.child(choice), "is not set, or is of an unknown kind"
    for field in kind.fields.values():
        yield from _unknown_in_field(getattr(message, field.name), field, path.child(field.name))


def _unset_choices(message: betterproto2.Message, kind: table.Message) -> Iterator[str]:
    choices = dict.fromkeys(field.oneof for field in kind.fields.values() if field.oneof)
    for choice in choices:
        branches = [name for name, field in kind.fields.items() if field.oneof == choice]
        if all(getattr(message, name) is None for name in branches):
            yield choice


def _unknown_in_field(value: object, field: table.Field, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_in_field(item, field, path.index(index))
    elif field.kind is table.Kind.ENUM and value not in field.enum().by_number:
        yield path, "is not set, or has an unknown value"
    elif isinstance(value, betterproto2.Message):
        yield from unknown_parts(value, field.message(), path)


@cache
def _wire_fields(cls: type[betterproto2.Message]) -> dict[int, _WireField]:
    known = cls._betterproto  # type: ignore[arg-type]
    return {
        meta.number: _WireField(
            name=name,
            proto_type=meta.proto_type,
            wire_type=_WIRE_TYPES[meta.proto_type],
            message=_message_of(meta, known.cls_by_field[name]),
            repeated=bool(meta.repeated),
            oneof=meta.group or "",
        )
        for name, meta in known.meta_by_field_name.items()
    }


def _message_of(meta: betterproto2.FieldMetadata, cls: type) -> type[betterproto2.Message] | None:
    if meta.proto_type not in (betterproto2.TYPE_MESSAGE, betterproto2.TYPE_MAP):
        return None
    return meta.unwrap() if meta.unwrap else cls


def _check_message(cls: type[betterproto2.Message], data: memoryview, path: str, depth: int) -> None:
    if not depth:
        raise WireError(f"{path}: nested too deep")
    fields = _wire_fields(cls)
    seen: set[int] = set()
    chosen: dict[str, int] = {}
    position = 0
    while position < len(data):
        key, position = _varint(data, position, path)
        number, wire_type = key >> 3, key & 7
        if not 0 < number <= _MAX_FIELD_NUMBER:
            raise WireError(f"{path}: field number {number}")
        value, position = _value(data, position, wire_type, path)
        field = fields.get(number)
        if field is None:
            continue
        here = f"{path}.{field.name}"
        if field.stands_once and number in seen:
            raise WireError(f"{here}: given twice")
        seen.add(number)
        if field.oneof and chosen.setdefault(field.oneof, number) != number:
            raise WireError(f"{here}: two branches of {field.oneof}")
        _check_value(field, wire_type, value, here, depth)


def _check_value(field: _WireField, wire_type: int, value: memoryview, path: str, depth: int) -> None:
    if wire_type == _LENGTH and field.may_be_packed:
        _check_packed(field, value, path)
    elif wire_type != field.wire_type:
        raise WireError(f"{path}: wire type {wire_type}")
    elif field.message is not None:
        _check_message(field.message, value, path, depth - 1)
    elif field.proto_type == betterproto2.TYPE_STRING:
        try:
            str(value, "utf-8")
        except UnicodeDecodeError:
            raise WireError(f"{path}: not UTF-8") from None


def _check_packed(field: _WireField, data: memoryview, path: str) -> None:
    size = _FIXED_SIZES.get(field.wire_type)
    if size is not None:
        if len(data) % size:
            raise WireError(f"{path}: packed values are cut off")
        return
    position = 0
    while position < len(data):
        _, position = _varint(data, position, path)


def _value(data: memoryview, position: int, wire_type: int, path: str) -> tuple[memoryview, int]:
    if wire_type == _VARINT:
        _, end = _varint(data, position, path)
    elif wire_type == _LENGTH:
        length, position = _varint(data, position, path)
        end = position + length
    elif wire_type in _FIXED_SIZES:
        end = position + _FIXED_SIZES[wire_type]
    else:
        raise WireError(f"{path}: wire type {wire_type}")
    if end > len(data):
        raise WireError(f"{path}: cut off")
    return data[position:end], end


def _varint(data: memoryview, position: int, path: str) -> tuple[int, int]:
    result = 0
    for index in range(_MAX_VARINT_BYTES):
        if position + index >= len(data):
            raise WireError(f"{path}: cut off")
        byte = data[position + index]
        result |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return result, position + index + 1
    raise WireError(f"{path}: a number without end")


def varint_bytes(value: int) -> bytes:
    """Return an unsigned number as a varint."""
    if value < 0x80:
        return _SHORT_VARINTS[value]
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
