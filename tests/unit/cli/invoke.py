"""Runs the command in this process."""

import io
from collections.abc import Mapping
from dataclasses import dataclass

from iop_edge.cli.console import Console
from iop_edge.cli.main import run


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Invocation:
    """How a command ended."""

    code: int
    out: str
    err: str


def invoke(*argv: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> Invocation:
    """Run a command with this input and environment."""
    out, err = io.StringIO(), io.StringIO()
    code = run(argv, Console(io.StringIO(stdin), out, err, environ or {}))
    return Invocation(code, out.getvalue(), err.getvalue())
