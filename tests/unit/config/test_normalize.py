"""After normalizing there is one shape only (NRM)."""

from collections.abc import Mapping
from typing import Any

import pytest

from iop_edge.config.pipeline import snapshot_of
from tests.unit.config.loading import BASE, World, check, found, load, rules, warned


def node(providers: str, adapters: str = "") -> str:
    """A config of one Node with these providers and adapter instances, each an item of a flow list."""
    lists = f"  adapters: [{adapters}]\n  providers: [{providers}]\n"
    return f'edge: {{id: e}}\nnodes:\n- id: n\n  address: "127.0.0.1:1"\n{lists}'


def provider(identity: str, rest: str, kind: str = "openai_compat") -> str:
    return f"{{id: {identity}, type: {kind}, category: api, models: [m], {rest}}}"


def instance(name: str, rest: str = "", kind: str = "openai_compat") -> str:
    return f"{{name: {name}, type: {kind}, base_url: http://h.test, {rest}}}"


def only_node(text: str) -> Mapping[str, Any]:
    tree: Mapping[str, Any] = load(text).tree["nodes"][0]
    return tree


@pytest.mark.contract("NRM-06")
@pytest.mark.contract("CFG-09")
def test_defaults_are_filled_in() -> None:
    tree = load(BASE).tree
    made = tree["nodes"][0]["providers"][0]
    assert tree["long_context_threshold_tokens"] == 100000
    assert (made["enabled"], made["priority"], made["capacity"]) == (True, 0, 1)
    assert "lifecycle_capabilities" not in made
    assert made["health"]["mode"] == "passive"
    assert tree["nodes"][0]["runtime"] == {"concurrency": 0}
    assert tree["nodes"][0]["agent_kind"] == "standard"
    assert tree["nodes"][0]["tls"] == {}


@pytest.mark.contract("CFG-09")
@pytest.mark.case("R1")
def test_default_that_is_written_out_is_the_same_config() -> None:
    written = BASE.replace("models: [m]}", "models: [m], capacity: 1, enabled: true, health: passive}")
    assert load(written + "long_context_threshold_tokens: 100000\nlogging: {}\n") == load(BASE)


@pytest.mark.contract("NRM-04")
@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("{}", {"enabled": False}),
        ("{enabled: false}", {"enabled": False}),
        (
            "{enabled: true}",
            {
                "enabled": True,
                "from_header": "X-IOP-Provider-Authorization",
                "target_header": "Authorization",
                "scheme": "Bearer",
                "required": True,
            },
        ),
        (
            "{enabled: true, scheme: '', required: false, from_header: X-Mine}",
            {
                "enabled": True,
                "from_header": "X-Mine",
                "target_header": "Authorization",
                "scheme": "",
                "required": False,
            },
        ),
    ],
)
def test_provider_auth_defaults_hang_on_enabled(written: str, normal: dict[str, Any]) -> None:
    assert load(BASE + f"openai: {{provider_auth: {written}}}\n").tree["openai"]["provider_auth"] == normal


@pytest.mark.contract("NRM-05")
@pytest.mark.parametrize(
    ("kind", "written", "normal"),
    [
        ("ollama", "", "ollama_native"),
        ("vllm", "", "openai_chat"),
        ("llama_cpp", "", "openai_chat"),
        ("openai_compat", "", "openai_chat"),
        ("vllm", "protocol_profile: OpenAI-Responses", "openai_responses"),
        ("openai_compat", "protocol_profile: anthropic_messages", "anthropic_messages"),
    ],
)
def test_protocol_profile_is_the_types_own_or_one_that_it_speaks(kind: str, written: str, normal: str) -> None:
    assert only_node(node("", instance("a", written, kind)))["adapters"][0]["protocol_profile"] == normal


@pytest.mark.contract("NRM-05")
@pytest.mark.parametrize(("kind", "profile"), [("ollama", "anthropic_messages"), ("llama_cpp", "openai_responses")])
def test_protocol_profile_that_the_type_does_not_speak_is_an_error(kind: str, profile: str) -> None:
    report = check(node("", instance("a", f"protocol_profile: {profile}", kind)))
    assert found(report) == [("adapter.protocol_profile", "nodes[0].adapters[0].protocol_profile", 5)]


@pytest.mark.contract("NRM-02")
@pytest.mark.parametrize("key", ["base_url", "endpoint"])
def test_fields_of_a_provider_become_an_instance_named_after_it(key: str) -> None:
    rest = f"provider: acme, {key}: http://h.test, headers: {{X-Tenant: t}}, request_timeout_ms: 5, context_size: 9"
    tree = only_node(node(provider("p", rest), instance("a", "provider: z")))
    assert [item["name"] for item in tree["adapters"]] == ["a", "p"]
    assert tree["adapters"][1] == {
        "name": "p",
        "type": "openai_compat",
        "enabled": True,
        "provider": "acme",
        "protocol_profile": "openai_chat",
        "base_url": "http://h.test",
        "headers": {"X-Tenant": "t"},
        "request_timeout_ms": 5,
    }
    made = tree["providers"][0]
    assert made["adapter"] == "p"
    assert made["context_size"] == 9
    assert made.keys().isdisjoint({"provider", "base_url", "endpoint", "headers", "request_timeout_ms"})


@pytest.mark.contract("NRM-02")
@pytest.mark.contract("POL-04")
def test_instance_made_of_a_disabled_provider_is_enabled() -> None:
    tree = only_node(node(provider("p", "base_url: http://h.test, enabled: false")))
    assert tree["adapters"][0]["enabled"] is True


@pytest.mark.contract("NRM-02")
@pytest.mark.parametrize(
    "field", ["provider: x", "base_url: http://h.test", "headers: {A: b}", "request_timeout_ms: 1"]
)
def test_fields_of_an_instance_beside_an_adapter_are_an_error(field: str) -> None:
    report = check(private=(node(provider("p", f"adapter: a, {field}"), instance("a")),))
    name = field.partition(":")[0]
    assert found(report) == [("provider.shorthand", f"nodes[0].providers[0].{name}", 6)]


@pytest.mark.contract("NRM-02")
def test_instance_name_that_is_taken_is_an_error_that_names_both() -> None:
    text = node(provider("a", "base_url: http://h.test"), instance("a"))
    report = check(text)
    assert found(report) == [("id.duplicate", "nodes[0].providers[0].id", 6)]
    assert "1.yaml:5:21" in report.violations[0].message


@pytest.mark.contract("NRM-02")
@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("rest", "rule", "path"),
    [
        ("base_url: nope", "value.url", "nodes[0].providers[0].base_url"),
        ("endpoint: nope", "value.url", "nodes[0].providers[0].base_url"),
        ("request_timeout_ms: 5", "field.required", "nodes[0].providers[0].base_url"),
        ("base_url: http://h.test, request_timeout_ms: -5", "value.gte", "nodes[0].providers[0].request_timeout_ms"),
        ("base_url: http://h.test, headers: {a b: x}", "value.header_name", 'nodes[0].providers[0].headers["a b"]'),
    ],
)
def test_fault_in_a_moved_field_is_reported_where_it_is_written(rest: str, rule: str, path: str) -> None:
    report = check(private=(node(provider("p", rest), instance("a")),))
    assert found(report) == [(rule, path, 6)]


@pytest.mark.contract("NRM-02")
@pytest.mark.parametrize(
    ("identity", "rule"), [("5", "field.type"), ('"a b"', "value.identifier"), ('""', "value.identifier")]
)
def test_provider_without_a_usable_id_is_reported_once(identity: str, rule: str) -> None:
    report = check(node(f"{{id: {identity}, type: vllm, category: api, models: [m], base_url: http://h.test}}"))
    assert found(report) == [(rule, "nodes[0].providers[0].id", 6)]


@pytest.mark.contract("NRM-02")
def test_provider_id_that_is_taken_is_reported_once() -> None:
    text = node(f"{provider('p', 'base_url: http://h.test')}, {provider('p', 'base_url: http://i.test')}")
    assert found(check(text)) == [("id.duplicate", "nodes[0].providers[1].id", 6)]


@pytest.mark.contract("NRM-02")
@pytest.mark.contract("VAL-05")
@pytest.mark.parametrize("rest", ["endpoint: http://h.test, headers: {X-Tenant: t}", "request_timeout_ms: 5"])
def test_provider_of_a_type_that_needs_more_than_a_backend_names_an_instance(rest: str) -> None:
    (violation,) = check(node(provider("p", rest, "cli"))).violations
    assert violation.rule == "provider.shorthand"
    assert "profile" in violation.message


@pytest.mark.contract("NRM-03")
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_alias_of_a_provider_labels_its_instance_whether_enabled_or_not(enabled: str) -> None:
    aliased = provider("p", f"adapter: a, enabled: {enabled}", "seulgivibe_claude")
    tree = only_node(node(f"{aliased}, {provider('q', 'adapter: a')}", instance("a")))
    assert tree["adapters"][0]["provider"] == "seulgivibe_claude"
    assert [item["type"] for item in tree["providers"]] == ["openai_compat", "openai_compat"]


@pytest.mark.contract("NRM-03")
def test_alias_of_an_instance_is_its_label() -> None:
    tree = only_node(node("", instance("a", kind="seulgivibe_openai")))
    assert (tree["adapters"][0]["type"], tree["adapters"][0]["provider"]) == ("openai_compat", "seulgivibe_openai")


@pytest.mark.contract("NRM-03")
def test_label_that_is_written_wins_over_all_aliases() -> None:
    providers = ", ".join(
        provider(name, "adapter: a", kind) for name, kind in (("p", "seulgivibe_claude"), ("q", "seulgivibe_openai"))
    )
    assert only_node(node(providers, instance("a", "provider: acme")))["adapters"][0]["provider"] == "acme"


@pytest.mark.contract("NRM-03")
@pytest.mark.parametrize("kind", ["openai_compat", "seulgivibe_claude"])
def test_two_aliases_on_an_instance_without_a_label_are_an_error(kind: str) -> None:
    providers = provider("p", "adapter: a", "seulgivibe_claude") + ",\n    "
    providers += provider("q", "adapter: a, enabled: false", "seulgivibe_openai")
    assert found(check(node(providers, instance("a", kind=kind)))) == [
        ("adapter.label", "nodes[0].providers[1].type", 7)
    ]


@pytest.mark.contract("VAL-03")
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_bare_type_name_becomes_the_name_of_the_only_enabled_instance(enabled: str) -> None:
    adapters = ", ".join([instance("a", kind="vllm"), instance("b", "enabled: false", "vllm"), instance("c")])
    tree = only_node(node(provider("p", f"adapter: vllm, enabled: {enabled}", "vllm"), adapters))
    assert tree["providers"][0]["adapter"] == "a"


@pytest.mark.contract("VAL-03")
def test_name_wins_over_a_type() -> None:
    adapters = ", ".join([instance("vllm", kind="vllm"), instance("b", kind="vllm")])
    assert only_node(node(provider("p", "adapter: vllm", "vllm"), adapters))["providers"][0]["adapter"] == "vllm"


@pytest.mark.contract("VAL-09")
def test_bare_type_name_of_a_route_becomes_the_name_of_the_instance() -> None:
    text = node(provider("p", "adapter: a", "vllm"), instance("a", kind="vllm"))
    tree = load(text + "openai: {model_routes: [{model: x, adapter: vllm, target: m}]}").tree
    assert tree["openai"]["model_routes"][0]["adapter"] == "a"


@pytest.mark.contract("NRM-06")
def test_token_hash_is_in_lower_case() -> None:
    token = f"{{token_ref: t, token_hash_sha256: '{'AB' * 32}', principal_ref: x}}"
    tree = load(BASE + f"openai: {{principal_tokens: [{token}]}}").tree
    assert tree["openai"]["principal_tokens"][0]["token_hash_sha256"] == "ab" * 32


@pytest.mark.contract("NRM-06")
@pytest.mark.parametrize(
    ("written", "mode"), [("passive", "passive"), ("{mode: active}", "active"), ("none", "none"), ("{}", "passive")]
)
def test_health_is_a_mode_or_a_mapping(written: str, mode: str) -> None:
    text = BASE.replace("models: [m]}", f"models: [m], health: {written}}}")
    assert load(text).tree["nodes"][0]["providers"][0]["health"]["mode"] == mode


@pytest.mark.contract("REF-01")
def test_lists_whose_order_means_nothing_are_sorted_and_others_are_not() -> None:
    text = BASE.replace("models: [m]}", "models: [z, m, a], lifecycle_capabilities: [pull, load, drain]}")
    made = load(text).tree["nodes"][0]["providers"][0]
    assert made["models"] == ["z", "m", "a"]
    assert made["lifecycle_capabilities"] == ["load", "drain", "pull"]


@pytest.mark.contract("NRM-08")
@pytest.mark.parametrize(("written", "targets"), [("[p]", ["m"]), ("{p: k}", ["k"]), ("[{id: p, target: k}]", ["k"])])
def test_target_of_a_model_defaults_to_its_id(written: str, targets: list[str]) -> None:
    text = BASE.replace("models: [m]}", "models: [m, k]}").replace("providers: [p]", f"providers: {written}")
    assert [entry["target"] for entry in load(text).tree["models"][0]["providers"]] == targets


@pytest.mark.contract("NRM-07")
def test_empty_lists_and_maps_are_as_if_left_out() -> None:
    assert load(BASE + "openai: {model_routes: [], principal_tokens: []}\n") == load(BASE)


@pytest.mark.contract("NRM-02")
def test_nothing_that_is_normal_already_is_touched() -> None:
    snapshot = load(BASE)
    assert snapshot_of(dict(snapshot.tree)) == snapshot


@pytest.mark.contract("NRM-03")
@pytest.mark.contract("CFG-06")
def test_alias_that_comes_from_a_reference_is_resolved_too() -> None:
    text = node(provider("p", "adapter: a", '"${env:T}"'), instance("a"))
    tree = load(text, world=World({"T": "seulgivibe_claude"})).tree["nodes"][0]
    assert tree["providers"][0]["type"] == "openai_compat"
    assert tree["adapters"][0]["provider"] == "seulgivibe_claude"


def test_small_config_warns_of_nothing() -> None:
    assert (rules(check(BASE)), warned(check(BASE))) == ([], [])


@pytest.mark.contract("NRM-03", "CFG-04")
@pytest.mark.parametrize(
    "broken",
    [
        "adapters: [{name: a, type: seulgivibe_claude}], providers: 1",
        "adapters: 1, providers: [{id: p, type: seulgivibe_claude}]",
    ],
)
def test_alias_beside_a_list_that_is_none_is_judged_by_its_type(broken: str) -> None:
    report = check(f'edge: {{id: e}}\nnodes: [{{id: n, address: "127.0.0.1:1", {broken}}}]\n')
    assert {"field.type", "field.required"} <= set(rules(report))
