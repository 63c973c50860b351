"""What the example's README shows is what happens."""

import os
import re
import shutil
import signal
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.processes import clean_environ, session
from tests.gateway.rig import text_of
from tests.support import COMMAND, EXAMPLES, PATIENCE

README = (EXAMPLES / "gateway" / "README.md").read_text(encoding="utf-8")

PORT = re.compile(r"(127\.0\.0\.1:|--port )(\d+)")

PATIENT = "curl --retry 60 --retry-delay 1 --retry-connrefused --fail "
"""Tries again until what has been started is there."""


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(each.getsockname()[1]) for each in sockets]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl, which the README uses, is not installed")
def test_the_readmes_commands_start_a_gateway_that_counts(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    config = tmp_path / "examples" / "gateway" / "edge.yaml"
    start, ask = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    installing, *starting = start.splitlines(keepends=True)
    assert installing.startswith("pip install ")

    # Other ports than the README's, so that the test is in nobody's way.
    named = sorted({found[2] for found in PORT.finditer(start + ask + config.read_text(encoding="utf-8"))})
    ports = dict(zip(named, free_ports(len(named)), strict=True))

    def elsewhere(text: str) -> str:
        return PORT.sub(lambda found: f"{found[1]}{ports[found[2]]}", text)

    config.write_text(elsewhere(config.read_text(encoding="utf-8")), encoding="utf-8")
    environ = clean_environ()
    environ["PATH"] = f"{COMMAND.parent}:{environ['PATH']}"
    script = elsewhere("".join(starting)) + elsewhere(ask).replace("curl ", PATIENT)
    with subprocess.Popen(
        ["sh", "-ec", f"({script}) 2>log"],
        cwd=tmp_path,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as shell:
        try:
            assert shell.wait(PATIENCE) == 0, (tmp_path / "log").read_text(encoding="utf-8")
        finally:
            for pid in session(shell.pid):
                os.kill(pid, signal.SIGKILL)
        assert shell.stdout is not None
        models, _, stream = shell.stdout.read().partition("data: ")
    assert '"id":"counter"' in models
    assert text_of(f"data: {stream}") == "".join(f"{number} " for number in range(20))
