"""What is only worth a look (VAL-11)."""

import pytest

from tests.unit.config.edits import at_root
from tests.unit.config.loading import BASE, check, load, warned

WARNINGS = [
    (BASE.replace("models: [m]}", "models: [m], enabled: false}"), [("model.idle", "models[0]")]),
    (BASE.replace("providers: [p]", "providers: []"), [("model.idle", "models[0]")]),
    (
        BASE.replace("    providers:\n", '      - {name: b, type: vllm, base_url: "http://h"}\n    providers:\n', 1),
        [("adapter.unused", "nodes[0].adapters[1].name")],
    ),
    (
        at_root("openai: {model_routes: [{model: m, adapter: a, target: m}]}"),
        [("route.shadowed", "openai.model_routes[0].model")],
    ),
    (BASE.replace("127.0.0.1:7501", "h.test:7501"), [("node.plain_text", "nodes[0].address")]),
    (BASE.replace("127.0.0.1:7501", "unix:/run/n"), []),
    (BASE.replace("127.0.0.1:7501", "[::1]:7501"), []),
    (BASE.replace("127.0.0.1:7501", "h.test:7501").replace("- id: n\n", "- id: n\n    tls: {server_name: x}\n", 1), []),
]


@pytest.mark.contract("VAL-11")
@pytest.mark.parametrize(("text", "warnings"), WARNINGS)
def test_what_is_worth_a_look_is_warned_of(text: str, warnings: list[tuple[str, str]]) -> None:
    report = check(text)
    assert report.ok
    assert warned(report) == warnings
    assert load(text).warnings == report.warnings


@pytest.mark.parametrize(("health", "warns"), [("active", True), ("passive", False), ("none", False)])
@pytest.mark.parametrize("enabled", [True, False])
def test_probe_of_a_command_line_agent_is_warned_of(health: str, *, enabled: bool, warns: bool) -> None:
    text = f"""\
    edge: {{id: e}}
    nodes:
      - id: n
        address: "127.0.0.1:1"
        adapters: [{{name: a, type: cli, profile: codex}}]
        providers:
          - id: p
            type: cli
            category: cli
            adapter: a
            models: [m]
            health: {health}
            enabled: {str(enabled).lower()}
    """
    assert warned(check(text)) == ([("provider.unprobed", "nodes[0].providers[0].health.mode")] if warns else [])


ENTRY = f"{{token_ref: t, principal_ref: p, token_hash_sha256: '{'a' * 64}'}}"


@pytest.mark.contract("POL-09")
@pytest.mark.case("A8")
@pytest.mark.parametrize(
    ("front", "warns"),
    [
        ("enabled: true, listen: '0.0.0.0:8080'", True),
        ("enabled: true, listen: '[::]:8080'", True),
        ("enabled: true, listen: 'front.test:8080'", True),
        ("enabled: true, listen: '127.0.0.1:8080'", False),
        ("enabled: true, listen: 'unix:/run/front'", False),
        ("enabled: true", False),
        ("enabled: false, listen: '0.0.0.0:8080'", False),
        (f"enabled: true, listen: '0.0.0.0:8080', principal_tokens: [{ENTRY}]", False),
    ],
)
def test_front_that_everybody_may_call_from_elsewhere_is_warned_of(front: str, *, warns: bool) -> None:
    report = check(at_root(f"openai: {{{front}}}"))
    assert report.ok
    assert warned(report) == ([("openai.open", "openai.listen")] if warns else [])


@pytest.mark.contract("POL-08")
@pytest.mark.parametrize(("category", "warns"), [("api", False), ("local_inference", True)])
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_provider_that_is_listed_for_tokens_and_never_gets_one_is_warned_of(
    category: str, enabled: str, *, warns: bool
) -> None:
    base = BASE.replace("local_inference", category)
    report = check(base + f"openai: {{provider_auth: {{enabled: {enabled}, providers: [p]}}}}\n")
    assert warned(report) == ([("provider_auth.category", "openai.provider_auth.providers")] if warns else [])


@pytest.mark.contract("VAL-11")
def test_warning_of_a_listed_provider_is_at_the_list_and_names_the_provider() -> None:
    text = """\
    edge: {id: e}
    openai: {provider_auth: {enabled: true, providers: [z, a]}}
    nodes:
      - id: n
        address: "127.0.0.1:1"
        providers:
          - {id: z, type: vllm, category: api, base_url: "http://one.test/v1", models: [m]}
          - {id: a, type: vllm, category: local_inference, base_url: "http://one.test/v1", models: [m]}
    """
    (warning,) = check(text).warnings
    assert (warning.path, str(warning.span)) == ("openai.provider_auth.providers", "1.yaml:2:52")
    assert '"a"' in warning.message
    assert load(text).warnings == (warning,)


@pytest.mark.contract("VAL-11")
@pytest.mark.parametrize(
    ("auth", "host", "warns"),
    [
        ("enabled: true", "other.test", True),
        ("enabled: true", "one.test", False),
        ("enabled: true", "ONE.test:8443", False),
        ("enabled: false", "other.test", False),
        ("enabled: true, providers: [p]", "other.test", False),
    ],
)
def test_token_that_could_reach_two_hosts_is_warned_of(auth: str, host: str, *, warns: bool) -> None:
    text = f"""\
    edge: {{id: e}}
    openai: {{provider_auth: {{{auth}}}}}
    nodes:
      - id: n
        address: "127.0.0.1:1"
        providers:
          - {{id: p, type: vllm, category: api, base_url: "http://one.test/v1", models: [m]}}
          - {{id: q, type: vllm, category: api, base_url: "http://{host}/v1", models: [m]}}
          - {{id: r, type: vllm, category: local_inference, base_url: "http://third.test/v1", models: [m]}}
    """
    assert warned(check(text)) == ([("provider_auth.many_hosts", "openai.provider_auth")] if warns else [])
