"""The bytes of a payload, and their tag."""

import copy

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.payload import EncodedPayload, encode, node_payload, payload_tree
from iop_edge.schema.values import Tree
from iop_pb.iop.runtime.v1 import NodeConfigPayload
from tests.trees import adapter, edge, items, node, provider

KEY = b"k" * 32


def fleet() -> Tree:
    headers = {"X-Tenant": "t", "Authorization": "s3cr3t", "Accept": "*/*"}
    adapters = [adapter("b", base_url="http://b.test", headers=headers), adapter("a", "cli", profile="codex")]
    return edge(node("n", provider("q", adapter="a"), provider("p", adapter="b"), adapters=adapters))


def encoded(config: Tree, key: bytes = KEY) -> EncodedPayload:
    return encode(payload_tree(Snapshot(config), "n"), key)


def test_the_message_of_one_node_is_built_without_the_others() -> None:
    config = fleet()
    config["nodes"].append({"id": "m", "alias": object()})  # no message could hold this
    assert node_payload(Snapshot(config), "n").node_id == "n"


@pytest.mark.contract("PAY-01")
def test_equal_configs_give_equal_bytes_in_whatever_order_they_are_written() -> None:
    shuffled = copy.deepcopy(fleet())
    for _, value in items(shuffled):
        value.reverse()
    instance = next(item for item in shuffled["nodes"][0]["adapters"] if item["name"] == "b")
    instance["headers"] = dict(reversed(instance["headers"].items()))

    assert encoded(shuffled) == encoded(fleet())


@pytest.mark.contract("PAY-01")
def test_the_bytes_are_the_payload() -> None:
    payload = node_payload(Snapshot(fleet()), "n")

    assert encoded(fleet()).data == bytes(payload)
    assert NodeConfigPayload.parse(encoded(fleet()).data) == payload


@pytest.mark.contract("PAY-01")
def test_another_content_has_another_tag() -> None:
    changed = fleet()
    changed["nodes"][0]["adapters"][0]["headers"]["Authorization"] = "other"

    assert encoded(changed).tag != encoded(fleet()).tag


@pytest.mark.contract("PAY-01")
def test_the_tag_of_a_content_cannot_be_told_without_the_key() -> None:
    one, other = encoded(fleet(), KEY), encoded(fleet(), b"x" * 32)

    assert one.data == other.data
    assert one.tag != other.tag
    assert len(one.tag) == 32


@pytest.mark.contract("CFG-08")
def test_an_encoded_payload_shows_no_secret() -> None:
    payload = encoded(fleet())

    assert b"s3cr3t" in payload.data
    assert "s3cr3t" not in f"{payload!r} {payload}"
