"""Reads a descriptor set, with the options and comments that the generated Python code does not keep."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import betterproto2
from betterproto2_compiler.lib.google.protobuf import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FieldDescriptorProtoLabel,
    FieldDescriptorProtoType,
    FileDescriptorProto,
    FileDescriptorSet,
)

from iop_pb.iop.options.v1 import EnumValueRules, FieldRules, FileRules, MessageRules

_MESSAGE_TYPE = 4
_ENUM_TYPE = 5
_FIELD = 2
_OPTION_NUMBER = 52301


_Rules = TypeVar("_Rules", bound=betterproto2.Message)


def _rules(options: betterproto2.Message | None, mirror: type[betterproto2.Message], rules: type[_Rules]) -> _Rules:
    """Return our extension of an options message.

    A decoder without extensions keeps them as unknown fields; the bytes parse into a mirror that has the one field. A
    message whose known fields are all unset is false, hence the comparisons with None.
    """
    if options is None:
        return rules()
    found = vars(mirror.parse(options._unknown_fields))["rules"]
    return found if isinstance(found, rules) else rules()


@dataclass(eq=False, repr=False)
class _FieldOptions(betterproto2.Message):
    rules: FieldRules | None = betterproto2.field(_OPTION_NUMBER, betterproto2.TYPE_MESSAGE, optional=True)


@dataclass(eq=False, repr=False)
class _MessageOptions(betterproto2.Message):
    rules: MessageRules | None = betterproto2.field(_OPTION_NUMBER, betterproto2.TYPE_MESSAGE, optional=True)


@dataclass(eq=False, repr=False)
class _FileOptions(betterproto2.Message):
    rules: FileRules | None = betterproto2.field(_OPTION_NUMBER, betterproto2.TYPE_MESSAGE, optional=True)


@dataclass(eq=False, repr=False)
class _EnumValueOptions(betterproto2.Message):
    rules: EnumValueRules | None = betterproto2.field(_OPTION_NUMBER, betterproto2.TYPE_MESSAGE, optional=True)


@dataclass(frozen=True)
class FieldSource:
    """A field as its proto declares it."""

    descriptor: FieldDescriptorProto
    rules: FieldRules
    doc: str
    is_map: bool
    is_text_map: bool
    oneof: str

    @property
    def name(self) -> str:
        """The field's name."""
        return self.descriptor.name

    @property
    def type_name(self) -> str:
        """The full name of the message or enum, or the empty text."""
        return self.descriptor.type_name.removeprefix(".")

    @property
    def repeated(self) -> bool:
        """Whether the field is a list."""
        return self.descriptor.label == FieldDescriptorProtoLabel.REPEATED and not self.is_map

    @property
    def kind(self) -> str:
        """The word of the field's type: string, int32, message, map, ..."""
        return "map" if self.is_map else FieldDescriptorProtoType(self.descriptor.type).name.lower()


@dataclass(frozen=True)
class MessageSource:
    """A message as its proto declares it."""

    full_name: str
    rules: MessageRules
    doc: str
    fields: tuple[FieldSource, ...]
    legacy: dict[str, str]

    @property
    def name(self) -> str:
        """The message's name without its package."""
        return self.full_name.rpartition(".")[2]


@dataclass(frozen=True)
class EnumWordSource:
    """One value of an enum."""

    proto_name: str
    word: str
    number: int
    doc: str
    rules: EnumValueRules


@dataclass(frozen=True)
class EnumSource:
    """An enum as its proto declares it."""

    full_name: str
    doc: str
    words: tuple[EnumWordSource, ...]

    @property
    def name(self) -> str:
        """The enum's name without its package."""
        return self.full_name.rpartition(".")[2]


@dataclass(frozen=True)
class Schema:
    """All messages and enums of a descriptor set that belong to the given package prefix, by full name."""

    messages: dict[str, MessageSource]
    enums: dict[str, EnumSource]


def read(path: Path, prefix: str) -> Schema:
    """Read a binary descriptor set.

    Raises:
        ValueError: two messages or enums share a name, or a field takes a name that is marked as legacy.
    """
    files = FileDescriptorSet.parse(path.read_bytes()).file
    messages: dict[str, MessageSource] = {}
    enums: dict[str, EnumSource] = {}
    for file in files:
        if not file.package.startswith(prefix):
            continue
        docs = _comments(file)
        legacy = _legacy(file)
        for index, descriptor in enumerate(file.message_type):
            message = _message(file.package, descriptor, docs, (_MESSAGE_TYPE, index), legacy)
            messages[message.full_name] = message
        for index, enum_descriptor in enumerate(file.enum_type):
            enum = _enum(file.package, enum_descriptor, docs, (_ENUM_TYPE, index))
            enums[enum.full_name] = enum
    _check_names([*messages.values(), *enums.values()])
    return Schema(messages, enums)


def _check_names(sources: list[MessageSource | EnumSource]) -> None:
    seen: dict[str, str] = {}
    for source in sources:
        if source.name in seen:
            raise ValueError(f"{source.full_name} and {seen[source.name]} share a name")
        seen[source.name] = source.full_name
        if isinstance(source, MessageSource):
            for field in source.fields:
                if field.name in source.legacy:
                    raise ValueError(f"{source.full_name}.{field.name} has the name of a legacy key")


def _comments(file: FileDescriptorProto) -> dict[tuple[int, ...], str]:
    locations = file.source_code_info.location if file.source_code_info is not None else []
    return {tuple(item.path): " ".join(item.leading_comments.split()) for item in locations if item.leading_comments}


def _legacy(file: FileDescriptorProto) -> dict[str, dict[str, str]]:
    rules = _rules(file.options, _FileOptions, FileRules)
    legacy: dict[str, dict[str, str]] = {}
    for keys in rules.legacy:
        for message in keys.messages:
            legacy.setdefault(message, {}).update(dict.fromkeys(keys.names, keys.replacement))
    return legacy


def _message(
    package: str,
    descriptor: DescriptorProto,
    docs: dict[tuple[int, ...], str],
    place: tuple[int, ...],
    legacy: dict[str, dict[str, str]],
) -> MessageSource:
    rules = _rules(descriptor.options, _MessageOptions, MessageRules)
    maps = {
        nested.name: {part.type for part in nested.field} == {FieldDescriptorProtoType.STRING}
        for nested in descriptor.nested_type
        if nested.options is not None and nested.options.map_entry
    }
    return MessageSource(
        full_name=f"{package}.{descriptor.name}",
        rules=rules,
        doc=docs.get(place, ""),
        fields=tuple(_fields(descriptor, docs, place, maps)),
        legacy=legacy.get(descriptor.name, {}),
    )


def _fields(
    descriptor: DescriptorProto, docs: dict[tuple[int, ...], str], place: tuple[int, ...], maps: dict[str, bool]
) -> Iterator[FieldSource]:
    for index, field in enumerate(descriptor.field):
        rules = _rules(field.options, _FieldOptions, FieldRules)
        in_oneof = field.oneof_index is not None and not field.proto3_optional
        yield FieldSource(
            descriptor=field,
            rules=rules,
            doc=docs.get((*place, _FIELD, index), ""),
            is_map=(entry := field.type_name.rpartition(".")[2]) in maps,
            is_text_map=maps.get(entry, False),
            oneof=descriptor.oneof_decl[field.oneof_index or 0].name if in_oneof else "",
        )


def _enum(
    package: str, descriptor: EnumDescriptorProto, docs: dict[tuple[int, ...], str], place: tuple[int, ...]
) -> EnumSource:
    prefix = descriptor.value[0].name.removesuffix("UNSPECIFIED")
    words = []
    for index, value in enumerate(descriptor.value):
        rules = _rules(value.options, _EnumValueOptions, EnumValueRules)
        words.append(
            EnumWordSource(
                proto_name=value.name,
                word=value.name.removeprefix(prefix).lower(),
                number=value.number,
                doc=docs.get((*place, _FIELD, index), ""),
                rules=rules,
            )
        )
    return EnumSource(f"{package}.{descriptor.name}", docs.get(place, ""), tuple(words))
