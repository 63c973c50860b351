"""The JSON Schema and the loader say the same of a file, but for what a schema has no words for (CFG-09)."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from iop_edge.config.pipeline import check_sources
from iop_edge.config.source import Source
from iop_edge.errors import Violation
from iop_edge.schema import table
from iop_edge.schema.json_schema import json_schema
from tests.property.configs import TEXTS, valid_config
from tests.support import EXAMPLES

pytestmark = pytest.mark.contract("CFG-09")

ELSEWHERE: Final = {
    # Another file may bring what this one leaves out. Identities are the exception.
    "field.required",
    # Several places of the config together.
    "adapter.label",
    "id.duplicate",
    "listen.conflict",
    "model.context_size",
    "model.target",
    "model.token_order",
    "provider.category",
    "provider.shorthand",
    "provider_auth.from_header",
    "ref.ambiguous",
    "ref.disabled",
    "ref.type",
    "ref.unknown",
    "route.target",
    # Fields whose meaning hangs on the type of their adapter, which another file may bring.
    "adapter.protocol_profile",
    "field.refused",
    # The text within a text.
    "reference.syntax",
    "value.redacted",
    # Forms whose finer points no pattern has.
    "value.address",
    "value.header_value",
    "value.http_path",
    "value.identifier",
    "value.non_empty",
    "value.pem",
    "value.token",
    "value.url",
}
"""The rules that are the loader's alone, with docs/decisions/json-schema.md."""

VALIDATOR: Final = Draft202012Validator(json_schema())

_MESSAGES: Final = [table.message(name) for name in table.message_names()]
_KEYS: Final = st.sampled_from(
    sorted({"nope", "x-a", "$schema"}.union(*(m.keys for m in _MESSAGES), *(m.legacy for m in _MESSAGES)))
)
_NUMBERS: Final = [0, -1, 1, 7, 2**31, 2**63, 1.5]
_WORDS: Final = [
    "",
    "a",
    "a b",
    "7",
    "true",
    "null",
    "ollama",
    "openai-chat",
    "API",
    "passive",
    "/a",
    "http://h",
    "ftp://h",
    "h:1",
]
_REFERENCES: Final = ["${env:A}", "x${env:A}", "${file:a}", "${A}", "${", "$${a}", "<redacted>"]
_NODES: Final = [[], {}, ["a"], ["a", "a"], [None], {"a": "b"}, {"id": "a"}, [{"id": "a"}], {"a": None}, {"a": 1}]
# No 1.0: to a JSON Schema that is a whole number, and to a reader of YAML it is none.
_VALUES: Final = st.sampled_from([None, True, False, *_NUMBERS, *_WORDS, *_REFERENCES, *_NODES]) | TEXTS


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


_VALID: Final = [read(path) for path in sorted(EXAMPLES.glob("*.yaml")) if path.name != "edge.rejected.yaml"]


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place below a node, as the keys and indexes that lead there."""
    steps = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, value in steps:
        yield (*path, step)
        yield from places(value, (*path, step))


@st.composite
def changed_in_one_place(draw: st.DrawFn) -> dict[str, Any]:
    """A valid file with one thing replaced, added, repeated or taken out."""
    document: dict[str, Any] = deepcopy(draw(st.sampled_from(_VALID) | valid_config()))
    *above, step = draw(st.sampled_from(list(places(document))))
    parent: Any = document
    for part in above:
        parent = parent[part]
    change = draw(st.sampled_from(["replace", "replace", "add", "repeat", "remove"]))
    if change == "remove":
        del parent[step]
    elif change == "replace":
        parent[step] = draw(_VALUES)
    elif isinstance(parent, dict):
        parent[draw(_KEYS)] = draw(_VALUES) if change == "add" else deepcopy(parent[step])
    else:
        parent.append(draw(_VALUES) if change == "add" else deepcopy(parent[step]))
    return document


def faults(document: dict[str, Any]) -> list[Violation]:
    """What the loader finds in a file that may be an overlay, where references need not resolve."""
    text = json.dumps(document, ensure_ascii=False)
    return list(check_sources([Source("edge.yaml", text.encode(), private=True)], resolver=None).violations)


def is_missing_identity(fault: Violation) -> bool:
    """Tell whether an item of a list has no identity: without it no file can be merged, so the schema requires it."""
    item, _, name = fault.path.rpartition(".")
    return (
        fault.rule == "field.required"
        and item.endswith("]")
        and name in {m.identity.name for m in _MESSAGES if m.identity}
    )


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_an_example_fits_the_schema_if_it_is_meant_to_load(path: Path) -> None:
    assert VALIDATOR.is_valid(read(path)) == (path.name != "edge.rejected.yaml")


@given(valid_config())
def test_what_loads_fits_the_schema(document: dict[str, Any]) -> None:
    assert faults(document) == []
    assert list(VALIDATOR.iter_errors(document)) == []


@given(changed_in_one_place())
@example({"nodes": [{"id": "n", "providers": [{"id": "p", "models": []}]}]})
@example({"nodes": [{"id": "n", "adapters": {"ollama": {"type": "ollama"}}}]})
@example({"nodes": [{"id": "n", "adapters": {"ollama": [{}, {}]}}]})
@example({"edge": {"id": "e"}, "nodes": [{"id": None, "address": "h:1"}]})
@example({"models": [{"id": "m", "usage_attribution": {"${env:A}": "b"}}]})
def test_what_one_of_the_two_refuses_the_other_refuses(document: dict[str, Any]) -> None:
    broken = [error.message for error in VALIDATOR.iter_errors(document)]
    found = faults(document)
    here = [fault for fault in found if fault.rule not in ELSEWHERE or is_missing_identity(fault)]
    assert broken or not here, here
    assert not broken or [fault for fault in found if fault.rule != "field.required" or is_missing_identity(fault)], (
        broken
    )
