"""The demonstration, as somebody runs it who has just installed the command."""

import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from iop_edge.cli.command import ExitCode
from iop_edge.cli.commands import demo as module
from iop_edge.cli.commands.demo import SOCKET, DemoError, Stage, make_directory, run_demo
from iop_edge.cli.files import example
from tests.e2e.processes import clean_environ, running, session
from tests.support import PATIENCE, run

DEMO_PATIENCE = 3 * PATIENCE


@pytest.fixture
def temp() -> Iterator[Path]:
    """A directory for temporary files, with a short name: sockets are made in it."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_every_step_is_shown_and_nothing_is_left(temp: Path) -> None:
    with running("demo", environ={"TMPDIR": str(temp)}) as demo:
        shown, faults = demo.communicate(timeout=DEMO_PATIENCE)
        assert (demo.returncode, faults) == (0, "")
        assert session(demo.pid) == []
    assert list(temp.iterdir()) == []
    for text in (
        "gpu-b  runs revision 1, pushed as generation 1",
        "applied (dry run)",
        "nodes[gpu-a].providers[gpu-a-qwen].capacity: 4 -> 8",
        "revision 1 -> 2",
        "restart required (dry run)",
        "rejected: 2 violations",
        "wrong.yaml:",
        "disabled",
        "4 processes ended with exit code 0",
    ):
        assert text in shown
    assert "Traceback" not in shown
    assert max(map(len, shown.splitlines())) < 160


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_demo_leaves_nothing(temp: Path, number: signal.Signals) -> None:
    with running("demo", environ={"TMPDIR": str(temp)}) as demo:
        assert demo.stdout is not None
        while "runs revision 1" not in demo.stdout.readline():
            assert demo.poll() is None
        demo.send_signal(number)
        demo.communicate(timeout=DEMO_PATIENCE)
        assert demo.returncode == 130
        assert session(demo.pid) == []
    assert list(temp.iterdir()) == []


def test_demo_whose_reader_goes_away_ends_well(temp: Path) -> None:
    with running("demo", environ={"TMPDIR": str(temp)}) as demo:
        assert demo.stdout is not None
        demo.stdout.readline()
        demo.stdout.close()
        demo.stdout = None
        _, faults = demo.communicate(timeout=DEMO_PATIENCE)
        assert (demo.returncode, faults) == (0, "")
        assert session(demo.pid) == []
    assert list(temp.iterdir()) == []


def test_long_name_of_the_temporary_directory_leaves_room_for_sockets(
    temp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = temp / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with make_directory() as name, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(Path(name, SOCKET)))
    assert not Path(name).exists()


def test_step_that_fails_ends_the_demo_and_leaves_nothing(temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temp))
    changed = example("edge.yaml").replace("        capacity: 4\n", "        capacity: 5\n")
    monkeypatch.setattr(module, "example", lambda _: changed)
    with pytest.raises(DemoError, match=r"revision 1 .*'gpu-a-qwen': 5"):
        run(run_demo(lambda _: None, {}))
    assert list(temp.iterdir()) == []


@pytest.mark.parametrize(("code", "shows"), [(ExitCode.FINE, "no such text"), (ExitCode.REJECTED, "iop-edge")])
def test_command_that_turns_out_otherwise_is_a_fault(tmp_path: Path, code: ExitCode, shows: str) -> None:
    stage = Stage(lambda _: None, tmp_path, clean_environ())
    with pytest.raises(DemoError, match="exit code"):
        run(stage.run("--version", code=code, shows=(shows,)))


def test_daemon_that_ends_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    async def scenario() -> None:
        stage = Stage(lambda _: None, tmp_path, clean_environ())
        await stage.start("edge", "serve", "none.yaml", "--state-dir", "state")
        with pytest.raises(DemoError, match=r"(?s)edge ended with exit code 1.*none\.yaml"):
            await stage.logged("edge", "iop-edge: ready")
        assert await stage.stop() == {"edge": 1}

    run(scenario())


def test_daemon_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = tmp_path / "deaf"
    deaf.write_text("#!/bin/sh\ntrap '' TERM; echo up >&2; exec sleep 60\n", encoding="utf-8")
    deaf.chmod(0o755)
    monkeypatch.setattr(module, "_STOP_SECONDS", 0.01)
    monkeypatch.setattr(sys, "executable", str(deaf))

    async def scenario() -> dict[str, int]:
        stage = Stage(lambda _: None, tmp_path, clean_environ())
        await stage.start("deaf")
        await stage.logged("deaf", "up")
        return await stage.stop()

    assert run(scenario()) == {"deaf": -signal.SIGKILL}


def test_sessions_are_seen() -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as sleeper:
        assert session(sleeper.pid) == [sleeper.pid]
        sleeper.kill()
