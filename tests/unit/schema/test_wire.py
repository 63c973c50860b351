"""Strict decoding of a peer's bytes."""

from collections.abc import Callable

import betterproto2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.schema import table
from iop_edge.schema.wire import MAX_DEPTH, WireError, bytes_field, decode, number_field, require_few, unknown_parts
from iop_pb.google.protobuf import DescriptorProto
from iop_pb.iop.config.v1 import HealthMode, LifecycleCapability, ProtocolProfile
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    CliAdapterConfig,
    HandshakeRequest,
    HandshakeResponse,
    NodeConfigPayload,
    NodeConfigRefreshRequest,
    NodeRuntimeConfig,
    OllamaAdapterConfig,
    Resource,
    ResourceHealthCheck,
)

PAYLOAD = NodeConfigPayload(
    node_id="gpu-a",
    adapters=[
        AdapterConfig(
            name="ollama",
            ollama=OllamaAdapterConfig(
                base_url="http://127.0.0.1:11434",
                headers={"X-Tenant": "platform"},
                protocol_profile=ProtocolProfile.OLLAMA_NATIVE,
                request_timeout_ms=-1,
            ),
        ),
        AdapterConfig(name="cli", cli=CliAdapterConfig(profile="codex", protocol_profile=ProtocolProfile.CLI)),
    ],
    resources=[
        Resource(
            provider_id="gpu-a-qwen",
            adapter="ollama",
            models=["qwen", "qwen3"],
            health=ResourceHealthCheck(mode=HealthMode.PASSIVE, interval_ms=5000),
            lifecycle_capabilities=[LifecycleCapability.LOAD, LifecycleCapability.PULL],
            context_size=4096,
        )
    ],
    runtime=NodeRuntimeConfig(concurrency=8),
)


def field(number: int, wire_type: int, content: bytes) -> bytes:
    return bytes([number << 3 | wire_type]) + content


def test_message_survives() -> None:
    assert decode(NodeConfigPayload, bytes(PAYLOAD)) == PAYLOAD


def test_unknown_fields_survive() -> None:
    beyond = bytes(HandshakeResponse(node_id="a")) + field(15, 0, b"\x01")
    assert bytes(decode(HandshakeResponse, beyond)) == beyond


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(field(1, 2, b"\x05ab"), id="a length past the end"),
        pytest.param(field(1, 2, b""), id="a length without content"),
        pytest.param(field(1, 0, b"\x80"), id="a number cut off"),
        pytest.param(field(1, 0, b"\xff" * 11), id="a number without end"),
        pytest.param(field(1, 5, b"\x00\x00"), id="a fixed number cut off"),
        pytest.param(b"\x00\x00", id="field number 0"),
        pytest.param(field(15, 3, field(15, 4, b"")), id="a group"),
        pytest.param(field(15, 7, b""), id="an impossible wire type"),
        pytest.param(field(2, 0, b"\x01"), id="a text as a number"),
        pytest.param(field(1, 2, b"\x011"), id="a number as a text"),
        pytest.param(field(2, 2, b"\x02\xc3\x28"), id="a text that is no UTF-8"),
    ],
)
def test_bytes_that_are_no_handshake_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(HandshakeRequest, data)


RUNTIME = field(4, 2, b"\x02\x08\x01")


@pytest.mark.parametrize(
    ("cls", "data"),
    [
        pytest.param(NodeConfigPayload, RUNTIME + RUNTIME, id="a message given twice"),
        pytest.param(AdapterConfig, field(2, 2, b"\x00") + field(3, 2, b"\x00"), id="two branches of a choice"),
        pytest.param(Resource, field(5, 2, b"\x02\x01\x80"), id="packed numbers cut off"),
        pytest.param(Resource, field(5, 5, b"\x00" * 4), id="a number of another width"),
        pytest.param(OllamaAdapterConfig, field(2, 2, b"\x03\x0a\x05a"), id="a map entry that is no message"),
        pytest.param(OllamaAdapterConfig, field(2, 2, b"\x04\x0a\x02\xc3\x28"), id="a map key that is no UTF-8"),
    ],
)
def test_structure_that_the_type_does_not_have_is_refused(cls: type[betterproto2.Message], data: bytes) -> None:
    with pytest.raises(WireError):
        decode(cls, data)


def test_packed_and_unpacked_numbers_are_the_same() -> None:
    packed = field(5, 2, b"\x02\x01\x07")
    unpacked = field(5, 0, b"\x01") + field(5, 0, b"\x07")
    assert decode(Resource, packed) == decode(Resource, unpacked)


def nested(levels: int) -> bytes:
    data = b""
    for _ in range(levels - 1):
        data = b"".join(bytes_field(3, data))  # nested_type
    return data


def test_nesting_is_bounded() -> None:
    assert decode(DescriptorProto, nested(MAX_DEPTH)).nested_type
    with pytest.raises(WireError):
        decode(DescriptorProto, nested(MAX_DEPTH + 1))


def test_refusal_does_not_show_values() -> None:
    secret = "s3cret"
    broken = bytes(OllamaAdapterConfig(base_url=secret)) + field(2, 2, b"\x03\x0a\x05a")
    with pytest.raises(WireError) as caught:
        decode(OllamaAdapterConfig, broken)
    assert secret not in str(caught.value)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_refused(data: bytes) -> None:
    try:
        decode(NodeConfigRefreshRequest, data)
    except WireError:
        return
    assert bytes(decode(NodeConfigRefreshRequest, data)) is not None


@given(st.data())
def test_damaged_message_is_a_message_or_refused(data: st.DataObject) -> None:
    damaged = bytearray(bytes(PAYLOAD))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        message = decode(NodeConfigPayload, bytes(damaged))
    except WireError:
        return
    assert decode(NodeConfigPayload, bytes(message)) == message


@pytest.mark.contract("PAY-01")
@given(st.binary(max_size=300), st.integers(1, 2047))
def test_bytes_are_a_field(content: bytes, number: int) -> None:
    key = betterproto2.encode_varint(number << 3 | 2)
    assert b"".join(bytes_field(number, content)) == key + betterproto2.encode_varint(len(content)) + content


@given(st.integers(0, 2**64 - 1), st.integers(1, 2047))
def test_number_is_a_field(value: int, number: int) -> None:
    assert number_field(number, value) == betterproto2.encode_varint(number << 3) + betterproto2.encode_varint(value)


def test_message_put_together_from_fields_is_the_message() -> None:
    numbers = {name: field.number for name, field in table.message("NodeConfigRefreshRequest").fields.items()}
    whole = NodeConfigRefreshRequest(edge_id="e", generation=7, payload=PAYLOAD)
    parts = (
        bytes(NodeConfigRefreshRequest(edge_id="e")),
        number_field(numbers["generation"], 7),
        *bytes_field(numbers["payload"], bytes(PAYLOAD)),
    )
    assert decode(NodeConfigRefreshRequest, b"".join(parts)) == whole


def _with_unknown_field(message: betterproto2.Message) -> None:
    message._unknown_fields = field(15, 0, b"\x01")


def _damage(change: Callable[[NodeConfigPayload], None]) -> NodeConfigPayload:
    payload = decode(NodeConfigPayload, bytes(PAYLOAD))
    change(payload)
    return payload


def _in_adapter(payload: NodeConfigPayload) -> None:
    assert payload.adapters[0].ollama is not None
    _with_unknown_field(payload.adapters[0].ollama)


def _in_runtime(payload: NodeConfigPayload) -> None:
    assert payload.runtime is not None
    _with_unknown_field(payload.runtime)


def _unset_choice(payload: NodeConfigPayload) -> None:
    payload.adapters[1].cli = None


def _new_profile(payload: NodeConfigPayload) -> None:
    assert payload.adapters[0].ollama is not None
    payload.adapters[0].ollama.protocol_profile = ProtocolProfile(77)


def _unset_mode(payload: NodeConfigPayload) -> None:
    assert payload.resources[0].health is not None
    payload.resources[0].health.mode = HealthMode.UNSPECIFIED


def _new_capability(payload: NodeConfigPayload) -> None:
    payload.resources[0].lifecycle_capabilities.append(LifecycleCapability(77))


@pytest.mark.contract("PSH-02")
@pytest.mark.parametrize(
    ("change", "path"),
    [
        (_with_unknown_field, ""),
        (_in_adapter, "adapters[0].ollama"),
        (_in_runtime, "runtime"),
        (_unset_choice, "adapters[1].config"),
        (_new_profile, "adapters[0].ollama.protocol_profile"),
        (_unset_mode, "resources[0].health.mode"),
        (_new_capability, "resources[0].lifecycle_capabilities[2]"),
    ],
)
def test_what_is_not_known_is_found_wherever_it_stands(change: Callable[[NodeConfigPayload], None], path: str) -> None:
    found = list(unknown_parts(_damage(change), table.message("NodeConfigPayload")))
    assert [str(place) for place, _ in found] == [path]


def test_nothing_is_unknown_in_a_known_payload() -> None:
    assert not list(unknown_parts(PAYLOAD, table.message("NodeConfigPayload")))


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        pytest.param(NodeConfigPayload(), 0, id="an empty message"),
        pytest.param(NodeConfigPayload(node_id="a", resources=[Resource(models=["m", "n"])] * 3), 4, id="a list"),
    ],
)
def test_fields_are_counted_without_those_of_nested_messages(message: NodeConfigPayload, fields: int) -> None:
    require_few(NodeConfigPayload, bytes(message), fields)
    with pytest.raises(WireError, match="more than"):
        require_few(NodeConfigPayload, bytes(message) + b"\x78\x00", fields)


@pytest.mark.parametrize("broken", [b"\x0a", b"\x0a\x05ab", b"\xff" * 11, b"\x0b"])
def test_counting_what_is_no_message_is_an_error(broken: bytes) -> None:
    with pytest.raises(WireError):
        require_few(NodeConfigPayload, broken, 10)
