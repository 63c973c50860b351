"""Code generation refuses an option where nothing implements it, and a config field that the loader does not read."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

import pytest
from betterproto2_compiler.lib.google.protobuf import (
    FieldDescriptorProto,
    FieldDescriptorProtoLabel,
    FieldDescriptorProtoType,
)

from codegen import options
from codegen.descriptors import FieldSource, Schema
from codegen.options import IMPLEMENTED, shape, unimplemented, unread
from iop_edge.schema.formats import FORMATS
from iop_pb.iop.options.v1 import FieldRules, MappingForm, RefreshClass, TextFormat, UniqueScope

Edit = Callable[[str, str], None]
ReadSchema = Callable[[], Schema]

KINDS: Final = ("string", "bytes", "bool", "int32", "uint64", "double", "enum", "message", "map")
LISTS: Final = ("string", "bytes", "bool", "int64", "double", "enum", "message")
GIVEN: Final[dict[str, Any]] = {
    "refresh": RefreshClass.LIVE,
    "default_value": "",
    "default_if": "enabled",
    "runtime_default": 1,
    "refers_to": "provider",
    "harmless_keys": ["Accept"],
    "format": TextFormat.IDENTIFIER,
    "gt": 0,
    "gte": 0,
    "lte": 0,
    "min_items": 1,
    "unique": UniqueScope.LIST,
    "aliases": ["other"],
    "mapping_form": MappingForm(key_field="id"),
    "like": "iop.config.v1.AdapterInstance",
}
"""A value for each option that is no flag."""


def field(kind: str, *, repeated: bool = False, is_text_map: bool = True, oneof: str = "") -> FieldSource:
    """Return a field of a kind, as a proto would declare it."""
    is_map = kind == "map"
    descriptor = FieldDescriptorProto(
        name="f",
        type=FieldDescriptorProtoType["MESSAGE" if is_map else kind.upper()],
        label=FieldDescriptorProtoLabel.REPEATED if repeated else FieldDescriptorProtoLabel.OPTIONAL,
    )
    return FieldSource(descriptor, FieldRules(), "", is_map=is_map, is_text_map=is_text_map, oneof=oneof)


FIELDS: Final = [*map(field, KINDS), *(field(kind, repeated=True) for kind in LISTS)]


def rules_with(option: str, here: str) -> FieldRules:
    value: Any = TextFormat.HEADERS if (option, here) == ("format", "map") else GIVEN.get(option, True)
    given: dict[str, Any] = {option: value}
    return FieldRules(**given)


@pytest.mark.parametrize("option", IMPLEMENTED)
@pytest.mark.parametrize("source", FIELDS, ids=shape)
def test_option_is_accepted_only_where_it_is_implemented(option: str, source: FieldSource) -> None:
    here = shape(source)
    expected = [] if here in IMPLEMENTED[option] else [f"{option} is not implemented on {here}"]
    assert list(unimplemented(source, rules_with(option, here))) == expected


def test_the_table_has_every_option() -> None:
    assert IMPLEMENTED.keys() == {item.name for item in fields(FieldRules)}


@pytest.mark.parametrize(
    ("kind", "text_format", "accepted"),
    [("map", "HEADERS", True), ("map", "IDENTIFIER", False), ("string", "HEADERS", False), ("string", "PEM", True)],
)
def test_a_map_has_the_format_of_headers_or_none(kind: str, text_format: str, *, accepted: bool) -> None:
    faults = list(unimplemented(field(kind), FieldRules(format=TextFormat[text_format])))
    assert (faults == []) is accepted


@pytest.mark.parametrize(
    ("source", "is_read"),
    [
        (field("string"), True),
        (field("uint32", repeated=True), True),
        (field("map"), True),
        (field("bytes"), False),
        (field("float"), False),
        (field("map", is_text_map=False), False),
        (field("string", oneof="choice"), False),
    ],
)
def test_kinds_that_the_loader_reads(source: FieldSource, *, is_read: bool) -> None:
    assert (list(unread(source)) == []) is is_read


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "optional string artifact_dir = 3 [(iop.options.v1.field) = {",
            "optional double artifact_dir = 3 [(iop.options.v1.field) = {\n    gte: 1",
            r"Bootstrap\.artifact_dir: format is not implemented on double; Bootstrap\.artifact_dir: gte is not",
        ),
        (
            "map<string, string> usage",
            "map<string, int32> usage",
            "maps from text to text only",
        ),
        (
            '{default_value: "info"}',
            '{default_value: "loud"}',
            r"level: the default is not one of debug, info",
        ),
        ('default_if: "enabled"', 'default_if: "scheme"', r"default_if names no bool beside it: scheme"),
    ],
)
def test_a_proto_that_declares_what_nothing_implements_is_refused(
    edit: Edit, read_schema: ReadSchema, old: str, new: str, message: str
) -> None:
    edit(old, new)
    with pytest.raises(ValueError, match=message):
        options.check(read_schema())


@pytest.mark.contract("REF-02")
def test_config_field_without_a_refresh_class_is_refused(edit: Edit, read_schema: ReadSchema) -> None:
    edit(
        "option (iop.options.v1.message) = {refresh: REFRESH_CLASS_RESTART};\n\n  // Whether the endpoint", "// Whether"
    )
    with pytest.raises(ValueError, match=r"^no refresh class: Metrics\.enabled, Metrics\.listen$"):
        options.check(read_schema())


def test_text_format_without_an_entry_is_refused(read_schema: ReadSchema, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: entry for name, entry in FORMATS.items() if name != "pem"}
    monkeypatch.setattr(options, "FORMATS", {**known, "uuid": FORMATS["pem"]})
    with pytest.raises(ValueError, match=r"pem has no entry in \S+formats\.py; .* uuid has no entry in options"):
        options.check(read_schema())
