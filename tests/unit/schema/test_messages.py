from typing import cast

import pytest

from iop_edge.config.marks import UNRESOLVED, Sourced
from iop_edge.schema import table
from iop_edge.schema.messages import build, config_message, message_class
from iop_edge.schema.values import Tree
from iop_pb.iop.config.v1 import AdapterType, EdgeConfig, Node, Provider
from tests import trees

SECRET = "s3cr3t"


def node(tree: Tree) -> Node:
    return cast("Node", build({"id": "n", **tree}, table.message("Node")))


def provider(tree: Tree) -> Provider:
    return cast("Provider", build(tree, table.message("Provider")))


def test_a_tree_becomes_messages_with_words_as_numbers() -> None:
    tree = {
        "edge": {"id": "e"},
        "nodes": [{"id": "n", "adapters": [{"name": "a", "type": "vllm", "enabled": False}]}],
        "models": [{"id": "m", "usage_attribution": {"team": "x"}}],
    }
    config = config_message(tree)
    assert isinstance(config, EdgeConfig)
    adapter = config.nodes[0].adapters[0]
    assert (adapter.name, adapter.type, adapter.enabled) == ("a", AdapterType.VLLM, False)
    assert config.models[0].usage_attribution == {"team": "x"}
    assert EdgeConfig.parse(bytes(config)) == config


def test_lists_of_words_and_texts_are_built() -> None:
    built = provider({"lifecycle_capabilities": ["load", "pull"], "models": ["m"]})
    assert built.models == ["m"]
    assert [item.name for item in built.lifecycle_capabilities] == ["LOAD", "PULL"]


def test_an_unresolved_text_is_its_reference_and_an_unresolved_number_is_unset() -> None:
    unresolved = trees.edge(
        trees.node(
            "n",
            trees.provider("p", capacity=Sourced("${env:C}", UNRESOLVED), type=Sourced("${env:E}", UNRESOLVED)),
            token=Sourced("${env:T}", UNRESOLVED),
            adapters=[trees.adapter("main", headers={"A": "a", "B": Sourced("${env:B}", UNRESOLVED)})],
        )
    )
    (built,) = trees.snapshot(unresolved).config.nodes
    assert built.token == "${env:T}"
    assert built.adapters[0].headers == {"A": "a", "B": "${env:B}"}
    assert (built.providers[0].capacity, built.providers[0].type) == (None, None)


@pytest.mark.contract("CFG-08")
def test_a_message_prints_without_its_secrets() -> None:
    tree = {
        "alias": "Rack 1",
        "token": SECRET,
        "tls": {"key": SECRET},
        "adapters": [
            {
                "name": "a",
                "base_url": f"http://u:{SECRET}@h/",
                "headers": {"Authorization": SECRET, "X-Tenant": "platform"},
            }
        ],
    }
    shown = repr(node(tree))
    assert SECRET not in shown
    assert "id='n'" in shown
    assert "name='a'" in shown
    # A reference may have stood here: the message does not know.
    assert "Rack 1" not in shown
    assert "platform" not in shown
    assert SECRET not in f"{node(tree)}"


@pytest.mark.contract("CFG-08")
def test_no_message_of_any_service_prints_a_sensitive_field() -> None:
    checked = 0
    for name in table.message_names():
        for field in table.message(name).fields.values():
            if not field.sensitive or field.repeated:
                continue
            value: object = {"X-Unheard-Of": SECRET} if field.kind is table.Kind.MAP else SECRET
            if field.kind is table.Kind.BYTES:
                value = SECRET.encode()
            assert SECRET not in repr(message_class(name)(**{field.name: value})), (name, field.name)
            checked += 1
    assert checked


def test_the_class_of_a_message_is_found_by_its_name() -> None:
    assert message_class("Node") is Node
