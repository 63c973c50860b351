"""The installed command as processes: streams, files, exit codes."""

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.e2e.processes import clean_environ, command, running, said, session, stop
from tests.support import COMMAND, EXAMPLES, PATIENCE

SMALL = b"edge: {id: e}\n"


def test_installed_command_and_module_are_the_same() -> None:
    as_module = subprocess.run([sys.executable, "-m", "iop_edge", "--version"], capture_output=True, check=True)
    assert command("--version").stdout == as_module.stdout


def test_example_is_valid() -> None:
    files = (str(EXAMPLES / "edge.yaml"), "--private", str(EXAMPLES / "edge.private.yaml"))
    environ = {"IOP_CLOUD_AUTH": "Bearer a", "IOP_GATEWAY_AUTH": "Bearer b"}
    checked = command("config", "check", *files, environ=environ)
    assert (checked.returncode, checked.stderr) == (0, b"")


def test_config_comes_from_standard_input() -> None:
    checked = command("config", "check", "-", stdin=b"edge: {}\n")
    assert checked.returncode == 1
    assert b"field.required" in checked.stdout
    assert command("config", "check", "-", stdin=SMALL).returncode == 0


def test_config_comes_from_the_variable_or_the_working_directory(tmp_path: Path) -> None:
    named = tmp_path / "named.yaml"
    named.write_bytes(b"edge: {id: named}\n")
    (tmp_path / "edge.yaml").write_bytes(b"edge: {id: here}\n")
    assert b"here" in command("config", "show", cwd=tmp_path).stdout
    shown = command("config", "show", cwd=tmp_path, environ={"IOP_EDGE_CONFIG": str(named)}).stdout
    assert b"named" in shown


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"[" * 100_000, b"a: &a [*a]\n", b"edge: !!python/object:os.system {}\n", b"\0"]
)
@pytest.mark.contract("CFG-10")
def test_hostile_input_is_a_violation_and_never_a_traceback(content: bytes) -> None:
    checked = command("config", "check", "-", "--format", "json", stdin=content)
    assert (checked.returncode, checked.stderr) == (1, b"")
    assert json.loads(checked.stdout)["violations"]


def test_directory_in_place_of_a_file_is_a_violation(tmp_path: Path) -> None:
    checked = command("config", "check", str(tmp_path))
    assert checked.returncode == 1
    assert b"Traceback" not in checked.stdout + checked.stderr


def test_reader_that_goes_away_changes_no_exit_code() -> None:
    arguments = ("config", "check", str(EXAMPLES / "edge.rejected.yaml"))
    with subprocess.Popen(
        [str(COMMAND), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environ()
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, faults = process.communicate(timeout=PATIENCE)
    assert (process.returncode, faults) == (1, b"")


@pytest.mark.parametrize(
    "arguments",
    [("status",), ("explain-dispatch", "m"), ("config", "refresh"), ("config", "history"), ("config", "rollback", "1")],
)
def test_edge_that_cannot_be_reached_is_one_line_and_its_own_exit_code(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    asked = command(*arguments, "--admin", f"unix:{tmp_path / 'none'}")
    assert (asked.returncode, asked.stdout) == (4, b"")
    assert asked.stderr.startswith(b"iop-edge: cannot reach the Edge at unix:")
    assert asked.stderr.count(b"\n") == 1


@pytest.mark.contract("PAY-02")
def test_node_starts_with_id_address_and_token_alone_and_stops_cleanly() -> None:
    options = ("--id", "gpu-a", "--listen", "127.0.0.1:0")
    with running("node", "run", *options, environ={"IOP_NODE_TOKEN": "t"}) as node:
        host, port = said(node, "node gpu-a listens on ").rsplit(":", 1)
        assert (host, int(port) > 0) == ("127.0.0.1", True)
        assert stop(node) == 0
        assert session(node.pid) == []


def test_node_on_a_taken_address_is_a_fault() -> None:
    environ = {"IOP_NODE_TOKEN": "t"}
    with running("node", "run", "--id", "a", "--listen", "127.0.0.1:0", environ=environ) as node:
        address = said(node, "node a listens on ")
        second = command("node", "run", "--id", "b", "--listen", address, environ=environ)
        assert second.returncode == 4
        assert second.stderr.count(b"\n") == 1
        assert address.encode() in second.stderr


def test_config_to_start_from_is_valid_and_migration_keeps_it(tmp_path: Path) -> None:
    assert command("config", "init", "edge.yaml", cwd=tmp_path).returncode == 0
    assert command("config", "init", "edge.yaml", cwd=tmp_path).returncode == 2
    checked = command("config", "check", "--strict", cwd=tmp_path, environ={"IOP_NODE_1_TOKEN": "t"})
    assert (checked.returncode, checked.stdout) == (0, b"valid\n")
    migrated = command("config", "migrate", "edge.yaml", cwd=tmp_path)
    assert (migrated.returncode, migrated.stdout) == (0, (tmp_path / "edge.yaml").read_bytes())


def test_legacy_example_is_migrated_in_place_and_from_standard_input(tmp_path: Path) -> None:
    text = (EXAMPLES / "edge.legacy.yaml").read_bytes()
    path = tmp_path / "edge.yaml"
    path.write_bytes(text)
    piped = command("config", "migrate", "-", stdin=text)
    written = command("config", "migrate", "--write", str(path))
    assert (piped.returncode, written.returncode) == (0, 0)
    assert path.read_bytes() == piped.stdout != text
    assert command("config", "check", str(path), "--offline").returncode == 0


def test_rules_are_described_in_sarif_by_the_installed_command() -> None:
    checked = command("config", "check", str(EXAMPLES / "edge.rejected.yaml"), "--format", "sarif")
    rules = json.loads(checked.stdout)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules if "shortDescription" not in rule] == []


@pytest.mark.contract("CFG-08", "VAL-08")
def test_token_that_is_typed_on_a_terminal_is_not_echoed() -> None:
    master, terminal = os.openpty()
    try:
        with subprocess.Popen(
            [str(COMMAND), "config", "hash-token"],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            env=clean_environ(),
            start_new_session=True,
            # What asks for a token opens the terminal that controls it.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - no other thread runs here
        ) as process:
            shown = os.read(master, 1024)
            os.write(master, b"s3cr3t-token\n")
            entry, _ = process.communicate(timeout=PATIENCE)
        os.close(terminal)
        terminal = -1
        with contextlib.suppress(OSError):  # how a terminal ends
            while piece := os.read(master, 1024):
                shown += piece
    finally:
        os.close(master)
        if terminal >= 0:
            os.close(terminal)
    assert process.returncode == 0
    assert hashlib.sha256(b"s3cr3t-token").hexdigest().encode() in entry
    assert shown.strip() == b"token:"
