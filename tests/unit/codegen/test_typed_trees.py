from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict

import iop_edge
from codegen import typed_trees
from codegen.descriptors import Schema
from iop_pb import trees
from tests.support import ROOT


def assert_fits(value: object, kind: Any) -> None:
    """Assert that a value of a normalized tree is what its type says."""
    if is_typeddict(kind):
        assert isinstance(value, Mapping)
        hints = get_type_hints(kind)
        assert value.keys() <= hints.keys()
        assert kind.__required_keys__ <= value.keys()
        for name, item in value.items():
            assert_fits(item, hints[name])
    elif get_origin(kind) is list:
        assert isinstance(value, list)
        for item in value:
            assert_fits(item, get_args(kind)[0])
    elif get_origin(kind) is dict:
        assert isinstance(value, dict)
    elif get_args(kind):
        assert value in get_args(kind)
    else:
        assert type(value) is kind


def test_normalized_config_has_the_generated_type(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "edge.legacy.yaml").read_text(encoding="utf-8")
    file = tmp_path / "edge.yaml"
    file.write_text(text.replace("    token: ${env:IOP_NODE_OLD_TOKEN}\n", ""), encoding="utf-8")
    snapshot = iop_edge.load(file)
    assert_fits(snapshot.tree, trees.EdgeConfig)


def test_shorthands_which_normalizing_resolves_are_left_out(read_schema: Callable[[], Schema]) -> None:
    assert "class Provider(TypedDict" in typed_trees.render(read_schema())
    assert not {"base_url", "headers"} & get_type_hints(trees.Provider).keys()
