"""A fault is reported once: what is missing only because of it is no fault of its own (CFG-04)."""

import pytest

from iop_edge.config.events import ParserFactory
from tests.unit.config import decoding
from tests.unit.config.decoding import both_parsers
from tests.unit.config.loading import BASE, check, rules

pytestmark = pytest.mark.contract("CFG-04")

ADAPTER = '{name: a, type: ollama, base_url: "http://127.0.0.1:11434"}'
PROVIDER = "{id: p, type: ollama, category: local_inference, adapter: a, models: [m]}"


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("edge: {id: e}", "edge: {<<: 5}", "yaml.merge"),
        ("edge: {id: e}", "edge: {<<: *nope}", "yaml.alias"),
        ("edge: {id: e}", "<<: 5", "yaml.merge"),
        ("edge: {id: e}", "edge: {<<: {}, <<: {id: e}}", "yaml.duplicate_key"),
        ("edge: {id: e}", "edge: {id:e}", "field.unknown"),
        ("edge: {id: e}", "edge: {!!str id: e}", "yaml.tag"),
        ("edge: {id: e}", "x-a: &a id\nedge: {*a : e}", "yaml.key"),
        (ADAPTER, "{<<: 5}", "yaml.merge"),
        (ADAPTER, "{name: a, type: ollama, <<: 5}", "yaml.merge"),
        (ADAPTER, '{name: a, type: ollama, "base_url:http://h"}', "field.unknown"),
        (PROVIDER, "{<<: 5}", "yaml.merge"),
        (PROVIDER, "{id: p, category: local_inference, type: ollama, models: [m], <<: [5]}", "yaml.merge"),
        (PROVIDER, PROVIDER.replace("adapter: a", 'base_url: "http://h", <<: 5'), "yaml.merge"),
        (PROVIDER, PROVIDER.replace("adapter: a", "adapter:a"), "field.unknown"),
        ("{id: m, providers: [p]}", '{id: "m\\t", providers: [p]}', "value.identifier"),
        ("{id: m, providers: [p]}", "{id: '', providers: [p]}", "value.identifier"),
    ],
)
def test_what_could_not_be_read_is_not_missing(old: str, new: str, rule: str) -> None:
    text = BASE.replace(old, new, 1)
    assert text != BASE
    assert rules(check(text)) == [rule]


def test_a_merge_that_is_refused_hides_no_fault_beside_it() -> None:
    text = BASE.replace(PROVIDER, PROVIDER.replace("adapter: a", "adapter: a, capacity: 0, <<: 5"), 1)
    assert rules(check(text)) == ["value.gte", "yaml.merge"]


def test_a_key_without_a_space_hides_no_other_field() -> None:
    text = BASE.replace(ADAPTER, '{name:a, base_url: "http://h"}', 1)
    assert rules(check(text)) == ["field.required", "field.unknown"]


@both_parsers
def test_cli_adapter_with_a_bad_merge_has_nothing_that_it_refuses(parser: ParserFactory) -> None:
    text = BASE.replace("adapters:\n", "adapters:\n      - {name: c, type: cli, profile: p, <<: 5}\n")
    assert [rule for rule, *_ in decoding.found(text, parser)] == rules(check(text)) == ["yaml.merge"]


@pytest.mark.parametrize(
    "overlay",
    [
        "nodes: [{id: n, alias: x}, {id: n, alias: y}]",
        "nodes: [{id: n, adapters: [{name: a, enabled: true}, {name: a}]}]",
        "nodes: [{id: n, providers: [{id: p, capacity: 1}, {id: p, capacity: 2}]}]",
        "models: [{id: m, context_window_tokens: 9}, {id: m}]",
    ],
)
def test_identity_that_an_overlay_has_twice_is_one_fault(overlay: str) -> None:
    assert rules(check(BASE, private=(overlay,))) == ["id.duplicate"]
