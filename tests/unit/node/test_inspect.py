"""What a Node finds wrong with a push, whatever it runs."""

import pytest

from iop_edge.node.inspect import BUILT_IN_PROFILES, inspect
from iop_pb.iop.config.v1 import ProtocolProfile
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    NodeConfigRefreshMode,
    NodeConfigRefreshRequest,
    OllamaAdapterConfig,
    OpenAiCompatAdapterConfig,
)
from tests.unit.node.pushes import NODE_ID, adapter, command_line, payload, push, resource

pytestmark = pytest.mark.contract("PSH-02")


def found(request: NodeConfigRefreshRequest) -> list[tuple[str, str]]:
    return [(violation.rule, violation.path) for violation in inspect(request, NODE_ID, BUILT_IN_PROFILES)]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(push(1), id="a payload"),
        pytest.param(push(1, payload(adapters=[], resources=[])), id="an empty one"),
        pytest.param(push(1, payload(adapters=[], resources=[resource(name="off")])), id="a disabled adapter"),
        pytest.param(push(1, payload(adapters=[command_line(name) for name in ["codex"]])), id="a known profile"),
    ],
)
def test_good_push_has_nothing_wrong(request_: NodeConfigRefreshRequest) -> None:
    assert found(request_) == []


def without(**parts: object) -> NodeConfigRefreshRequest:
    request = push(1)
    for name, value in parts.items():
        setattr(request, name, value)
    return request


@pytest.mark.parametrize(
    ("request_", "rule", "path"),
    [
        pytest.param(without(payload=None), "node.payload", "payload", id="no payload"),
        pytest.param(without(payload_hash=b""), "node.payload", "payload_hash", id="no hash"),
        pytest.param(without(generation=0), "node.generation", "generation", id="no generation"),
        pytest.param(without(mode=NodeConfigRefreshMode.UNSPECIFIED), "node.unknown", "mode", id="no mode"),
        pytest.param(without(mode=NodeConfigRefreshMode(9)), "node.unknown", "mode", id="a newer mode"),
        pytest.param(without(_unknown_fields=b"\x78\x01"), "node.unknown", "", id="a newer field"),
        pytest.param(push(1, payload(node_id="gpu-b")), "node.id", "payload.node_id", id="another Node's payload"),
        pytest.param(push(1, payload(node_id="")), "node.id", "payload.node_id", id="nobody's payload"),
        pytest.param(
            push(1, payload(adapters=[AdapterConfig(name="vllm")])),
            "node.unknown",
            "payload.adapters[0].config",
            id="an unknown kind of adapter",
        ),
        pytest.param(
            push(1, payload(adapters=[AdapterConfig(name="vllm", ollama=OllamaAdapterConfig(base_url="http://a"))])),
            "node.unknown",
            "payload.adapters[0].ollama.protocol_profile",
            id="no protocol",
        ),
        pytest.param(
            push(1, payload(adapters=[command_line("rm -rf")])),
            "node.profile",
            "payload.adapters[0].cli.profile",
            id="an unknown profile",
            marks=pytest.mark.contract("VAL-05"),
        ),
        pytest.param(
            push(1, payload(adapters=[adapter("")])), "node.name", "payload.adapters[0].name", id="an adapter's name"
        ),
        pytest.param(
            push(1, payload(resources=[resource("")])),
            "node.name",
            "payload.resources[0].provider_id",
            id="a provider's id",
        ),
    ],
)
def test_fault_is_found_with_its_place(request_: NodeConfigRefreshRequest, rule: str, path: str) -> None:
    assert found(request_) == [(rule, path)]


def test_names_given_twice_are_found_at_both_places() -> None:
    request = push(1, payload(adapters=[adapter("a"), adapter("b"), adapter("a")], resources=[]))
    assert found(request) == [("node.name", "payload.adapters[0].name"), ("node.name", "payload.adapters[2].name")]


def test_all_faults_are_found_at_once() -> None:
    request = push(0, payload(node_id="gpu-b", adapters=[command_line("x"), AdapterConfig(name="y")]))
    assert {rule for rule, _ in found(request)} == {"node.generation", "node.id", "node.profile", "node.unknown"}


@pytest.mark.contract("CFG-08")
def test_violations_hold_no_value_of_an_adapter() -> None:
    secret = OpenAiCompatAdapterConfig(
        base_url="http://user:s3cret@a", headers={"Authorization": "s3cret"}, protocol_profile=ProtocolProfile(77)
    )
    secret._unknown_fields = b"\x7a\x06s3cret"
    request = push(1, payload(adapters=[AdapterConfig(name="a", openai_compat=secret)]))
    violations = inspect(request, NODE_ID, BUILT_IN_PROFILES)
    assert len(violations) == 2
    assert "s3cret" not in str(violations)
