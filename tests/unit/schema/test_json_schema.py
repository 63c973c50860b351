from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from iop_edge.config.decode import decode
from iop_edge.config.pipeline import check_sources
from iop_edge.config.source import Source
from iop_edge.schema import table
from iop_edge.schema.json_schema import json_schema

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SCHEMA = json_schema()
IDENTITIES = ("nodes[0].id", "nodes[0].adapters[1].name", "models[0].providers[0].id")
VALIDATOR = Draft202012Validator(SCHEMA)


def places(text: str) -> list[str]:
    """Where a file breaks the schema, as JSON paths."""
    return sorted({error.json_path for error in VALIDATOR.iter_errors(yaml.safe_load(text))})


def overlay(text: str) -> Source:
    return Source("edge.yaml", text.encode(), private=True)


def provider(text: str) -> str:
    return f"nodes: [{{id: n, providers: [{{id: p, {text}}}]}}]"


def adapter(text: str) -> str:
    return f"nodes: [{{id: n, adapters: [{{name: a, {text}}}]}}]"


def property_at(*names: str) -> dict[str, Any]:
    node: dict[str, Any] = SCHEMA
    for name in names[:-1]:
        node = node["properties"][name]
        reference = node.get("$ref") or node["items"]["$ref"]
        node = SCHEMA["$defs"][reference.removeprefix("#/$defs/")]
    found: dict[str, Any] = node["properties"][names[-1]]
    return found


def test_the_schema_is_itself_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", ["edge.yaml", "edge.private.yaml", "edge.legacy.yaml"])
def test_an_example_that_loads_fits(name: str) -> None:
    assert places((EXAMPLES / name).read_text(encoding="utf-8")) == []


def test_what_the_schema_can_see_in_the_rejected_example_is_found_at_its_place() -> None:
    assert places((EXAMPLES / "edge.rejected.yaml").read_text(encoding="utf-8")) == [
        "$",
        "$.long_context_threshold_tokens",
        "$.nodes[0].adapters[0].base_url",
        "$.nodes[0].providers[0]",
        "$.nodes[0].providers[0].capacity",
        "$.nodes[0].providers[0].category",
        "$.nodes[0].providers[0].models",
        "$.nodes[0].providers[0].priority",
        "$.nodes[0].providers[1].capacity",
        "$.openai.principal_tokens[0].token_hash_sha256",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{$schema: x, x-anchors: [1, {a: b}], x-: null}",
        "nodes: null",
        "edge: null",
        "edge: {id: null}",
        provider("capacity: 4"),
        provider("capacity: '${env:CAPACITY:-4}'"),
        provider("enabled: '${file:enabled.txt}'"),
        provider("category: '${env:CATEGORY}'"),
        provider("health: passive"),
        provider("health: {mode: active, interval_ms: 1}"),
        provider("health: '${env:MODE}'"),
        provider("endpoint: http://h"),
        provider("base_url: 'HTTPS://h'"),
        provider("base_url: '${env:URL}'"),
        provider("type: seulgivibe_openai"),
        provider("lifecycle_capabilities: [load, pull]"),
        adapter("protocol_profile: OpenAI-Chat"),
        adapter("protocol_profile: openai_chat"),
        adapter("headers: {X-Tenant: a, Authorization: 'Bearer ${env:KEY}', X-Gone: null}"),
        "nodes: [{id: n, adapters: {ollama: {base_url: http://h}, vllm: [{name: a}, {name: b}]}}]",
        "models: [{id: m, providers: [p, {id: q}, {id: r, target: t}]}]",
        "models: [{id: m, providers: {p: t, q: '${env:TARGET}'}}]",
        "models: [{id: m, usage_attribution: {team: x}}]",
        "models: [{id: 'a$b', providers: ['a$${b}']}]",
        "nodes: [{id: n, address: 'unix:/run/n.sock'}, {id: o, address: '[::1]:7'}]",
        "nodes: [{id: p, address: '${env:ADDRESS}'}]",
        "openai: {provider_auth: {scheme: ''}}",
    ],
)
def test_a_shape_that_the_loader_takes_fits(text: str) -> None:
    assert places(text) == []
    assert decode(overlay(text)).findings == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[]", "$"),
        ("opnai: {}", "$"),
        ("edge: []", "$.edge"),
        ("edge: text", "$.edge"),
        ("nodes: {n: {}}", "$.nodes"),
        ("nodes: [null]", "$.nodes[0]"),
        ("nodes: [{alias: a}]", "$.nodes[0]"),
        ("nodes: [text]", "$.nodes[0]"),
        ("nodes: [{id: 1}]", "$.nodes[0].id"),
        ("nodes: [{id: 'a b'}]", "$.nodes[0].id"),
        ("nodes: [{id: n, address: nowhere}]", "$.nodes[0].address"),
        (provider("capacity: 0"), "$.nodes[0].providers[0].capacity"),
        (provider("capacity: 2147483648"), "$.nodes[0].providers[0].capacity"),
        (provider("capacity: 1.5"), "$.nodes[0].providers[0].capacity"),
        (provider("capacity: '4'"), "$.nodes[0].providers[0].capacity"),
        (provider("enabled: 'true'"), "$.nodes[0].providers[0].enabled"),
        (provider("enabled: 1"), "$.nodes[0].providers[0].enabled"),
        (provider("category: gpu"), "$.nodes[0].providers[0].category"),
        (provider("category: API"), "$.nodes[0].providers[0].category"),
        (provider("health: sometimes"), "$.nodes[0].providers[0].health"),
        (provider("health: {mode: passive, mood: good}"), "$.nodes[0].providers[0].health"),
        (provider("models: [a, a]"), "$.nodes[0].providers[0].models"),
        (provider("models: text"), "$.nodes[0].providers[0].models"),
        (provider("command: [ollama]"), "$.nodes[0].providers[0]"),
        (provider("base_url: http://h, endpoint: http://h"), "$.nodes[0].providers[0]"),
        (provider("base_url: ftp://h"), "$.nodes[0].providers[0].base_url"),
        (adapter("headers: {'X Key': a}"), "$.nodes[0].adapters[0].headers"),
        (adapter("headers: {X-Key: 5}"), "$.nodes[0].adapters[0].headers['X-Key']"),
        (adapter("protocol_profile: smoke_signals"), "$.nodes[0].adapters[0].protocol_profile"),
        ("nodes: [{id: n, adapters: {gopher: {}}}]", "$.nodes[0].adapters"),
        ("nodes: [{id: n, adapters: {ollama: {nam: a}}}]", "$.nodes[0].adapters.ollama"),
        ("nodes: [{id: n, adapters: {ollama: null}}]", "$.nodes[0].adapters.ollama"),
        ("nodes: [{id: n, adapters: {ollama: [null]}}]", "$.nodes[0].adapters.ollama[0]"),
        ("nodes: [{id: n, adapters: {ollama: {type: vllm}}}]", "$.nodes[0].adapters.ollama"),
        ("nodes: [{id: n, adapters: {ollama: [{name: a}, {}]}}]", "$.nodes[0].adapters.ollama[1]"),
        ("nodes: [{id: null}]", "$.nodes[0].id"),
        ("models: [{id: m, providers: {p: {target: t}}}]", "$.models[0].providers.p"),
        ("models: [{id: m, providers: {'${env:X}': t}}]", "$.models[0].providers"),
        ("models: [{id: m, usage_attribution: {'${env:X}': t}}]", "$.models[0].usage_attribution"),
        ("models: [{id: m, providers: [5]}]", "$.models[0].providers[0]"),
        ("models: [{id: m, providers: [null]}]", "$.models[0].providers[0]"),
        ("models: [{id: m, providers: [{target: t}]}]", "$.models[0].providers[0]"),
        ("models: [{id: m, providers: {p: 5}}]", "$.models[0].providers.p"),
        ("models: [{id: m, providers: ['${env:ID}']}]", "$.models[0].providers[0]"),
        ("nodes: [{id: 'n-${env:ID}'}]", "$.nodes[0].id"),
    ],
)
def test_a_shape_that_the_loader_refuses_is_found_where_it_stands(text: str, place: str) -> None:
    assert places(text) == [place]
    violations = check_sources([overlay(text)], resolver=None).violations
    assert [item for item in violations if item.rule != "field.required" or item.path in IDENTITIES]


@pytest.mark.contract("CFG-09")
@pytest.mark.parametrize(
    ("names", "default"),
    [
        (("long_context_threshold_tokens",), 100000),
        (("nodes", "providers", "enabled"), True),
        (("nodes", "providers", "health", "mode"), "passive"),
        (("logging", "format"), "json"),
    ],
)
def test_a_property_shows_its_default(names: tuple[str, ...], default: object) -> None:
    assert property_at(*names)["default"] == default


def test_a_default_that_holds_under_a_condition_is_told_in_the_description() -> None:
    shown = property_at("openai", "provider_auth", "scheme")
    assert "default" not in shown
    assert "Default where `enabled` is true: Bearer." in shown["description"]


def test_every_field_is_described_with_what_its_change_costs() -> None:
    for leaf in table.leaves():
        definition = SCHEMA if leaf.owner is table.root() else SCHEMA["$defs"][leaf.owner.name]
        description = definition["properties"][leaf.field.name]["description"]
        assert leaf.field.doc in description, leaf.pattern
        live = leaf.field.refresh is table.RefreshClass.LIVE
        assert ("A change is live." in description) is live, leaf.pattern


def test_every_word_of_an_enum_is_described() -> None:
    words = {word["const"]: word["description"] for word in SCHEMA["$defs"]["AdapterType"]["anyOf"]}
    assert words["vllm"] == "vLLM."
    assert words["seulgivibe_claude"] == "Another word for `openai_compat`."


def test_no_object_takes_keys_that_it_does_not_name() -> None:
    objects = [SCHEMA, *(definition for definition in SCHEMA["$defs"].values() if "properties" in definition)]
    assert len(objects) > 10
    assert all(item["additionalProperties"] is False for item in objects)
