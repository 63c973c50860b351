"""What whole commands print for the example configs."""

import re
import shutil
from pathlib import Path

import pytest

from tests.golden.compare import assert_golden
from tests.support import EXAMPLES
from tests.unit.cli.invoke import invoke

INPUTS = Path(__file__).parent / "inputs"
EXTENSIONS = {"text": "txt", "json": "json", "yaml": "yaml", "github": "github.txt", "sarif": "sarif.json"}


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples, made the working directory, so that reports name files without a directory."""
    for path in EXAMPLES.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.contract("CFG-03", "CFG-04", "CFG-08")
@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_check_of_the_rejected_example(form: str) -> None:
    outcome = invoke("config", "check", "edge.rejected.yaml", "--format", form)
    assert (outcome.code, outcome.err) == (1, "")
    assert_golden(f"check-rejected.{EXTENSIONS[form]}", outcome.out)


@pytest.mark.contract("NRM-01", "NRM-02", "NRM-05", "NRM-08")
@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("name", ["edge", "edge.legacy"])
def test_show(name: str, form: str) -> None:
    outcome = invoke("config", "show", f"{name}.yaml", "--offline", "--format", form)
    assert (outcome.code, outcome.err) == (0, "")
    assert_golden(f"show-{name}.{EXTENSIONS[form]}", outcome.out)


@pytest.mark.contract("REF-01", "REF-06")
@pytest.mark.parametrize("form", ["text", "json"])
def test_diff(examples: Path, form: str) -> None:
    text = (examples / "edge.yaml").read_text(encoding="utf-8")
    for old, new in {
        "capacity: 4\n": "capacity: 8\n",
        "X-Tenant: platform": "X-Tenant: research",
        "Authorization: ${env:IOP_CLOUD_AUTH}": "Authorization: ${env:IOP_OTHER_AUTH}",
        "display_name: Claude Sonnet": "default_thinking_token_budget: 1024",
        "[load, unload, pull]": "[pull]",
    }.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (examples / "new.yaml").write_text(text, encoding="utf-8")
    outcome = invoke("config", "diff", "edge.yaml", "new.yaml", "--offline", "--format", form)
    assert (outcome.code, outcome.err) == (3, "")
    assert_golden(f"diff-examples.{EXTENSIONS[form]}", outcome.out)


@pytest.mark.contract("PAY-01", "NRM-03")
@pytest.mark.parametrize("node", ["gpu-a", "gpu-b", "relay"])
def test_payload(node: str) -> None:
    layers = ("edge.yaml", "--private", "edge.private.yaml", "--offline")
    outcome = invoke("node", "payload", node, *layers, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert_golden(f"payload-{node}.json", outcome.out)


DISPATCHES = {
    "free": (0, "qwen3-coder", "--in-flight", "gpu-a-qwen=1"),
    "waiting": (0, "qwen3-coder", "--in-flight", "gpu-a-qwen=4", "--queued", "gpu-a-qwen=2", "--unreachable", "gpu-b"),
    "refused": (1, "gpt-4o-mini", "--unhealthy", "cloud-gpt"),
}


@pytest.mark.contract("POL-01", "POL-02", "POL-10")
@pytest.mark.case("A4")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("name", DISPATCHES)
def test_explain_dispatch(name: str, form: str) -> None:
    code, model, *load = DISPATCHES[name]
    files = ("edge.yaml", "--private", "edge.private.yaml", "--offline")
    outcome = invoke("explain-dispatch", str(model), *files, *map(str, load), "--format", form)
    assert (outcome.code, outcome.err) == (code, "")
    assert_golden(f"dispatch-{name}.{EXTENSIONS[form]}", outcome.out)


def test_init() -> None:
    assert_golden("init.yaml", invoke("config", "init").out)


@pytest.mark.contract("CFG-03", "NRM-01", "NRM-02", "NRM-03")
def test_migrate(examples: Path) -> None:
    shutil.copy(INPUTS / "migrate.yaml", examples / "old.yaml")
    outcome = invoke("config", "migrate", "old.yaml")
    assert outcome.code == 1
    assert_golden("migrate.yaml", outcome.out)
    assert_golden("migrate.err.txt", outcome.err)
    comments = re.findall(r"(?<!\S)#.*", (INPUTS / "migrate.yaml").read_text(encoding="utf-8"))
    assert [comment for comment in comments if comment not in outcome.out] == []


@pytest.mark.contract("NRM-01")
def test_migrate_the_legacy_example() -> None:
    outcome = invoke("config", "migrate", "edge.legacy.yaml")
    assert (outcome.code, outcome.err) == (0, "")
    assert_golden("migrate-legacy.yaml", outcome.out)


def test_help() -> None:
    assert_golden("help.txt", invoke("--help").out)
