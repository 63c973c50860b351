"""Messages that are built from trees are what their classes would have made of the same values."""

from typing import Any

import betterproto2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.schema import table
from iop_edge.schema.encoding import encode_tree
from iop_edge.schema.messages import build, message_class
from iop_edge.schema.table import INT_RANGES, Field, Kind, Message
from iop_pb.iop.config.v1 import EdgeConfig
from iop_pb.iop.runtime.v1 import NodeConfigPayload

_TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
_BUILT = ("EdgeConfig", "NodeConfigPayload")
"""The messages that are built from trees; all others that are stand below these."""


def _scalars(field: Field) -> st.SearchStrategy[Any]:
    if field.kind is Kind.BOOL:
        known: st.SearchStrategy[Any] = st.booleans()
    elif field.kind is Kind.ENUM:
        known = st.sampled_from([*field.enum().words])
    elif field.kind is Kind.DOUBLE:
        known = st.floats(allow_nan=False, allow_infinity=False)
    elif field.kind.is_integer:
        known = st.integers(*INT_RANGES[field.kind.value])
    else:
        known = _TEXT
    return known


def _values(field: Field) -> st.SearchStrategy[Any]:
    if field.kind is Kind.MAP:
        return st.dictionaries(_TEXT, _scalars(field), max_size=2)
    one = _trees(field.message()) if field.kind is Kind.MESSAGE else _scalars(field)
    return st.lists(one, max_size=2) if field.repeated else one


@st.composite
def _trees(draw: st.DrawFn, message: Message) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    taken: set[str] = set()
    for name, field in message.fields.items():
        if draw(st.booleans()) and field.oneof not in taken:
            tree[name] = draw(_values(field))
            taken.update({field.oneof} - {""})
    return tree


def _constructed(tree: dict[str, Any], message: Message) -> betterproto2.Message:
    """Build a message by calling its class, which checks each value."""
    values = {name: _argument(value, message.fields[name]) for name, value in tree.items()}
    return message_class(message.name)(**values)


def _argument(value: Any, field: Field) -> Any:
    if isinstance(value, list):
        return [_argument(each, field) for each in value]
    if isinstance(value, dict):
        if field.kind is Kind.MESSAGE:
            return _constructed(value, field.message())
        return {key: _argument(item, field) for key, item in value.items()}
    return field.enum().words[value].number if field.kind is Kind.ENUM else value


@pytest.mark.parametrize("name", _BUILT)
@given(st.data())
def test_message_equals_the_one_that_its_class_makes(name: str, data: st.DataObject) -> None:
    message = table.message(name)
    tree = data.draw(_trees(message))
    built, constructed = build(tree, message), _constructed(tree, message)
    assert built == constructed
    assert bytes(built) == bytes(constructed)
    assert vars(built).keys() == vars(constructed).keys()
    assert repr(built) == repr(constructed)
    assert type(built).parse(bytes(built)) == built


def test_messages_share_nothing_that_can_be_changed() -> None:
    for cls, message in ((EdgeConfig, table.root()), (NodeConfigPayload, table.message("NodeConfigPayload"))):
        one, other = build({}, message), build({}, message)
        assert one == other == cls()
        mutable = [name for name, value in vars(one).items() if isinstance(value, list | dict)]
        assert mutable
        assert not any(getattr(one, name) is getattr(other, name) for name in mutable)


def test_lists_and_maps_of_a_message_are_not_those_of_its_tree() -> None:
    tree = {"models": ["m"], "lifecycle_capabilities": ["load"]}
    provider = build(tree, table.message("Provider"))
    assert provider.models == ["m"]  # type: ignore[attr-defined]
    provider.models.append("n")  # type: ignore[attr-defined]
    assert tree["models"] == ["m"]


def test_fields_that_nobody_knows_survive_in_a_built_message() -> None:
    unknown = b"\xf8\x3f\x01"  # field 1023, a varint
    node = build({"id": "n"}, table.message("Node"))
    read = type(node).parse(bytes(node) + unknown)
    config = build({"edge": {"id": "e"}}, table.root())
    config.nodes.append(read)  # type: ignore[attr-defined]
    assert unknown in bytes(config)
    assert bytes(EdgeConfig.parse(bytes(config))) == bytes(config)


@pytest.mark.contract("PAY-01")
@pytest.mark.parametrize("name", _BUILT)
@given(data=st.data())
def test_a_tree_is_encoded_to_the_bytes_of_its_message(name: str, data: st.DataObject) -> None:
    message = table.message(name)
    tree = data.draw(_trees(message))
    encoded = encode_tree(tree, message)
    assert message_class(name).parse(encoded) == build(tree, message)
    assert encoded == bytes(message_class(name).parse(encoded))
