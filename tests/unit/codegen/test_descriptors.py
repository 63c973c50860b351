from collections.abc import Callable

import pytest

from codegen import field_table
from codegen.descriptors import Schema

Edit = Callable[[str, str], None]
ReadSchema = Callable[[], Schema]


def test_option_of_a_field_is_read(read_schema: ReadSchema) -> None:
    provider = read_schema().messages["iop.config.v1.Provider"]
    capacity = next(field for field in provider.fields if field.name == "capacity")
    assert (capacity.rules.default_value, capacity.rules.gte, capacity.kind) == ("1", 1, "int32")
    assert capacity.doc.startswith("Maximum number of concurrent requests.")


@pytest.mark.parametrize("bound", [0, -1])
def test_bound_that_is_zero_or_negative_is_kept(edit: Edit, read_schema: ReadSchema, bound: int) -> None:
    edit("    gt: 0\n", f"    gt: {bound}\n")
    root = read_schema().messages["iop.config.v1.EdgeConfig"]
    threshold = next(field for field in root.fields if field.name == "long_context_threshold_tokens")
    assert threshold.rules.gt == bound


def test_field_with_the_name_of_a_legacy_key_is_refused(edit: Edit, read_schema: ReadSchema) -> None:
    edit("optional string alias = 2;", "optional string workdir = 2;")
    with pytest.raises(ValueError, match=r"iop\.config\.v1\.Node\.workdir has the name of a legacy key"):
        read_schema()


def test_two_messages_of_one_name_are_refused(edit: Edit, read_schema: ReadSchema) -> None:
    edit("// The Prometheus endpoint.\nmessage Metrics {", "// Another.\nmessage Change {}\n\n// M.\nmessage Metrics {")
    with pytest.raises(ValueError, match=r"Change and .*Change share a name"):
        read_schema()


@pytest.mark.contract("REF-02")
def test_class_of_the_message_holds_for_a_field_that_declares_none(read_schema: ReadSchema) -> None:
    schema = read_schema()
    runtime = schema.messages["iop.config.v1.NodeRuntime"]
    provider = schema.messages["iop.config.v1.Provider"]
    classes = {field.name: field_table.refresh_class(provider, field) for field in provider.fields}
    assert field_table.refresh_class(runtime, runtime.fields[0]) == "live"
    assert (classes["capacity"], classes["context_size"]) == ("live", "restart")
