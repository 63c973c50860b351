"""Converts between the library's dataclasses and the messages of the admin service.

Both name their fields and enum words alike, so one walk in each direction converts them all. The few fields that differ
are in `_parts` and `_part`.
"""

import json
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import betterproto2

from iop_edge.errors import EdgeError, Span
from iop_pb.google.protobuf import FieldMask

_T = TypeVar("_T")
_Message = TypeVar("_Message", bound=betterproto2.Message)
_Number = TypeVar("_Number", bound=betterproto2.Enum)
_Word = TypeVar("_Word", bound=Enum)


class ConvertError(EdgeError):
    """A message that this version does not understand: it comes from another version, or is broken."""


def to_message(cls: type[_Message], value: object) -> _Message:
    """Return a dataclass as the message that it is sent as."""
    kinds = cls._betterproto.cls_by_field  # type: ignore[arg-type]
    return cls(**{name: _to_wire(kinds[name], item) for name, item in _parts(value)})


def from_message(cls: type[_T], message: betterproto2.Message) -> _T:
    """Return the dataclass that a message was made of.

    Raises:
        ConvertError: this version does not understand the message.
    """
    return cls(**{name: _from_wire(hint, _part(message, name)) for name, hint in _hints(cast("Hashable", cls)).items()})


def to_number(numbers: type[_Number], word: Enum) -> _Number:
    """Return the enum value that a word is sent as."""
    return numbers[str(word.value).upper()]


def to_word(words: type[_Word], number: betterproto2.Enum) -> _Word:
    """Return the word of an enum value.

    Raises:
        ConvertError: the value is unspecified, or unknown to this version.
    """
    return _word(words, (number.name or str(int(number))).lower())


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a dataclass holds, by the names of its message's fields."""
    for field in fields(value):
        item = getattr(value, field.name)
        match field.name:
            case "before" | "after":
                yield f"{field.name}_json", _json_text(item)
            case "data":
                yield "content", item
            case "span":
                yield from _parts(item or Span(""))
            case name:
                yield name, item


def _part(message: Any, name: str) -> Any:
    """Return what a message holds for a field of its dataclass: the opposite of `_parts`."""
    match name:
        case "before" | "after":
            return _json_value(getattr(message, f"{name}_json"))
        case "data":
            return message.content
        case "span":
            return Span(message.file, message.line, message.column) if message.file else None
        case _:
            return getattr(message, name)


def _to_wire(kind: Any, value: Any) -> Any:
    if kind is FieldMask:
        return FieldMask(paths=list(value))
    if isinstance(value, tuple):
        return [_to_wire(kind, item) for item in value]
    if isinstance(value, Enum):
        return to_number(kind, value) if issubclass(kind, betterproto2.Enum) else value.value
    return to_message(kind, value) if is_dataclass(value) else value


def _from_wire(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        return None if value is None else _from_wire(get_args(hint)[0], value)
    if get_origin(hint) is tuple:
        items = (value.paths if value else ()) if isinstance(value, FieldMask | None) else value
        return tuple(_from_wire(get_args(hint)[0], item) for item in items)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return to_word(hint, value) if isinstance(value, betterproto2.Enum) else _word(hint, value)
    return from_message(hint, value) if isinstance(value, betterproto2.Message) else value


def _word(words: type[_Word], text: str) -> _Word:
    try:
        return words(text)
    except ValueError:
        raise ConvertError(f"this version knows no {words.__name__} {text!r}") from None


@cache
def _hints(cls: Any) -> Mapping[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _json_text(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _json_value(text: str | None) -> object:
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ConvertError("a value of a change is not JSON") from None
