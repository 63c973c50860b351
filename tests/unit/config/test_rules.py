"""Rules that tie the parts of a config together (VAL-03 to VAL-12)."""

import hashlib
from collections.abc import Callable

import pytest

from tests.unit.config.edits import at_model, at_root, route, token
from tests.unit.config.loading import BASE, World, check, found, load, rules

ROUTE = "openai.model_routes[0]"

TWO = """\
edge: {id: e}
nodes:
  - id: n
    address: "h1:1"
    adapters:
      - {name: a, type: vllm, base_url: "http://h"}
      - {name: b, type: vllm, base_url: "http://h"}
      - {name: off, type: ollama, base_url: "http://h", enabled: false}
    providers:
      - {id: p, type: vllm, category: api, models: [m], adapter: ADAPTER, enabled: ENABLED}
  - id: n2
    address: "h2:1"
    adapters:
      - {name: far, type: llama_cpp, base_url: "http://h"}
"""


@pytest.mark.contract("VAL-03")
@pytest.mark.contract("VAL-04")
@pytest.mark.parametrize(
    ("adapter", "rule", "hint"),
    [
        ("gone", "ref.unknown", "a (vllm), b (vllm), off (ollama, disabled)"),
        ("far", "ref.unknown", "a (vllm)"),
        ("vllm", "ref.ambiguous", "a (vllm), b (vllm)"),
        ("off", "ref.disabled", ""),
        ("ollama", "ref.unknown", "a (vllm)"),
    ],
)
def test_adapter_must_be_one_enabled_instance_of_the_own_node(adapter: str, rule: str, hint: str) -> None:
    text = TWO.replace("ADAPTER", adapter)
    (violation,) = check(text.replace("ENABLED", "true")).violations
    assert (violation.rule, violation.path) == (rule, "nodes[0].providers[0].adapter")
    assert hint in violation.hint
    assert check(text.replace("ENABLED", "false")).ok


@pytest.mark.contract("VAL-03")
def test_types_of_provider_and_instance_are_the_same() -> None:
    text = TWO.replace("ADAPTER", "a").replace("id: p, type: vllm", "id: p, type: ollama")
    assert found(check(text.replace("ENABLED", "true"))) == [("ref.type", "nodes[0].providers[0].type", 10)]
    assert check(text.replace("ENABLED", "false")).ok


@pytest.mark.contract("VAL-04")
def test_structure_of_a_disabled_provider_is_checked_all_the_same() -> None:
    text = TWO.replace("ADAPTER", "gone").replace("ENABLED", "false, capacity: 0").replace("models: [m]", "models: []")
    assert rules(check(text)) == ["value.min_items", "value.gte"]


@pytest.mark.contract("VAL-05")
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_category_cli_needs_an_adapter_of_type_cli(enabled: str) -> None:
    text = TWO.replace("ADAPTER", "a").replace("ENABLED", enabled).replace("category: api", "category: cli")
    assert found(check(text)) == [("provider.category", "nodes[0].providers[0].category", 10)]


@pytest.mark.contract("VAL-07")
@pytest.mark.parametrize(
    ("text", "rule", "path"),
    [
        (BASE.replace("providers: [p]", "providers: [x]"), "ref.unknown", "models[0].providers[0].id"),
        (BASE.replace("providers: [p]", "providers: [p, p]"), "id.duplicate", "models[0].providers[1].id"),
        (BASE.replace("providers: [p]", "providers: {p: x}"), "model.target", "models[0].providers[0].target"),
        (BASE.replace("{id: m,", "{id: k,"), "model.target", "models[0].providers[0].target"),
        (
            at_model("context_window_tokens: 100").replace("models: [m]", "models: [m], context_size: 99"),
            "model.context_size",
            "models[0].providers[0].id",
        ),
        (at_model("min_max_tokens: 2, default_max_tokens: 1"), "model.token_order", "models[0].min_max_tokens"),
        (
            at_model("default_max_tokens: 2, context_window_tokens: 1"),
            "model.token_order",
            "models[0].default_max_tokens",
        ),
        (at_model("min_max_tokens: 2, context_window_tokens: 1"), "model.token_order", "models[0].min_max_tokens"),
    ],
)
def test_model_that_does_not_fit_its_providers_or_itself_is_an_error(text: str, rule: str, path: str) -> None:
    assert found(check(text)) == [(rule, path, 10)]


@pytest.mark.contract("VAL-07")
def test_equal_bounds_are_fine() -> None:
    text = at_model("min_max_tokens: 5, default_max_tokens: 5, context_window_tokens: 5")
    assert check(text.replace("models: [m]", "models: [m], context_size: 5")).ok


@pytest.mark.contract("VAL-09")
@pytest.mark.parametrize(
    ("text", "rule", "path"),
    [
        (route("adapter: x, target: m"), "ref.unknown", f"{ROUTE}.adapter"),
        (route("adapter: a, target: x"), "route.target", f"{ROUTE}.target"),
        (route("adapter: a, target: ''"), "value.non_empty", f"{ROUTE}.target"),
        (route("adapter: a"), "field.required", f"{ROUTE}.target"),
        (route("target: m"), "field.required", f"{ROUTE}.adapter"),
    ],
)
def test_route_leads_to_one_instance_that_serves_its_target(text: str, rule: str, path: str) -> None:
    assert (rule, path) in [(violation.rule, violation.path) for violation in check(text).violations]
    assert check(route("adapter: a, target: m")).ok
    assert check(route("adapter: ollama, target: m")).ok


@pytest.mark.contract("VAL-09")
def test_route_to_a_name_that_two_nodes_have_is_ambiguous() -> None:
    second = '  - {id: n2, address: "h:2", adapters: [{name: a, type: ollama, base_url: "http://h"}]}\n'
    text = route("adapter: a, target: m").replace("models:\n", second + "models:\n", 1)
    assert rules(check(text)) == ["ref.ambiguous"]
    assert check(text.replace('"http://h"}', '"http://h", enabled: false}')).ok


@pytest.mark.contract("VAL-09", "NRM-07")
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_route_by_type_leads_to_an_instance_whose_name_another_node_has_too(enabled: str) -> None:
    second = f'  - {{id: n2, address: "127.0.0.1:2", adapters: [{{name: a, type: vllm, enabled: {enabled}, base_url: "http://h"}}]}}\n'
    text = route("adapter: ollama, target: m").replace("models:\n", second + "models:\n", 1)
    snapshot = load(text)
    assert snapshot.tree["openai"]["model_routes"] == [{"model": "r", "adapter": "ollama", "target": "m"}]
    assert load(snapshot.dump()) == snapshot
    assert rules(check(text.replace("target: m}]", "target: x}]"))) == ["route.target"]
    assert rules(check(text.replace("type: vllm", "type: ollama"))) == (["ref.ambiguous"] if enabled == "true" else [])


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("address", ["u:s3cr3t@h:1", "s3cr3t@h", "http://u:s3cr3t@h:1", "u:s3cr3t@${env:H}:1"])
@pytest.mark.parametrize("old", ['listen: {grpc: "%s"}', 'nodes: [{id: n, address: "%s"}]'])
def test_user_information_in_an_address_is_not_shown(address: str, old: str) -> None:
    report = check(BASE, private=(old % address,), world=World({"H": "h"}))
    assert rules(report) == ["value.address"]
    assert "s3cr3t" not in repr(report)


@pytest.mark.contract("VAL-02")
@pytest.mark.parametrize(
    ("one", "two", "is_same"),
    [
        ("h:1", "H:1", True),
        ("h:1", "h:01", True),
        ("h:1", "h.:1", True),
        ("h:1", "h:2", False),
        ("h:1", "h:11", False),
        ("127.0.0.1:1", "[::ffff:127.0.0.1]:1", True),
        ("[::1]:1", "[0::1]:1", True),
        ("unix:/a", "unix:/./a", True),
        ("unix:/a", "unix:/A", False),
        ("h:1", "${env:H}:1", True),
    ],
)
def test_node_addresses_are_compared_as_what_they_mean(one: str, two: str, *, is_same: bool) -> None:
    text = f'edge: {{id: e}}\nnodes: [{{id: n, address: "{one}"}}, {{id: m, address: "{two}"}}]'
    report = check(text, world=World({"H": "H"}))
    assert found(report) == ([("id.duplicate", "nodes[1].address", 2)] if is_same else [])


def test_path_of_a_socket_may_have_any_mark() -> None:
    snapshot = load(at_root('listen: {grpc: "unix:/run/a@b"}'))
    assert load(snapshot.dump()) == snapshot


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(
    ("one", "two", "conflict"),
    [
        ("127.0.0.1:1", "127.0.0.1:1", True),
        ("127.0.0.1:1", "127.0.0.1:2", False),
        ("127.0.0.1:1", "127.0.0.2:1", False),
        ("0.0.0.0:1", "127.0.0.1:1", True),
        ("10.0.0.1:1", "[::]:1", True),
        ("localhost:1", "127.0.0.1:1", True),
        ("LOCALHOST:1", "[::1]:1", True),
        ("localhost:1", "10.0.0.1:1", False),
        ("[::1]:1", "[0:0::1]:1", True),
        ("H.test:1", "h.TEST:1", True),
        ("unix:/a", "unix:/a", True),
        ("unix:/a", "unix:/b", False),
        ("127.0.0.1:0", "127.0.0.1:0", False),
    ],
)
def test_enabled_listeners_do_not_share_an_address(one: str, two: str, *, conflict: bool) -> None:
    text = f'metrics: {{enabled: true, listen: "{one}"}}\nconsole: {{enabled: %s, listen: "{two}"}}'
    expected = [("listen.conflict", "console.listen", 12)] if conflict else []
    assert found(check(at_root(text.replace("%s", "true")))) == expected
    assert check(at_root(text.replace("%s", "false"))).ok


@pytest.mark.contract("VAL-10")
def test_default_address_of_a_listener_counts() -> None:
    report = check(at_root('openai: {enabled: true}\nlisten: {grpc: "localhost:8080"}'))
    assert rules(report) == ["listen.conflict"]


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("text", "rule", "path"),
    [
        (BASE.replace("providers: [p]", "providers: [p, 'a b']"), "value.identifier", "models[0].providers[1].id"),
        (BASE.replace("providers: [p]", "providers: {p: ''}"), "value.non_empty", "models[0].providers[0].target"),
        (BASE.replace("adapter: a", "adapter: 'a b'"), "value.identifier", "nodes[0].providers[0].adapter"),
        (route("adapter: '', target: m"), "value.identifier", f"{ROUTE}.adapter"),
        (route("adapter: a, target: ''"), "value.non_empty", f"{ROUTE}.target"),
        (
            at_root("openai: {provider_auth: {providers: ['a b']}}"),
            "value.identifier",
            "openai.provider_auth.providers[0]",
        ),
    ],
)
def test_what_cannot_be_a_name_is_reported_as_such_alone(text: str, rule: str, path: str) -> None:
    assert [(violation.rule, violation.path) for violation in check(text).violations] == [(rule, path)]


def test_port_zero_is_none_to_dial() -> None:
    assert found(check(BASE.replace(":7501", ":0"))) == [("value.address", "nodes[0].address", 4)]


@pytest.mark.contract("VAL-12")
@pytest.mark.case("A6")
@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
def test_principals_own_header_is_not_forwarded(name: str) -> None:
    text = at_root(f"openai: {{provider_auth: {{enabled: true, from_header: {name}}}}}")
    assert rules(check(text)) == ["provider_auth.from_header"]


@pytest.mark.contract("VAL-12")
@pytest.mark.case("A6")
@pytest.mark.parametrize("enabled", ["true", "false", '"${env:ON}"'])
def test_principals_own_header_is_not_forwarded_however_it_is_written(enabled: str) -> None:
    auth = f'enabled: {enabled}, from_header: "${{env:HEADER}}"'
    report = check(
        at_root(f"openai: {{provider_auth: {{{auth}}}}}"), world=World({"ON": "true", "HEADER": "AuthoriZation"})
    )
    assert rules(report) == ["provider_auth.from_header"]


@pytest.mark.contract("VAL-12")
@pytest.mark.parametrize("name", ["X-IOP-Provider-Authorization", "X-Authorization", "Authorization-Info", "X-Api-Key"])
def test_another_header_may_be_forwarded_and_the_target_may_be_authorization(name: str) -> None:
    text = f"openai: {{provider_auth: {{enabled: true, from_header: {name}, target_header: authorization}}}}"
    assert check(at_root(text)).ok


@pytest.mark.contract("POL-08")
@pytest.mark.parametrize("field", ["from_header", "target_header"])
@pytest.mark.parametrize("name", ["Host", "content-length", "Connection", "TRANSFER-ENCODING", "Te", "Upgrade"])
def test_header_that_says_how_a_message_travels_carries_no_token(field: str, name: str) -> None:
    text = at_root(f"openai: {{provider_auth: {{{field}: {name}}}}}")
    assert found(check(text)) == [(f"provider_auth.{field}", f"openai.provider_auth.{field}", 11)]


@pytest.mark.contract("VAL-08")
@pytest.mark.case("A8")
@pytest.mark.parametrize("text", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("spelled", [str.lower, str.upper])
def test_hash_of_no_token_is_nobodys(text: bytes, spelled: Callable[[str], str]) -> None:
    digest = spelled(hashlib.sha256(text).hexdigest())
    entry = f'{{token_ref: t, principal_ref: p, token_hash_sha256: "{digest}"}}'
    referring = entry.replace(digest, "${env:HASH}")
    for written in (entry, referring):
        (violation,) = check(token(written), world=World({"HASH": digest})).violations
        where = "openai.principal_tokens[0].token_hash_sha256"
        assert (violation.rule, violation.path) == ("principal.no_token", where)
        assert digest not in repr(violation)


@pytest.mark.contract("NRM-04")
def test_empty_list_of_providers_is_refused_for_it_would_mean_all_of_them() -> None:
    text = at_root("openai: {provider_auth: {enabled: true, providers: []}}")
    assert found(check(text)) == [("value.min_items", "openai.provider_auth.providers", 11)]
    assert (
        "providers"
        not in load(text, private=("openai: {provider_auth: {providers: null}}",)).tree["openai"]["provider_auth"]
    )


@pytest.mark.contract("NRM-04")
def test_provider_auth_names_providers_that_exist() -> None:
    text = at_root("openai: {provider_auth: {enabled: true, providers: [x, p]}}")
    assert found(check(text)) == [("ref.unknown", "openai.provider_auth.providers[0]", 11)]
