"""What a field may hold by itself, and what may stand only once (VAL-01, VAL-02, VAL-06, VAL-08, VAL-10)."""

import pytest

from tests.unit.config.edits import at_adapter, at_model, at_node, at_provider, at_root, token
from tests.unit.config.loading import BASE, World, check, found, rules

HASH = "ab" * 32
PROVIDER, MODEL, ADAPTER = "nodes[0].providers[0]", "models[0]", "nodes[0].adapters[0]"
TOKEN = "openai.principal_tokens[0]"

ONE_FIELD = [
    pytest.param(at_root("long_context_threshold_tokens: 0"), "value.gt", "long_context_threshold_tokens", id="VAL-01"),
    *(
        pytest.param(BASE.replace("edge: {id: e}", f"edge: {{id: {text}}}"), "value.identifier", "edge.id", id=text[:9])
        for text in ('""', '"a b"', '"a\\tb"', '"a\\0b"', '"\\u2028"', "x" * 257, "é" * 129)
    ),
    pytest.param(at_provider("capacity: 0"), "value.gte", f"{PROVIDER}.capacity", id="capacity"),
    pytest.param(at_provider("capacity: 2147483648"), "value.range", f"{PROVIDER}.capacity", id="capacity int32"),
    pytest.param(at_provider("priority: -1"), "value.gte", f"{PROVIDER}.priority", id="priority"),
    pytest.param(at_provider("max_queue: -1"), "value.gte", f"{PROVIDER}.max_queue", id="max_queue"),
    pytest.param(at_provider("queue_timeout_ms: -1"), "value.gte", f"{PROVIDER}.queue_timeout_ms", id="timeout"),
    pytest.param(at_provider("context_size: 0"), "value.gte", f"{PROVIDER}.context_size", id="context_size"),
    pytest.param(
        at_provider("lifecycle_capabilities: [load, fly]"),
        "value.enum",
        f"{PROVIDER}.lifecycle_capabilities[1]",
        id="capability",
    ),
    pytest.param(
        at_provider("lifecycle_capabilities: [load, load]"),
        "value.duplicate",
        f"{PROVIDER}.lifecycle_capabilities[1]",
        id="capability twice",
    ),
    pytest.param(
        BASE.replace("models: [m]}", "models: [m, m]}"), "value.duplicate", f"{PROVIDER}.models[1]", id="model twice"
    ),
    pytest.param(
        BASE.replace("models: [m]}", 'models: [m, ""]}'), "value.non_empty", f"{PROVIDER}.models[1]", id="empty model"
    ),
    pytest.param(
        BASE.replace("category: local_inference, ", ""), "field.required", f"{PROVIDER}.category", id="category"
    ),
    pytest.param(BASE.replace(", models: [m]}", "}"), "field.required", f"{PROVIDER}.models", id="no models"),
    pytest.param(at_model("context_window_tokens: 0"), "value.gte", f"{MODEL}.context_window_tokens", id="window"),
    pytest.param(
        at_model("default_thinking_token_budget: -1"),
        "value.gte",
        f"{MODEL}.default_thinking_token_budget",
        id="budget",
    ),
    pytest.param(at_adapter("headers: {'a b': ''}"), "value.header_name", f'{ADAPTER}.headers["a b"]', id="header"),
    pytest.param(at_adapter("headers: {'': ''}"), "value.header_name", f'{ADAPTER}.headers[""]', id="empty header"),
    pytest.param(
        at_adapter('headers: {X-Tenant: "a\\nb"}'), "value.header_value", f"{ADAPTER}.headers[X-Tenant]", id="LF"
    ),
    pytest.param(
        at_adapter('headers: {X-Tenant: "a\\0"}'), "value.header_value", f"{ADAPTER}.headers[X-Tenant]", id="NUL"
    ),
    pytest.param(
        token("{token_ref: t, token_hash_sha256: x, principal_ref: r}"),
        "value.sha256",
        f"{TOKEN}.token_hash_sha256",
        id="hash",
    ),
    pytest.param(
        token(f"{{token_ref: t, token_hash_sha256: {HASH}}}"),
        "field.required",
        f"{TOKEN}.principal_ref",
        id="principal",
    ),
    pytest.param(
        token(f"{{token_ref: t, token_hash_sha256: {HASH}, principal_ref: ' '}}"),
        "value.non_empty",
        f"{TOKEN}.principal_ref",
        id="empty principal",
    ),
    pytest.param(at_root("a2a: {path: a2a}"), "value.http_path", "a2a.path", id="path"),
    pytest.param(
        at_root("openai: {provider_auth: {enabled: true, scheme: a b}}"),
        "value.auth_scheme",
        "openai.provider_auth.scheme",
        id="scheme",
    ),
    pytest.param(
        at_root("openai: {provider_auth: {enabled: true, from_header: a b}}"),
        "value.header_name",
        "openai.provider_auth.from_header",
        id="from_header",
    ),
    pytest.param(at_root("listen: {tls: {cert: nope}}"), "value.pem", "listen.tls.cert", id="pem"),
    pytest.param(at_node("token: ''"), "value.token", "nodes[0].token", id="empty token"),
]


@pytest.mark.contract("VAL-01")
@pytest.mark.contract("VAL-02")
@pytest.mark.contract("VAL-06")
@pytest.mark.contract("VAL-08")
@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(("text", "rule", "path"), ONE_FIELD)
def test_value_out_of_bounds_is_one_error_at_its_place(text: str, rule: str, path: str) -> None:
    report = check(text)
    assert [(violation.rule, violation.path) for violation in report.violations] == [(rule, path)]
    assert report.total == 1


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(
    "url",
    [
        "h.test",
        "ftp://h.test",
        "http://",
        "http:///x",
        "http://h:99999",
        "/x",
        "http://a b",
        "http://.",
        "http://[::1]x/",
        "http://a..b",
    ],
)
def test_url_that_is_not_absolute_http_is_an_error(url: str) -> None:
    assert rules(check(BASE.replace("http://127.0.0.1:11434", url))) == ["value.url"]


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(
    "url", ["http://h", "https://h.test:8443/v1", "http://[::1]:80/x?page=1", "HTTP://H.test/", "http://xn--9ca.test."]
)
def test_absolute_http_url_is_none(url: str) -> None:
    assert rules(check(BASE.replace("http://127.0.0.1:11434", url))) == []


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize(
    "address", ["h", "h:", ":1", "h:x", "h:70000", "::1:80", "unix:", "unix:/" + "x" * 107, "h:1/x"]
)
def test_address_of_no_known_form_is_an_error(address: str) -> None:
    assert rules(check(BASE.replace("127.0.0.1:7501", address))) == ["value.address"]


@pytest.mark.contract("VAL-10")
@pytest.mark.parametrize("address", ["localhost:1", "[::1]:80", "unix:/run/x", "unix:/" + "x" * 106])
def test_address_of_a_known_form_is_none(address: str) -> None:
    assert rules(check(BASE.replace("127.0.0.1:7501", address))) == []


@pytest.mark.contract("CFG-01")
@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("nodes: []", ["edge.id"]),
        ("edge: {name: x}", ["edge.id"]),
        ("edge: {id: e}\nnodes: [{}]", ["nodes[0].id", "nodes[0].address"]),
        ("edge: {id: e}\nmodels: [{}]", ["models[0].id"]),
        (
            'edge: {id: e}\nnodes: [{id: n, address: "h:1", adapters: [{}]}]',
            ["nodes[0].adapters[0].name", "nodes[0].adapters[0].type"],
        ),
        (
            'edge: {id: e}\nnodes: [{id: n, address: "h:1", adapters: [{name: a, type: ollama}]}]',
            ["nodes[0].adapters[0].base_url"],
        ),
        (
            'edge: {id: e}\nnodes: [{id: n, address: "h:1", adapters: [{name: a, type: cli}]}]',
            ["nodes[0].adapters[0].profile"],
        ),
        (
            'edge: {id: e}\nnodes: [{id: n, address: "h:1", providers: [{}]}]',
            [f"nodes[0].providers[0].{name}" for name in ("id", "type", "category", "models", "adapter")],
        ),
    ],
)
def test_what_is_required_is_missed(text: str, paths: list[str]) -> None:
    report = check(text)
    assert [(v.rule, v.path) for v in report.violations] == [("field.required", path) for path in paths]


@pytest.mark.contract("CFG-01")
@pytest.mark.parametrize(
    ("kind", "rest", "refused"),
    [
        ("ollama", "base_url: 'http://h', profile: x", "profile"),
        ("ollama", "base_url: 'http://h', provider: x", "provider"),
        ("cli", "profile: x, base_url: 'http://h'", "base_url"),
        ("cli", "profile: x, headers: {X-Tenant: y}", "headers"),
    ],
)
def test_field_that_means_nothing_to_the_type_is_refused(kind: str, rest: str, refused: str) -> None:
    text = f'edge: {{id: e}}\nnodes: [{{id: n, address: "h:1", adapters: [{{name: a, type: {kind}, {rest}}}]}}]'
    assert found(check(text)) == [("field.refused", f"nodes[0].adapters[0].{refused}", 2)]


SECOND_NODE = """\
  - id: {id}
    address: "{address}"
    providers:
      - {{id: {provider}, type: vllm, category: api, base_url: "http://h", models: [x]}}
"""


@pytest.mark.contract("VAL-02")
@pytest.mark.parametrize(
    ("second", "path", "other"),
    [
        ({"id": "n"}, "nodes[1].id", "1.yaml:3:9"),
        ({"address": "127.0.0.1:7501"}, "nodes[1].address", "1.yaml:4:14"),
        ({"provider": "p"}, "nodes[1].providers[0].id", "1.yaml:8:14"),
    ],
)
def test_identity_that_is_taken_is_an_error_that_names_both_places(
    second: dict[str, str], path: str, other: str
) -> None:
    node = SECOND_NODE.format(**({"id": "n2", "address": "127.0.0.1:7502", "provider": "p2"} | second))
    report = check(BASE.replace("models:\n", node + "models:\n", 1))
    assert [(v.rule, v.path) for v in report.violations] == [("id.duplicate", path)]
    assert other in report.violations[0].message


@pytest.mark.contract("VAL-02")
@pytest.mark.case("A12")
def test_one_url_under_two_names_is_fine() -> None:
    other = '      - {name: b, type: ollama, base_url: "http://127.0.0.1:11434"}\n'
    assert check(BASE.replace("    providers:\n", f"{other}    providers:\n", 1)).ok


@pytest.mark.contract("VAL-02")
@pytest.mark.contract("VAL-08")
def test_hash_twice_is_an_error_that_does_not_show_it() -> None:
    tokens = ", ".join(
        f"{{token_ref: {n}, token_hash_sha256: {h}, principal_ref: r}}" for n, h in (("t", HASH), ("u", HASH.upper()))
    )
    report = check(token(tokens))
    assert [(v.rule, v.path) for v in report.violations] == [
        ("id.duplicate", "openai.principal_tokens[1].token_hash_sha256")
    ]
    assert HASH not in str(report.violations)


@pytest.mark.contract("VAL-08")
def test_tokens_may_share_a_principal() -> None:
    tokens = ", ".join(
        f"{{token_ref: {n}, token_hash_sha256: {h * 32}, principal_ref: r}}" for n, h in (("t", "ab"), ("u", "cd"))
    )
    assert check(token(tokens)).ok


@pytest.mark.contract("VAL-08")
def test_raw_token_in_place_of_a_hash_is_refused_with_the_command_that_makes_one() -> None:
    report = check(token("{token_ref: t, token_hash_sha256: sk-live-1, principal_ref: r}"))
    assert "hash-token" in report.violations[0].hint
    assert "sk-live" not in repr(report)


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("secret", ["s3cr3t ", "s3cr3tö", "s3cr3t\u00a0", "s3cr3t\\x7f"])
def test_a_token_that_no_call_can_carry_is_refused_without_showing_it(secret: str) -> None:
    report = check(BASE, private=(f'nodes: [{{id: n, token: "{secret}"}}]',))
    assert rules(report) == ["value.token"]
    assert "s3cr3t" not in repr(report)


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (BASE.replace("models: [m]}", 'models: ["${env:X}", "${env:X}"]}'), "value.duplicate"),
        (BASE.replace("models: [m]}", 'models: [value-of-x, "${env:X}"]}'), "value.duplicate"),
        (
            at_root('listen: {grpc: "${env:L}", admin: "unix:/a"}\nmetrics: {enabled: true, listen: "${env:L}"}'),
            "listen.conflict",
        ),
        (
            'edge: {id: e}\nnodes: [{id: a, address: "${env:L}"}, {id: b, address: "${env:L}"}]\n',
            "id.duplicate",
        ),
    ],
)
def test_what_is_there_twice_is_named_as_it_is_written(text: str, rule: str) -> None:
    report = check(text, world=World({"X": "value-of-x", "L": "10.11.12.13:1414"}))

    (violation,) = [violation for violation in report.violations if violation.rule == rule]
    assert "${env:" in violation.message
    assert "value-of-x" not in violation.message
    assert "10.11.12.13" not in violation.message


@pytest.mark.contract("CFG-04", "CFG-08", "NRM-04")
@pytest.mark.parametrize(
    "text",
    [
        at_root('openai: {provider_auth: {scheme: "Bearer topsecret-1"}}'),
        at_root("openai: {provider_auth: {scheme: topsecret-1}}"),
        at_root('openai: {provider_auth: {from_header: "X-Key: topsecret-1"}}'),
        at_root('openai: {provider_auth: {target_header: "sk-topsecret-1 "}}'),
        at_provider('priority: "Bearer topsecret-1"'),
        at_provider("capacity: sk-topsecret-1"),
        at_provider('health: {mode: "Bearer topsecret-1"}'),
        at_root('metrics: {listen: "Bearer topsecret-1"}'),
        BASE.replace("{id: e}", '{id: "Bearer topsecret-1"}'),
        BASE.replace("providers: [p]", "providers: [sk-topsecret-1]"),
    ],
)
def test_what_is_likely_a_credential_is_not_quoted(text: str) -> None:
    report = check(text)

    assert report.violations
    assert "topsecret-1" not in " ".join(map(str, report.violations))


@pytest.mark.contract("NRM-04")
@pytest.mark.parametrize(("scheme", "is_right"), [("Token", True), ('""', True), ("a" * 32, True), ("a" * 33, False)])
def test_a_scheme_has_at_most_32_letters(scheme: str, is_right: bool) -> None:
    report = check(at_root(f"openai: {{provider_auth: {{scheme: {scheme}}}}}"))
    assert report.ok is is_right
