"""The whole way from two files to what a refresh would say, with every leaf of the schema changed in a valid config."""

import copy
import json
from typing import Any, Final

import pytest

from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import Status
from iop_edge.schema import table
from iop_edge.schema.paths import schema_names


def pem(text: str) -> str:
    return f"-----BEGIN {text}-----\nAAAA\n-----END {text}-----\n"


def tls() -> dict[str, Any]:
    return {"ca": pem("CA"), "cert": pem("CERT"), "key": pem("KEY"), "server_name": "edge.test"}


CONFIG: Final[dict[str, Any]] = {
    "edge": {"id": "e", "name": "E"},
    "listen": {"grpc": "127.0.0.1:7400", "admin": "unix:/tmp/a.sock", "tls": tls()},
    "openai": {
        "enabled": True,
        "model_routes": [{"model": "route", "adapter": "main", "target": "m1"}],
        "principal_tokens": [{"token_ref": "t", "token_hash_sha256": "a" * 64, "principal_ref": "p"}],
        "provider_auth": {"enabled": True, "providers": ["direct"]},
    },
    "models": [
        {
            "id": "model",
            "context_window_tokens": 1000,
            "default_max_tokens": 100,
            "min_max_tokens": 10,
            "usage_attribution": {"team": "a"},
            "providers": {"local": "m1"},
        }
    ],
    "nodes": [
        {
            "id": "n",
            "address": "127.0.0.1:7501",
            "token": "s3cr3t",
            "tls": tls(),
            "adapters": [
                {"name": "main", "type": "vllm", "base_url": "http://main.test", "headers": {"X-Key": "s3cr3t"}},
                {"name": "spare", "type": "vllm", "base_url": "http://spare.test"},
                {"name": "agent", "type": "cli", "profile": "codex"},
            ],
            "providers": [
                {
                    "id": "local",
                    "type": "vllm",
                    "category": "local_inference",
                    "adapter": "main",
                    "models": ["m1", "m2"],
                    "context_size": 4000,
                },
                {
                    "id": "direct",
                    "type": "seulgivibe_claude",
                    "category": "api",
                    "models": ["m1"],
                    "provider": "label",
                    "base_url": "http://direct.test",
                    "headers": {"Authorization": "Bearer s3cr3t"},
                    "request_timeout_ms": 1000,
                },
            ],
        }
    ],
}

LOCAL: Final = "nodes.0.providers.0"
DIRECT: Final = "nodes.0.providers.1"
MAIN: Final = "nodes.0.adapters.0"

EDITS: Final[dict[str, dict[str, Any]]] = {
    "edge.id": {"edge.id": "other"},
    "edge.name": {"edge.name": "Other"},
    "listen.grpc": {"listen.grpc": "127.0.0.1:9"},
    "listen.admin": {"listen.admin": "unix:/tmp/b.sock"},
    "listen.tls.ca": {"listen.tls.ca": pem("OTHER")},
    "listen.tls.cert": {"listen.tls.cert": pem("OTHER")},
    "listen.tls.key": {"listen.tls.key": pem("OTHER")},
    "listen.tls.server_name": {"listen.tls.server_name": "other.test"},
    "bootstrap.enabled": {"bootstrap.enabled": True},
    "bootstrap.listen": {"bootstrap.listen": "127.0.0.1:9"},
    "bootstrap.artifact_dir": {"bootstrap.artifact_dir": "/srv"},
    "logging.level": {"logging.level": "debug"},
    "logging.format": {"logging.format": "text"},
    "metrics.enabled": {"metrics.enabled": True},
    "metrics.listen": {"metrics.listen": "127.0.0.1:9"},
    "console.enabled": {"console.enabled": True},
    "console.listen": {"console.listen": "127.0.0.1:9"},
    "control_plane.enabled": {"control_plane.enabled": True},
    "control_plane.url": {"control_plane.url": "https://control.test"},
    "openai.enabled": {"openai.enabled": False},
    "openai.listen": {"openai.listen": "127.0.0.1:9"},
    "openai.model_routes[].model": {"openai.model_routes.0.model": "other"},
    "openai.model_routes[].adapter": {"openai.model_routes.0.adapter": "direct"},
    "openai.model_routes[].target": {"openai.model_routes.0.target": "m2"},
    "openai.principal_tokens[].token_ref": {"openai.principal_tokens.0.token_ref": "other"},
    "openai.principal_tokens[].token_hash_sha256": {"openai.principal_tokens.0.token_hash_sha256": "b" * 64},
    "openai.principal_tokens[].principal_ref": {"openai.principal_tokens.0.principal_ref": "other"},
    "openai.principal_tokens[].principal_alias": {"openai.principal_tokens.0.principal_alias": "Other"},
    "openai.provider_auth.enabled": {"openai.provider_auth.enabled": False},
    "openai.provider_auth.from_header": {"openai.provider_auth.from_header": "X-Other"},
    "openai.provider_auth.target_header": {"openai.provider_auth.target_header": "X-Other"},
    "openai.provider_auth.scheme": {"openai.provider_auth.scheme": ""},
    "openai.provider_auth.required": {"openai.provider_auth.required": False},
    "openai.provider_auth.providers[]": {"openai.provider_auth.providers": ["local", "direct"]},
    "a2a.enabled": {"a2a.enabled": True},
    "a2a.listen": {"a2a.listen": "127.0.0.1:9"},
    "a2a.path": {"a2a.path": "/other"},
    "long_context_threshold_tokens": {"long_context_threshold_tokens": 5},
    "models[].id": {"models.0.id": "other"},
    "models[].display_name": {"models.0.display_name": "Other"},
    "models[].context_window_tokens": {"models.0.context_window_tokens": 2000},
    "models[].default_max_tokens": {"models.0.default_max_tokens": 200},
    "models[].min_max_tokens": {"models.0.min_max_tokens": 20},
    "models[].default_thinking_token_budget": {"models.0.default_thinking_token_budget": 0},
    "models[].usage_attribution[]": {"models.0.usage_attribution.team": "b"},
    "models[].providers[].id": {"models.0.providers": {"direct": "m1"}},
    "models[].providers[].target": {"models.0.providers.local": "m2"},
    "nodes[].id": {"nodes.0.id": "other"},
    "nodes[].alias": {"nodes.0.alias": "Other"},
    "nodes[].agent_kind": {"nodes.0.agent_kind": "relay"},
    "nodes[].address": {"nodes.0.address": "127.0.0.1:9"},
    "nodes[].token": {"nodes.0.token": "s3cr3t-2"},
    "nodes[].tls.ca": {"nodes.0.tls.ca": pem("OTHER")},
    "nodes[].tls.cert": {"nodes.0.tls.cert": pem("OTHER")},
    "nodes[].tls.key": {"nodes.0.tls.key": pem("OTHER")},
    "nodes[].tls.server_name": {"nodes.0.tls.server_name": "other.test"},
    "nodes[].runtime.concurrency": {"nodes.0.runtime.concurrency": 4},
    "nodes[].adapters[].name": {"nodes.0.adapters.1.name": "other"},
    "nodes[].adapters[].type": {"nodes.0.adapters.1.type": "llama_cpp"},
    "nodes[].adapters[].enabled": {"nodes.0.adapters.1.enabled": False},
    "nodes[].adapters[].provider": {f"{DIRECT}.provider": "other"},
    "nodes[].adapters[].protocol_profile": {f"{MAIN}.protocol_profile": "OpenAI-Responses"},
    "nodes[].adapters[].base_url": {f"{MAIN}.base_url": "http://other.test"},
    "nodes[].adapters[].headers[]": {f"{MAIN}.headers.X-Key": "s3cr3t-2"},
    "nodes[].adapters[].request_timeout_ms": {f"{MAIN}.request_timeout_ms": 5},
    "nodes[].adapters[].max_queue": {f"{MAIN}.max_queue": 5},
    "nodes[].adapters[].queue_timeout_ms": {f"{MAIN}.queue_timeout_ms": 5},
    "nodes[].adapters[].profile": {"nodes.0.adapters.2.profile": "gemini-cli"},
    "nodes[].providers[].id": {f"{LOCAL}.id": "other", "models.0.providers": {"other": "m1"}},
    "nodes[].providers[].type": {f"{LOCAL}.type": "llama_cpp", f"{MAIN}.type": "llama_cpp"},
    "nodes[].providers[].category": {f"{LOCAL}.category": "api"},
    "nodes[].providers[].adapter": {f"{LOCAL}.adapter": "spare", "openai.model_routes.0.adapter": "spare"},
    "nodes[].providers[].models[]": {f"{LOCAL}.models": ["m2", "m1"]},
    "nodes[].providers[].health.mode": {f"{LOCAL}.health": "active"},
    "nodes[].providers[].health.path": {f"{LOCAL}.health": {"path": "/up"}},
    "nodes[].providers[].health.interval_ms": {f"{LOCAL}.health": {"interval_ms": 5000}},
    "nodes[].providers[].health.timeout_ms": {f"{LOCAL}.health": {"timeout_ms": 5}},
    "nodes[].providers[].health.healthy_threshold": {f"{LOCAL}.health": {"healthy_threshold": 5}},
    "nodes[].providers[].health.unhealthy_threshold": {f"{LOCAL}.health": {"unhealthy_threshold": 5}},
    "nodes[].providers[].lifecycle_capabilities[]": {f"{LOCAL}.lifecycle_capabilities": ["pull", "load"]},
    "nodes[].providers[].context_size": {f"{LOCAL}.context_size": 5000},
    "nodes[].providers[].enabled": {f"{DIRECT}.enabled": False},
    "nodes[].providers[].capacity": {f"{LOCAL}.capacity": 5},
    "nodes[].providers[].priority": {f"{LOCAL}.priority": 5},
    "nodes[].providers[].max_queue": {f"{LOCAL}.max_queue": 0},
    "nodes[].providers[].queue_timeout_ms": {f"{LOCAL}.queue_timeout_ms": 0},
    "nodes[].providers[].provider": {f"{DIRECT}.provider": "other"},
    "nodes[].providers[].base_url": {f"{DIRECT}.base_url": "http://other.test"},
    "nodes[].providers[].headers[]": {f"{DIRECT}.headers.Authorization": "Bearer s3cr3t-2"},
    "nodes[].providers[].request_timeout_ms": {f"{DIRECT}.request_timeout_ms": 2000},
}
"""For each leaf of the schema what is edited in the file; where a name is referred to, the references too."""

LIVE: Final = (
    "long_context_threshold_tokens",
    "models[]",
    "nodes[].runtime.concurrency",
    "nodes[].providers[].capacity",
    "nodes[].providers[].priority",
    "nodes[].providers[].max_queue",
    "nodes[].providers[].queue_timeout_ms",
    "nodes[].providers[].enabled",
)
"""What is live, with all below it; everything else needs a restart."""


def edited(edits: dict[str, Any]) -> dict[str, Any]:
    config = copy.deepcopy(CONFIG)
    for path, value in edits.items():
        *way, last = path.split(".")
        here: Any = config
        for step in way:
            here = here[int(step)] if isinstance(here, list) else here.setdefault(step, {})
        here[last] = value
    return config


def loaded(config: dict[str, Any]) -> Snapshot:
    return load_sources([Source("edge.yaml", json.dumps(config).encode(), private=True)], None)


@pytest.fixture(scope="module")
def running() -> Snapshot:
    return loaded(CONFIG)


@pytest.mark.contract("REF-03")
@pytest.mark.contract("REF-04")
def test_every_leaf_of_the_schema_has_an_edit() -> None:
    assert list(EDITS) == [leaf.pattern for leaf in table.leaves()]


@pytest.mark.contract("REF-03")
@pytest.mark.contract("REF-04")
@pytest.mark.parametrize(("pattern", "edits"), EDITS.items(), ids=EDITS)
def test_a_file_with_one_leaf_edited_gets_the_answer_of_its_class(
    running: Snapshot, pattern: str, edits: dict[str, Any]
) -> None:
    outcome = plan(running, loaded(edited(edits)))

    status = Status.APPLIED if pattern.startswith(LIVE) else Status.RESTART_REQUIRED
    assert outcome.status is status, outcome.changes
    assert where(pattern) in [schema_names(change.path) for change in outcome.changes]


def where(pattern: str) -> tuple[str, ...]:
    """The place in the schema at which the change of a leaf is listed."""
    leaf = next(leaf for leaf in table.leaves() if leaf.pattern == pattern)
    names = schema_names(pattern)
    if leaf.field.shorthand_for:
        return ("nodes", "adapters", names[-1])
    is_item = leaf.field.identity and pattern.endswith(f"[].{names[-1]}")
    return names[:-1] if is_item else names


@pytest.mark.case("R1")
@pytest.mark.contract("REF-09")
def test_the_same_file_again_is_no_change(running: Snapshot) -> None:
    assert plan(running, loaded(CONFIG)).changes == ()


@pytest.mark.case("R1")
@pytest.mark.contract("CFG-09")
@pytest.mark.parametrize(
    "edits",
    [
        {f"{LOCAL}.capacity": 1, f"{LOCAL}.enabled": True, f"{LOCAL}.priority": 0},
        {f"{LOCAL}.health": "passive"},
        {f"{LOCAL}.health": {"mode": "passive", "interval_ms": 10000}},
        {"long_context_threshold_tokens": 100000, "logging": {"level": "info"}, "a2a": {}},
        {"openai.provider_auth.scheme": "Bearer", "openai.provider_auth.required": True},
        {f"{MAIN}.protocol_profile": "OpenAI-Chat"},
        {"nodes.0.runtime": {"concurrency": 0}, "nodes.0.agent_kind": "standard"},
    ],
)
def test_a_default_that_is_spelled_out_is_no_change(running: Snapshot, edits: dict[str, Any]) -> None:
    assert plan(running, loaded(edited(edits))).changes == ()


@pytest.mark.contract("REF-01")
@pytest.mark.parametrize(
    "edits",
    [
        {"models.0.providers": [{"id": "local", "target": "m1"}]},
        {f"{MAIN}.headers": {"x-key": "s3cr3t"}},
        {"openai.principal_tokens.0.token_hash_sha256": "A" * 64},
        {f"{DIRECT}.type": "openai_compat"},
        {"nodes.0.adapters": list(reversed(CONFIG["nodes"][0]["adapters"]))},
        {"nodes.0.providers": list(reversed(CONFIG["nodes"][0]["providers"]))},
    ],
    ids=["list-of-providers", "case-of-a-header", "case-of-a-hash", "type-alias-with-a-label", "adapters", "providers"],
)
def test_another_way_to_write_the_same_is_no_change(running: Snapshot, edits: dict[str, Any]) -> None:
    assert plan(running, loaded(edited(edits))).changes == ()


@pytest.mark.contract("REF-01")
def test_the_order_of_a_list_without_order_is_no_change() -> None:
    one, other = (
        loaded(edited({f"{LOCAL}.lifecycle_capabilities": words})) for words in (["load", "pull"], ["pull", "load"])
    )

    assert plan(one, other).changes == ()
