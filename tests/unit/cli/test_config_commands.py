import json
import re
from pathlib import Path

import pytest

from iop_edge.config.files import load
from iop_pb.iop.config.v1 import EdgeConfig
from tests.support import EXAMPLES
from tests.unit.cli.invoke import invoke

EDGE = str(EXAMPLES / "edge.yaml")
PRIVATE = str(EXAMPLES / "edge.private.yaml")
LEGACY = str(EXAMPLES / "edge.legacy.yaml")
REJECTED = str(EXAMPLES / "edge.rejected.yaml")

ENVIRON = {"IOP_CLOUD_AUTH": "Bearer s3cr3t-env", "IOP_GATEWAY_AUTH": "Bearer s3cr3t-env"}

SMALL = """\
edge: {id: e}
nodes:
  - id: n
    address: "127.0.0.1:1"
    token: ${env:TOKEN}
    adapters:
      - {name: a, type: ollama, base_url: "http://127.0.0.1:2"}
    providers:
      - {id: p, type: ollama, category: local_inference, adapter: a, models: [m], capacity: 4}
models:
  - {id: m, providers: [p]}
"""
UNUSED_ADAPTER = SMALL.replace(
    "    providers:\n", '      - {name: unused, type: ollama, base_url: "http://127.0.0.1:3"}\n    providers:\n', 1
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory, made the working directory, with a small valid edge.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edge.yaml").write_text(SMALL, encoding="utf-8")
    return tmp_path


def marked_violations() -> list[tuple[int, str]]:
    """The lines of the rejected example that are marked, with their rules."""
    lines = Path(REJECTED).read_text(encoding="utf-8").splitlines()
    marks = ((number, re.search(r"# ! ([a-z_.0-9]+)", line)) for number, line in enumerate(lines, 1))
    return [(number, mark.group(1)) for number, mark in marks if mark]


def test_check_of_a_valid_config_is_fine() -> None:
    outcome = invoke("config", "check", EDGE, "--private", PRIVATE, environ=ENVIRON)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1].startswith("valid")


@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize("command", [("config", "check"), ("config", "show"), ("node", "payload", "n")])
def test_a_file_over_the_given_size_is_refused(command: tuple[str, ...], small: Path) -> None:
    outcome = invoke(*command, str(small / "edge.yaml"), "--offline", "--max-bytes", str(len(SMALL) - 1))
    assert outcome.code == 1
    assert "[yaml.size]" in outcome.out + outcome.err
    assert invoke(*command, str(small / "edge.yaml"), "--offline", "--max-bytes", str(len(SMALL))).code == 0


@pytest.mark.parametrize("number", ["0", "-1", "x", "1" * 16])
def test_a_size_that_is_no_number_from_1_is_wrong_usage(number: str) -> None:
    assert invoke("config", "check", EDGE, f"--max-bytes={number}").code == 2


def test_check_prints_every_marked_violation_with_its_line() -> None:
    outcome = invoke("config", "check", REJECTED, "--format", "json")
    assert (outcome.code, outcome.err) == (1, "")
    report = json.loads(outcome.out)
    found = sorted((violation["line"], violation["rule"]) for violation in report["violations"])
    assert found == sorted(marked_violations())
    assert (report["ok"], report["total"]) == (False, len(found))


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_check_shows_no_secret_in_any_format(form: str) -> None:
    outcome = invoke("config", "check", REJECTED, "--format", form)
    assert outcome.code == 1
    assert "value.sha256" in outcome.out
    for secret in ("raw-token", "sk-live-abcdef"):
        assert secret not in outcome.out + outcome.err


@pytest.mark.contract("VAL-11")
@pytest.mark.parametrize(("options", "code", "ok"), [((), 0, True), (("--strict",), 1, False)])
def test_warnings_change_the_outcome_only_when_strict(
    small: Path, options: tuple[str, ...], code: int, ok: bool
) -> None:
    (small / "edge.yaml").write_text(UNUSED_ADAPTER, encoding="utf-8")
    outcome = invoke("config", "check", "--format", "json", *options, environ={"TOKEN": "t"})
    report = json.loads(outcome.out)
    assert (outcome.code, report["ok"], report["total"]) == (code, ok, 0)
    assert len(report["warnings"]) == 1


@pytest.mark.usefixtures("small")
def test_check_finds_the_usual_file() -> None:
    assert invoke("config", "check", environ={"TOKEN": "t"}).code == 0


@pytest.mark.usefixtures("small")
def test_missing_file_is_a_violation() -> None:
    outcome = invoke("config", "check", "none.yaml", "--format", "json")
    assert outcome.code == 1
    assert [violation["file"] for violation in json.loads(outcome.out)["violations"]] == ["none.yaml"]


@pytest.mark.contract("CFG-06")
@pytest.mark.usefixtures("small")
def test_offline_needs_no_secrets() -> None:
    assert invoke("config", "check").code == 1
    assert invoke("config", "check", "--offline").code == 0


@pytest.mark.contract("NRM-07")
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_show_prints_a_config_that_is_shown_as_itself(tmp_path: Path, form: str) -> None:
    shown = invoke("config", "show", LEGACY, "--offline", "--format", form)
    assert shown.code == 0
    again = tmp_path / "again.yaml"
    again.write_text(shown.out, encoding="utf-8")
    assert invoke("config", "show", str(again), "--offline", "--format", form).out == shown.out
    assert invoke("config", "diff", LEGACY, str(again), "--offline").code == 0


@pytest.mark.contract("NRM-07")
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_show_prints_loads_to_the_same_config(tmp_path: Path, form: str) -> None:
    names = ["$${env:A}", "$$$$", "a$$b $", "${env:A}", "\x85 \x9f \u2028 \ufeff \U0001f600", "caf\u00e9 \\ \t"]
    nodes = [{"id": f"n{i}", "address": f"127.0.0.1:{i}", "alias": name} for i, name in enumerate(names, 1)]
    written = tmp_path / "written.json"
    written.write_text(json.dumps({"edge": {"id": "e"}, "nodes": nodes}).replace("\\ud83d\\ude00", "\U0001f600"))
    shown = tmp_path / "shown.yaml"
    environ = {"A": "one"}
    shown.write_text(invoke("config", "show", str(written), "--format", form, environ=environ).out, encoding="utf-8")
    before, after = load(written, env=environ), load(shown, env=environ)
    assert after == before
    assert [node["alias"] for node in before.tree["nodes"]][:3] == ["${env:A}", "$$", "a$b $"]


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_show_has_references_as_written_and_raw_secrets_not_at_all(form: str) -> None:
    overlay = invoke("config", "show", EDGE, "--private", PRIVATE, "--format", form, environ=ENVIRON)
    assert overlay.code == 0
    assert "<redacted>" in overlay.out
    assert "${env:IOP_CLOUD_AUTH}" not in overlay.out
    assert "s3cr3t" not in overlay.out
    assert "${env:IOP_CLOUD_AUTH}" in invoke("config", "show", EDGE, "--offline", "--format", form).out


@pytest.mark.usefixtures("small")
def test_show_as_json_has_every_list_and_every_default() -> None:
    config = json.loads(invoke("config", "show", "--format", "json", "--offline").out)
    assert config["openai"]["model_routes"] == []
    assert config["long_context_threshold_tokens"] == 100000
    assert config["nodes"][0]["providers"][0]["lifecycle_capabilities"] == []


def test_invalid_config_cannot_be_shown() -> None:
    outcome = invoke("config", "show", REJECTED)
    assert (outcome.code, outcome.out) == (1, "")
    assert "[field.legacy]" in outcome.err


@pytest.mark.contract("REF-03", "REF-04")
@pytest.mark.parametrize(
    ("old", "new", "code", "status"),
    [
        ("", "", 0, "applied"),
        ("capacity: 4", "capacity: 8", 10, "applied"),
        ("type: ollama, base_url", "type: ollama, max_queue: 1, base_url", 3, "restart_required"),
        ("capacity: 4", "capacity: 0", 1, "rejected"),
    ],
)
@pytest.mark.case("R7")
def test_diff_exit_code_follows_from_the_changes(small: Path, old: str, new: str, code: int, status: str) -> None:
    (small / "new.yaml").write_text(SMALL.replace(old, new) if old else SMALL, encoding="utf-8")
    for form in ("text", "json"):
        outcome = invoke("config", "diff", "edge.yaml", "new.yaml", "--offline", "--format", form)
        assert (outcome.code, outcome.err) == (code, "")
    result = json.loads(outcome.out)
    assert (result["status"], result["committed"]) == (status, False)
    assert bool(result["changes"]) == (code in (3, 10))
    assert bool(result["violations"]) == (code == 1)


@pytest.mark.contract("CFG-08")
def test_export_writes_the_whole_config_for_its_owner_alone(tmp_path: Path) -> None:
    out = tmp_path / "edge.binpb"
    layers = (EDGE, "--private", PRIVATE)
    outcome = invoke("config", "export", *layers, "--with-secrets", str(out), environ=ENVIRON)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert out.stat().st_mode & 0o777 == 0o600
    config = EdgeConfig.parse(out.read_bytes())
    assert config.edge is not None
    assert (config.edge.id, config.nodes[0].token) == ("edge-seoul-1", "s3cr3t-node-token-a")


def test_export_as_json_is_protobuf_json(tmp_path: Path) -> None:
    out = tmp_path / "edge.json"
    layers = (EDGE, "--private", PRIVATE)
    assert (
        invoke("config", "export", *layers, "--with-secrets", str(out), "--format", "json", environ=ENVIRON).code == 0
    )
    config = json.loads(out.read_text(encoding="utf-8"))
    assert config["nodes"][0]["adapters"][0]["type"] == "ADAPTER_TYPE_OLLAMA"
    assert config["nodes"][0]["adapters"][0]["request_timeout_ms"] == "600000"


def test_export_of_an_invalid_config_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert invoke("config", "export", REJECTED, "--with-secrets", str(out)).code == 1
    assert not out.exists()


def test_export_to_where_nothing_can_be_written_is_a_fault(small: Path) -> None:
    target = str(small / "none" / "out")
    outcome = invoke("config", "export", "--with-secrets", target, environ={"TOKEN": "t"})
    assert outcome.code == 4
    assert outcome.err.count("\n") == 1


def test_explain_of_an_unknown_path_is_a_usage_error_that_helps() -> None:
    outcome = invoke("config", "explain", "nodes.providers.capcity")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean nodes[].providers[].capacity" in outcome.err


def test_explain_of_a_legacy_key_says_what_replaced_it() -> None:
    assert "profile" in invoke("config", "explain", "nodes.providers.command").err


def test_explain_without_a_path_describes_the_top_level() -> None:
    outcome = invoke("config", "explain", "--format", "json")
    assert outcome.code == 0
    assert "nodes" in [child["name"] for child in json.loads(outcome.out)["children"]]


def test_schema_is_a_json_schema() -> None:
    assert json.loads(invoke("config", "schema").out)["$schema"].startswith("https://json-schema.org/")
