"""The canonical inputs, as their own comments say that they behave."""

import re

import pytest

from iop_edge.config import files
from iop_edge.errors import ConfigError
from tests.support import EXAMPLES

_MARK = re.compile(r"# ! ([a-z0-9_]+\.[a-z0-9_]+)")


@pytest.mark.contract("CFG-04")
@pytest.mark.contract("CFG-03")
def test_rejected_file_reports_exactly_its_marked_lines() -> None:
    path = EXAMPLES / "edge.rejected.yaml"
    marked = [
        (line, match.group(1))
        for line, text in enumerate(path.read_text().splitlines(), 1)
        if (match := _MARK.search(text))
    ]
    report = files.check(path, env={})
    assert [(v.span.line, v.rule) for v in report.violations if v.span] == marked
    assert report.total == len(marked)


@pytest.mark.contract("CFG-04")
def test_same_input_gives_same_report() -> None:
    path = EXAMPLES / "edge.rejected.yaml"
    assert files.check(path, env={}) == files.check(path, env={})


def test_rejected_file_shows_no_secret() -> None:
    path = EXAMPLES / "edge.rejected.yaml"
    with pytest.raises(ConfigError) as failure:
        files.load(path, env={})
    text = f"{failure.value} {failure.value!r}"
    assert "raw-token" not in text
    assert "sk-live" not in text


@pytest.mark.contract("CFG-05")
@pytest.mark.contract("CFG-06")
def test_overlay_makes_references_unneeded() -> None:
    snapshot = files.load(EXAMPLES / "edge.yaml", [EXAMPLES / "edge.private.yaml"], env={})
    assert snapshot.config.nodes[0].token == "s3cr3t-node-token-a"
    assert "s3cr3t" not in repr(snapshot) + snapshot.dump() + repr(snapshot.config)


@pytest.mark.contract("CFG-06")
def test_full_file_without_overlay_names_each_missing_variable() -> None:
    report = files.check(EXAMPLES / "edge.yaml", env={})
    assert {v.rule for v in report.violations} == {"reference.missing"}
    assert [v.path for v in report.violations] == [
        "nodes[0].token",
        "nodes[1].token",
        "nodes[2].token",
        "nodes[2].adapters[0].headers[Authorization]",
        "nodes[2].providers[0].headers[Authorization]",
    ]


@pytest.mark.contract("CFG-06")
def test_full_file_loads_offline() -> None:
    snapshot = files.load(EXAMPLES / "edge.yaml", env={}, offline=True)
    assert "${env:IOP_NODE_GPU_A_TOKEN}" in snapshot.dump()


@pytest.mark.contract("NRM-01")
@pytest.mark.contract("NRM-08")
def test_legacy_file_takes_the_one_shape() -> None:
    tree = files.load(EXAMPLES / "edge.legacy.yaml", env={"IOP_NODE_OLD_TOKEN": "t"}).tree
    node = tree["nodes"][0]
    assert [(a["name"], a["type"], a["enabled"]) for a in node["adapters"]] == [
        ("ollama", "ollama", True),
        ("vllm-a", "vllm", True),
        ("vllm-b", "vllm", False),
    ]
    assert [p["adapter"] for p in node["providers"]] == ["ollama", "vllm-a"]
    assert [m["providers"] for m in tree["models"]] == [
        [{"id": "p-ollama", "target": "llama3"}],
        [{"id": "p-vllm", "target": "qwen"}],
    ]


@pytest.mark.contract("NRM-02")
@pytest.mark.contract("NRM-03")
def test_full_file_turns_provider_fields_into_an_instance() -> None:
    tree = files.load(EXAMPLES / "edge.yaml", env={}, offline=True).tree
    relay = tree["nodes"][2]
    assert [a["name"] for a in relay["adapters"]] == ["cloud", "claude-cli", "cloud-claude"]
    made = relay["adapters"][2]
    assert (made["type"], made["provider"], made["request_timeout_ms"]) == (
        "openai_compat",
        "seulgivibe_claude",
        120000,
    )
    assert relay["providers"][0]["adapter"] == "cloud-claude"
    assert relay["providers"][0]["type"] == "openai_compat"
    assert "base_url" not in relay["providers"][0]
