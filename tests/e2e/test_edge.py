"""A serving Edge and the commands that ask it, as processes."""

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import clean_environ, command, running, said, session, stop
from tests.support import COMMAND

CONFIG = """\
edge: {id: edge-1}
long_context_threshold_tokens: 1000
models:
  - {id: m, default_max_tokens: 10}
"""


class Machine:
    """A directory with an Edge's files, and the Edge itself."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.admin = f"unix:{directory}/admin.sock"
        self.config = directory / "edge.yaml"
        self.config.write_text(CONFIG, encoding="utf-8")

    def serve(self) -> AbstractContextManager[subprocess.Popen[str]]:
        """Start the Edge, with a variable that the commands do not have."""
        options = ("--state-dir", "state", "--admin", self.admin)
        return running("serve", *options, cwd=self.directory, environ={"ONLY_THE_EDGE_HAS": "2000"})

    def ask(self, *arguments: str, stdin: str = "") -> tuple[int, Any]:
        """Run a command against the Edge, and return its exit code and what it prints as JSON."""
        environ = {"IOP_EDGE_ADMIN": self.admin}
        asked = command(*arguments, "--format", "json", stdin=stdin.encode(), environ=environ, cwd=self.directory)
        assert asked.stderr == b""
        return asked.returncode, json.loads(asked.stdout)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory() as name:
        yield Machine(Path(name))


@pytest.fixture
def edge(machine: Machine) -> Iterator[subprocess.Popen[str]]:
    with machine.serve() as process:
        said(process, "iop-edge: ready")
        yield process


@pytest.mark.usefixtures("edge")
def test_candidate_goes_from_dry_run_to_applied_to_history_and_back(machine: Machine) -> None:
    candidate = CONFIG.replace("1000", "2000")
    code, planned = machine.ask("config", "refresh", "-", stdin=candidate)
    assert (code, planned["status"], planned["committed"]) == (0, "applied", False)
    assert [change["path"] for change in planned["changes"]] == ["long_context_threshold_tokens"]

    exact = ("--expected-revision", "1", "--expected-candidate", planned["candidate_hash"], "--wait-drained", "1s")
    code, applied = machine.ask("config", "refresh", "-", "--mode", "apply", *exact, stdin=candidate)
    assert (code, applied["status"], applied["committed"], applied["revision_after"]) == (0, "applied", True, 2)

    code, status = machine.ask("status")
    assert (code, status["revision"], status["drift"], status["edge_id"]) == (0, 2, True, "edge-1")

    code, back = machine.ask("config", "rollback", "1", "--mode", "apply")
    assert (code, back["status"], back["revision_after"]) == (0, "applied", 3)
    assert machine.ask("status")[1]["drift"] is False

    code, history = machine.ask("config", "history", "--limit", "2")
    assert code == 0
    assert [entry["trigger"] for entry in history["entries"]] == ["rollback", "refresh"]


@pytest.mark.contract("CFG-06")
@pytest.mark.usefixtures("edge")
def test_references_of_a_candidate_resolve_where_the_config_will_run(machine: Machine) -> None:
    candidate = CONFIG.replace("1000", "${env:ONLY_THE_EDGE_HAS}")
    code, result = machine.ask("config", "refresh", "-", stdin=candidate)
    assert (code, result["status"]) == (0, "applied")
    assert [change["after"] for change in result["changes"]] == ["${env:ONLY_THE_EDGE_HAS}"]


@pytest.mark.contract("CFG-08")
@pytest.mark.usefixtures("edge")
def test_secrets_of_an_overlay_come_back_in_no_answer(machine: Machine) -> None:
    (machine.directory / "private.yaml").write_text(
        'nodes: [{id: n, address: "127.0.0.1:1", token: s3cr3t}]\nopnai: s3cr3t\n', encoding="utf-8"
    )
    environ = {"IOP_EDGE_ADMIN": machine.admin}
    for form in ("text", "json"):
        layers = ("edge.yaml", "--private", "private.yaml")
        asked = command("config", "refresh", *layers, "--format", form, environ=environ, cwd=machine.directory)
        assert asked.returncode == 1
        assert b"field.unknown" in asked.stdout
        assert b"s3cr3t" not in asked.stdout + asked.stderr


@pytest.mark.contract("REF-05")
@pytest.mark.usefixtures("edge")
def test_stale_expectation_is_rejected(machine: Machine) -> None:
    code, result = machine.ask("config", "refresh", "--expected-revision", "7")
    assert (code, result["status"]) == (1, "rejected")
    assert result["violations"]


@pytest.mark.contract("REF-07")
@pytest.mark.usefixtures("edge")
def test_restart_change_has_its_exit_code_and_live_only_applies_the_rest(machine: Machine) -> None:
    machine.config.write_text(f"{CONFIG.replace('1000', '2000')}a2a: {{path: /other}}\n", encoding="utf-8")
    code, result = machine.ask("config", "refresh", "--mode", "apply")
    assert (code, result["status"], result["committed"]) == (3, "restart_required", False)
    code, result = machine.ask("config", "refresh", "--mode", "apply", "--live-only")
    assert (code, result["status"], result["committed"]) == (3, "restart_required", True)
    assert [change["path"] for change in result["pending"]] == ["a2a.path"]
    assert [change["path"] for change in machine.ask("status")[1]["pending"]] == ["a2a.path"]


@pytest.mark.usefixtures("edge")
def test_invalid_candidate_is_rejected_and_named_as_the_caller_named_it(machine: Machine) -> None:
    (machine.directory / "wrong.yaml").write_text(f"{CONFIG}opnai: {{}}\n", encoding="utf-8")
    code, result = machine.ask("config", "refresh", "wrong.yaml")
    assert (code, result["status"]) == (1, "rejected")
    assert [(found["rule"], found["file"]) for found in result["violations"]] == [("field.unknown", "wrong.yaml")]
    assert machine.ask("status")[1]["revision"] == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_edge_stops_cleanly(machine: Machine, number: signal.Signals) -> None:
    with machine.serve() as process:
        said(process, "iop-edge: ready")
        assert stop(process, number) == 0
        assert session(process.pid) == []
    assert not (machine.directory / "admin.sock").exists()


@pytest.mark.contract("CFG-04")
def test_edge_with_an_invalid_config_does_not_start(machine: Machine) -> None:
    machine.config.write_text("edge: {id: e}\nopnai: {}\n", encoding="utf-8")
    with machine.serve() as process:
        _, written = process.communicate()
        assert process.returncode == 1
        assert "edge.yaml:2:1: opnai" in written
        assert "[field.unknown]" in written


@pytest.mark.usefixtures("edge")
def test_second_edge_on_one_state_directory_is_a_fault(machine: Machine) -> None:
    other = ("--admin", f"unix:{machine.directory}/other.sock")
    second = command("serve", "--state-dir", "state", *other, cwd=machine.directory)
    assert second.returncode == 4
    assert second.stderr.count(b"\n") == 1
    assert b"state" in second.stderr


@pytest.mark.parametrize("level", ["debug", "error"])
def test_all_that_an_edge_says_is_one_json_object_a_line_with_a_json_log(machine: Machine, level: str) -> None:
    machine.config.write_text(f"{CONFIG}logging: {{format: json, level: {level}}}\n", encoding="utf-8")
    with machine.serve() as process:
        assert process.stderr is not None
        said_before = iter(process.stderr.readline, "")
        ready = next(told for line in said_before if (told := json.loads(line)).get("event") == "ready")
        assert (ready["revision"], ready["admin"], ready["level"]) == (1, [machine.admin], "info")
        second = command("serve", "--state-dir", "state", cwd=machine.directory)
        assert (second.returncode, second.stdout) == (4, b"")
        (fault,) = (json.loads(line) for line in second.stderr.splitlines())
        assert (fault["level"], "another Edge" in fault["message"]) == ("error", True)
        process.send_signal(signal.SIGTERM)
        out, rest = process.communicate()
        assert (process.returncode, out) == (0, "")
        assert [json.loads(line)["message"] for line in rest.splitlines()] == (["stopping"] if level == "debug" else [])


def test_a_log_for_people_says_that_the_edge_is_ready_and_the_fault_that_ends_it(machine: Machine) -> None:
    machine.config.write_text(f"{CONFIG}logging: {{format: text}}\n", encoding="utf-8")
    with machine.serve() as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert f"iop-edge: ready, revision 1, admin {machine.admin}\n" in lines
        second = command("serve", "--state-dir", "other", "--admin", machine.admin, cwd=machine.directory)
        assert second.returncode == 4
        assert b" error iop_edge." in second.stderr
        assert b"Traceback" not in second.stderr
        assert stop(process) == 0


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full"])
def test_edge_whose_log_nobody_takes_serves_and_stops_clean(machine: Machine, stream: str) -> None:
    shell = ("/bin/sh", "-c", f'exec "$0" "$@" {stream}', str(COMMAND))
    arguments = ("serve", "--state-dir", "state", "--admin", machine.admin)
    with subprocess.Popen((*shell, *arguments), cwd=machine.directory, env=clean_environ(), text=True) as process:
        try:
            answers = (command("status", "--admin", machine.admin).returncode for _ in range(100))
            assert 0 in answers, "it never served"
            assert stop(process) == 0
        finally:
            process.kill()


@pytest.mark.usefixtures("edge")
def test_what_is_applied_to_be_confirmed_stays_when_it_is_and_goes_when_it_is_not(machine: Machine) -> None:
    environ = {"IOP_EDGE_ADMIN": machine.admin}
    for threshold, within, revision in (("2000", "1h", "2"), ("3000", "1ms", "3")):
        machine.config.write_text(CONFIG.replace("1000", threshold), encoding="utf-8")
        options = ("--mode", "apply", "--confirm-within", within)
        asked = command("config", "refresh", *options, environ=environ, cwd=machine.directory)
        assert (asked.returncode, asked.stderr) == (0, f"keep it with: iop-edge config confirm {revision}\n".encode())
        if revision == "2":
            assert machine.ask("status")[1]["reverts_to"] == 1
            assert machine.ask("config", "confirm", "2") == (0, {"revision": 2, "confirmed": True})
    answers = (machine.ask("config", "confirm", "3") for _ in range(20))
    code, answer = next((code, answer) for code, answer in answers if answer["revision"] == 4)
    assert (code, answer["confirmed"]) == (1, False)
    assert machine.ask("config", "history", "--limit", "1")[1]["entries"][0]["trigger"] == "revert"


@pytest.mark.usefixtures("edge")
def test_a_watched_state_is_written_at_each_change_until_it_is_stopped(machine: Machine) -> None:
    with running("status", "--watch", "--admin", machine.admin, cwd=machine.directory) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "revision 1, 0 of 0 Nodes in sync\n"
        machine.config.write_text(CONFIG.replace("1000", "2000"), encoding="utf-8")
        assert machine.ask("config", "refresh", "--mode", "apply")[0] == 0
        lines = iter(watcher.stdout.readline, "")
        assert "revision 2, 0 of 0 Nodes in sync\n" in lines
        assert stop(watcher, signal.SIGINT) == 0
