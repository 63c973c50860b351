import os
from pathlib import Path

import pytest

from tests.support import EXAMPLES
from tests.unit.cli.invoke import Invocation, invoke

LEGACY = EXAMPLES / "edge.legacy.yaml"

OLD = """\
edge: {id: e} # kept
nodes:
  - id: n
    address: "127.0.0.1:1"
    adapters:
      ollama: {base_url: "http://127.0.0.1:2"}
    providers:
      - {id: p, type: ollama, category: local_inference, adapter: ollama, models: [m]}
models:
  - {id: m, providers: [p]}
"""
NEW = OLD.replace("ollama: {", "- {name: ollama, type: ollama, ")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file in old spellings."""
    path = tmp_path / "old.yaml"
    path.write_text(OLD, encoding="utf-8")
    return path


def migrate(path: Path, text: str, *options: str) -> Invocation:
    path.write_text(text, encoding="utf-8")
    return invoke("config", "migrate", str(path), *options)


def test_result_is_printed_and_the_file_stays(old: Path) -> None:
    outcome = invoke("config", "migrate", str(old))
    assert (outcome.code, outcome.out, outcome.err) == (0, NEW, "")
    assert old.read_text(encoding="utf-8") == OLD


def test_result_of_the_legacy_example_is_valid_and_the_same_config(tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    new.write_text(invoke("config", "migrate", str(LEGACY)).out, encoding="utf-8")
    assert invoke("config", "diff", str(LEGACY), str(new), "--offline").code == 0


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_result_is_written_in_place_with_the_mode_of_the_file(old: Path, mode: int) -> None:
    old.chmod(mode)
    outcome = invoke("config", "migrate", str(old), "--write")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert old.read_text(encoding="utf-8") == NEW
    assert old.stat().st_mode & 0o777 == mode
    assert os.listdir(old.parent) == [old.name]  # noqa: PTH208 - names alone


def test_link_stays_a_link(old: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(old.name)
    assert invoke("config", "migrate", str(link), "--write").code == 0
    assert link.is_symlink()
    assert old.read_text(encoding="utf-8") == NEW


def test_file_that_is_current_is_not_written(old: Path) -> None:
    old.write_text(NEW, encoding="utf-8")
    before = old.stat()
    assert invoke("config", "migrate", str(old), "--write").code == 0
    assert (old.stat().st_ino, old.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.contract("CFG-03")
def test_what_is_lost_is_told_with_its_place(old: Path) -> None:
    outcome = migrate(old, OLD.replace("models: [m]}", "models: [m], tty: true}"))
    assert outcome.code == 1
    assert "# tty was removed" in outcome.out
    assert f"{old}:8:88: nodes[0].providers[0].tty: " in outcome.err
    assert "[field.legacy]" in outcome.err


def test_result_that_is_not_valid_is_told_by_its_own_lines(old: Path) -> None:
    outcome = migrate(old, OLD.replace("adapter: ollama", "command: [x], adapter: none"))
    assert outcome.code == 1
    assert f"{old}:9:67: nodes[0].providers[0].adapter: " in outcome.err
    assert outcome.err.endswith("not valid, 1 violation\n")


@pytest.mark.contract("CFG-08")
def test_secrets_are_written_and_never_printed(old: Path) -> None:
    text = OLD.replace("address:", "token: s3cr3t\n    address:")
    printed = migrate(old, text)
    assert printed.code == 1
    assert 'token: "<redacted>"' in printed.out
    assert "--write" in printed.err
    written = migrate(old, text, "--write")
    assert "s3cr3t" not in printed.out + printed.err + written.out + written.err
    assert "token: s3cr3t" in old.read_text(encoding="utf-8")


def test_overlay_is_no_whole_config(old: Path) -> None:
    text = "nodes:\n  - {id: n, token: t, providers: [{id: p, endpoint: http://a}]}\n"
    outcome = migrate(old, text, "--private", "--write")
    assert (outcome.code, outcome.err) == (0, "")
    assert old.read_text(encoding="utf-8") == text.replace("endpoint", "base_url")


@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize("options", [(), ("--write",)])
def test_file_that_cannot_be_read_is_reported_and_stays(old: Path, options: tuple[str, ...]) -> None:
    outcome = migrate(old, "edge: [", *options)
    assert (outcome.code, outcome.out) == (1, "")
    assert "[yaml.syntax]" in outcome.err
    assert old.read_text(encoding="utf-8") == "edge: ["


def test_missing_file_is_a_violation(tmp_path: Path) -> None:
    outcome = invoke("config", "migrate", str(tmp_path / "none"))
    assert (outcome.code, outcome.out) == (1, "")
    assert "[file.missing]" in outcome.err


def test_standard_input_cannot_be_written() -> None:
    assert invoke("config", "migrate", "-", "--write").code == 2


@pytest.mark.contract("CFG-04")
def test_number_of_all_losses_is_told(old: Path) -> None:
    providers = "".join(f"      - {{id: p{number}, tty: true}}\n" for number in range(1200))
    outcome = migrate(old, OLD.replace("models:\n", f"{providers}models:\n"))
    assert "... and 200 more\n" in outcome.err
