"""Where a command reads and writes."""

import os
import sys
from collections.abc import Mapping
from typing import TextIO

from iop_edge.cli.style import Style


class Console:
    """The standard streams and the environment of one run of the command.

    Results go to standard output, everything else to standard error. A reader that goes away, as in
    `iop-edge ... | head`, is no fault: what is written after that is dropped, and the exit code stays what the command
    found out.
    """

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO, environ: Mapping[str, str]) -> None:
        self.stdin = stdin
        self.environ = environ
        self.style = Style.of(stdout, environ)
        self.note_style = Style.of(stderr, environ)
        self._stdout = stdout
        self._stderr = stderr

    @classmethod
    def of_process(cls) -> "Console":
        """Return the console of this process. Characters that its streams cannot encode are written as escapes."""
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        return cls(sys.stdin, sys.stdout, sys.stderr, os.environ)

    def result(self, text: str) -> None:
        """Write a result."""
        _write(self._stdout, text)

    def note(self, text: str) -> None:
        """Write something that is no result: a fault, or progress."""
        _write(self._stderr, text)


def _write(stream: TextIO, text: str) -> None:
    if not text:
        return
    try:
        stream.write(text if text.endswith("\n") else f"{text}\n")
        stream.flush()
    except BrokenPipeError:
        _silence(stream)


def _silence(stream: TextIO) -> None:
    """Send what follows nowhere: no later write, nor the interpreter's last flush, meets the closed pipe again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
