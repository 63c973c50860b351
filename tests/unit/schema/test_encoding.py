import json
from typing import Any

import pytest

from iop_edge.schema import encoding
from iop_edge.schema.messages import config_message
from iop_edge.schema.values import Tree
from iop_pb.iop.config.v1 import EdgeConfig
from tests.trees import full_tree


def _with_headers(*headers: tuple[str, Any]) -> Tree:
    tree = full_tree()
    tree["nodes"][0]["adapters"][0]["headers"] = dict(headers)
    return tree


def test_bytes_are_the_whole_config() -> None:
    tree = full_tree()
    assert EdgeConfig.parse(encoding.config_bytes(tree)) == config_message(tree)


def test_json_has_the_standard_form_of_protobuf() -> None:
    tree = full_tree()
    document = json.loads(encoding.config_json(tree))
    provider = document["nodes"][0]["providers"][0]
    assert provider["queue_timeout_ms"] == str(tree["nodes"][0]["providers"][0]["queue_timeout_ms"])
    assert provider["category"].startswith("PROVIDER_CATEGORY_")
    assert provider["capacity"] == tree["nodes"][0]["providers"][0]["capacity"]
    assert set(document) == set(tree)


@pytest.mark.parametrize("form", [encoding.config_bytes, encoding.config_json])
def test_order_of_map_keys_changes_no_byte(form: Any) -> None:
    assert form(_with_headers(("a", "1"), ("b", "2"))) == form(_with_headers(("b", "2"), ("a", "1")))
