"""What must start fast loads none of the slow libraries."""

import subprocess
import sys

import pytest

from tests.support import EXAMPLES

HEAVY = ("grpclib", "h2", "pydantic", "betterproto2", "iop_pb.iop")

SCRIPT = """
import io, sys
from iop_edge.cli.console import Console
from iop_edge.cli.main import run
code = run(sys.argv[1:], Console(io.StringIO(), io.StringIO(), sys.stderr, {}))
print(code, *sorted(sys.modules))
"""

EDGE = str(EXAMPLES / "edge.yaml")
PRIVATE = str(EXAMPLES / "edge.private.yaml")
REJECTED = str(EXAMPLES / "edge.rejected.yaml")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["config", "--help"], 0),
        (["config", "explain", "nodes"], 0),
        (["config", "schema"], 0),
        (["config", "check", EDGE, "--private", PRIVATE, "--offline"], 0),
        (["config", "check", REJECTED, "--format", "sarif"], 1),
        (["config", "init"], 0),
        (["config", "migrate", EDGE], 0),
        (["config", "show", EDGE, "--private", PRIVATE, "--offline"], 0),
        (["config", "diff", EDGE, EDGE, "--private", PRIVATE, "--offline"], 0),
        (["explain-dispatch", "qwen3-coder", EDGE, "--private", PRIVATE, "--offline"], 0),
        (["node", "payload", "gpu-a", EDGE, "--private", PRIVATE, "--offline"], 0),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_command_loads_neither_grpc_nor_generated_messages(argv: list[str], code: int) -> None:
    command = [sys.executable, "-c", SCRIPT, *argv]
    finished = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    exit_code, *modules = finished.stdout.split()
    assert (int(exit_code), finished.stderr) == (code, "")
    assert "iop_edge.cli.main" in modules
    assert [name for name in modules if name.startswith(HEAVY)] == []
