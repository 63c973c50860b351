"""Starts the installed command as real processes."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support import COMMAND, PATIENCE


def command(
    *arguments: str, stdin: bytes = b"", environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end."""
    return subprocess.run(
        [str(COMMAND), *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=cwd,
        env=clean_environ(environ),
        timeout=PATIENCE,
    )


def clean_environ(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment as a stranger's machine has it."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, **(environ or {})}


@contextmanager
def running(
    *arguments: str, environ: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start a command that runs until it is stopped, in a session of its own; end it if the test did not."""
    process = subprocess.Popen(
        [str(COMMAND), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=clean_environ(environ),
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            for pid in session(process.pid):
                os.kill(pid, signal.SIGKILL)


def session(leader: int) -> list[int]:
    """Return the live processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields[0] != "Z" and int(fields[3]) == leader:
                found.append(int(entry.name))
    return found


def said(process: subprocess.Popen[str], mark: str) -> str:
    """Read standard error up to a line, or a JSON line's message, that begins with a mark; return the rest of it."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        message = str(json.loads(line)["message"]) if line.startswith("{") else line
        if message.startswith(mark):
            return message.removeprefix(mark).strip()
    raise AssertionError(f"it ended without saying {mark!r}: {''.join(lines)}")


def stop(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> int:
    """Ask a process to stop, and return its exit code."""
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    return process.returncode
