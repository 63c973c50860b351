"""What a Node is told."""

import copy
from typing import Any, Final

import pytest

from iop_edge.config.marks import UNRESOLVED, Sourced
from iop_edge.payload import UnknownNodeError, node_payload, payload_tree, payload_trees
from iop_edge.refresh.plan import refresh_class
from iop_edge.schema import table
from iop_edge.schema.values import Tree
from iop_pb.iop.config.v1 import HealthMode, LifecycleCapability, ProtocolProfile
from iop_pb.iop.runtime.v1 import NodeConfigPayload
from tests import trees
from tests.trees import adapter, edge, full_tree, full_value, holder, model, node, provider

EXECUTED: Final = {
    "nodes[].id",
    "nodes[].runtime.concurrency",
    "nodes[].adapters[].name",
    "nodes[].adapters[].type",
    "nodes[].adapters[].enabled",
    "nodes[].adapters[].protocol_profile",
    "nodes[].adapters[].base_url",
    "nodes[].adapters[].headers[]",
    "nodes[].adapters[].request_timeout_ms",
    "nodes[].adapters[].provider",
    "nodes[].adapters[].profile",
    "nodes[].providers[].id",
    "nodes[].providers[].adapter",
    "nodes[].providers[].models[]",
    "nodes[].providers[].health.mode",
    "nodes[].providers[].health.path",
    "nodes[].providers[].health.interval_ms",
    "nodes[].providers[].health.timeout_ms",
    "nodes[].providers[].health.healthy_threshold",
    "nodes[].providers[].health.unhealthy_threshold",
    "nodes[].providers[].lifecycle_capabilities[]",
    "nodes[].providers[].context_size",
}
"""What a Node executes: all that its payload depends on."""

TYPES_OF: Final = {"nodes[].adapters[].provider": "openai_compat", "nodes[].adapters[].profile": "cli"}
"""Fields that one type of adapter alone has."""


def payload_of(*nodes: Tree, node_id: str = "n") -> NodeConfigPayload:
    return node_payload(trees.snapshot(edge(*nodes)), node_id)


def trees_around_a_change(pattern: str) -> tuple[Tree, Tree]:
    """The payload of the same Node in a config in which all is set, and in one with a leaf changed."""
    before = full_tree()
    instance = holder(before, "nodes[].adapters[].type")
    instance["type"] = TYPES_OF.get(pattern, "vllm")
    holder(before, "nodes[].providers[].adapter")["adapter"] = instance["name"]
    after = copy.deepcopy(before)
    field = next(leaf.field for leaf in table.leaves() if leaf.pattern == pattern)
    holder(after, pattern)[field.name] = full_value(field, "new")
    ids = [tree["nodes"][0]["id"] for tree in (before, after)]
    return dict(payload_tree(trees.snapshot(before), ids[0])), dict(payload_tree(trees.snapshot(after), ids[1]))


@pytest.mark.contract("PAY-01")
@pytest.mark.parametrize("pattern", [leaf.pattern for leaf in table.leaves() if not leaf.field.shorthand_for])
def test_the_payload_depends_on_what_the_node_executes_and_on_nothing_else(pattern: str) -> None:
    before, after = trees_around_a_change(pattern)

    assert (before != after) == (pattern in EXECUTED)


@pytest.mark.contract("PAY-01")
def test_every_executed_field_is_one_of_the_schema() -> None:
    assert {leaf.pattern for leaf in table.leaves()} >= EXECUTED


@pytest.mark.contract("PSH-01")
def test_only_the_concurrency_of_a_node_is_both_live_and_in_the_payload() -> None:
    live = {leaf.pattern for leaf in table.leaves() if refresh_class(leaf.field) is table.RefreshClass.LIVE}

    assert live & EXECUTED == {"nodes[].runtime.concurrency"}


@pytest.mark.contract("PAY-01")
def test_a_payload_has_the_enabled_adapters_and_all_resources() -> None:
    payload = payload_of(
        node(
            "n",
            provider(
                "p",
                models=["b", "a"],
                health={"mode": "active", "path": "/up", "interval_ms": 5, "timeout_ms": 4},
                lifecycle_capabilities=["load", "pull"],
                context_size=9,
                capacity=7,
            ),
            provider("off", enabled=False),
            adapters=[
                adapter("spare", base_url="http://s.test", enabled=False),
                adapter("main", base_url="http://m.test", headers={"Authorization": "k"}, request_timeout_ms=0),
            ],
            runtime={"concurrency": 3},
        )
    )

    assert payload.node_id == "n"
    assert payload.runtime is not None
    assert payload.runtime.concurrency == 3
    (instance,) = payload.adapters
    assert instance.name == "main"
    assert instance.vllm is not None
    assert (instance.vllm.base_url, instance.vllm.headers) == ("http://m.test", {"Authorization": "k"})
    assert instance.vllm.request_timeout_ms == 0
    off, resource = payload.resources
    assert (off.provider_id, off.adapter, resource.provider_id, resource.adapter) == ("off", "main", "p", "main")
    assert (resource.models, resource.context_size) == (["b", "a"], 9)
    assert resource.lifecycle_capabilities == [LifecycleCapability.LOAD, LifecycleCapability.PULL]
    assert resource.health is not None
    assert (resource.health.mode, resource.health.path, resource.health.interval_ms) == (HealthMode.ACTIVE, "/up", 5)


@pytest.mark.contract("PAY-01")
@pytest.mark.parametrize("type_", table.enum("AdapterType").words)
def test_an_adapter_has_the_one_config_of_its_type(type_: str) -> None:
    given = {"profile": "claude-code"} if type_ == "cli" else {"base_url": "http://h.test"}
    profile = table.enum("AdapterType").words[type_].profiles[0]
    payload = payload_of(node("n", adapters=[adapter("main", type_, protocol_profile=profile, **given)]))

    (instance,) = payload.adapters
    members = [field.name for field in table.message("AdapterConfig").fields.values() if field.oneof]
    assert [name for name in members if getattr(instance, name) is not None] == [type_]
    config = getattr(instance, type_)
    assert config.protocol_profile is ProtocolProfile[profile.upper()]
    assert {name: getattr(config, name) for name in given} == given


@pytest.mark.contract("NRM-03")
@pytest.mark.parametrize(("given", "label"), [({"provider": "seulgivibe_claude"}, "seulgivibe_claude"), ({}, "")])
def test_the_label_of_a_service_reaches_the_node(given: dict[str, Any], label: str) -> None:
    payload = payload_of(node("n", adapters=[adapter("main", "openai_compat", base_url="http://h.test", **given)]))

    assert payload.adapters[0].openai_compat is not None
    assert payload.adapters[0].openai_compat.provider == label


@pytest.mark.contract("PAY-01")
@pytest.mark.parametrize(
    "given",
    [{"adapter": "main"}, {"adapter": "nowhere"}],
    ids=["its-adapter-is-disabled", "its-adapter-does-not-exist"],
)
def test_a_disabled_provider_without_a_running_adapter_is_a_resource_without_one(given: dict[str, Any]) -> None:
    payload = payload_of(node("n", provider("p", enabled=False, **given), adapters=[adapter("main", enabled=False)]))

    assert payload.adapters == []
    assert [(item.provider_id, item.adapter) for item in payload.resources] == [("p", "")]


@pytest.mark.contract("PAY-01")
@pytest.mark.contract("POL-04")
def test_toggling_a_provider_changes_nothing_for_the_node() -> None:
    assert payload_of(node("n", provider("p", enabled=False))) == payload_of(node("n", provider("p")))


@pytest.mark.contract("PAY-01")
def test_a_node_without_anything_still_has_its_id_and_runtime() -> None:
    payload = payload_of(node("n", adapters=[]))

    assert (payload.node_id, payload.adapters, payload.resources) == ("n", [], [])
    assert payload.runtime is not None


@pytest.mark.contract("PAY-01")
@pytest.mark.contract("CFG-06")
def test_values_from_references_are_sent_as_what_they_resolve_to() -> None:
    instance = adapter("main", base_url=Sourced("${env:U}", "http://h.test"), headers={"K": Sourced("${env:K}", "v")})
    spare = adapter("spare", base_url="http://h.test", enabled=Sourced("${env:E}", value=False))

    (built,) = payload_of(node("n", adapters=[instance, spare])).adapters

    assert built.vllm is not None
    assert (built.vllm.base_url, built.vllm.headers) == ("http://h.test", {"K": "v"})


@pytest.mark.contract("CFG-06")
def test_a_payload_can_be_shown_while_references_are_unresolved() -> None:
    instance = adapter("main", base_url=Sourced("${env:U}", UNRESOLVED))
    unknown = adapter("other", base_url="http://h.test")
    unknown["type"] = Sourced("${env:T}", UNRESOLVED)

    payload = payload_of(node("n", adapters=[instance, unknown]))

    assert [item.name for item in payload.adapters] == ["main", "other"]
    assert payload.adapters[0].vllm is not None
    assert payload.adapters[0].vllm.base_url == "${env:U}"


def test_an_unknown_node_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownNodeError, match="'gpu-x'"):
        payload_of(node("n"), node_id="gpu-x")


def test_payloads_of_several_nodes_are_those_of_each() -> None:
    snapshot = trees.snapshot(edge(node("a", provider("p")), node("b"), node("c"), models=[model("m", "p")]))

    payloads = payload_trees(snapshot, {"a", "c", "gone"})

    assert payloads == {"a": payload_tree(snapshot, "a"), "c": payload_tree(snapshot, "c")}
