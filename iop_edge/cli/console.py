"""Where a command reads and writes."""

import io
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, TextIO, cast

from iop_edge.cli.style import Style

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")


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
        """Return the console of this process. What its streams cannot encode or decode passes as escapes."""
        stdin = _prepared(sys.stdin, "r", "surrogateescape")
        stdout = _prepared(sys.stdout, "w", "backslashreplace")
        stderr = _prepared(sys.stderr, "w", "backslashreplace")
        return cls(stdin, stdout, stderr, os.environ)

    def result(self, text: str) -> None:
        """Write a result."""
        _write(self._stdout, text)

    def document(self, text: str) -> None:
        """Write a result that is a JSON document: what the stream cannot encode passes as JSON's own escapes."""
        _write(self._stdout, _encodable(text, self._stdout.encoding))

    def note(self, text: str) -> None:
        """Write something that is no result: a fault, or progress. Where nobody can read it, it changes nothing."""
        with suppress(OSError):
            _write(self._stderr, text)

    @property
    def redraws(self) -> bool:
        """Whether results can be shown in place of those before them."""
        return self._stdout.isatty()

    @property
    def shows_progress(self) -> bool:
        """Whether somebody sees progress as it is made."""
        return self._stderr.isatty()

    def redraw(self, text: str) -> None:
        """Write a result on a terminal in place of all that stands there."""
        _write(self._stdout, f"\x1b[H\x1b[2J{text}")

    def progress(self, text: str) -> None:
        """Write a line on a terminal in place of the one before; the empty text takes it away."""
        if self.shows_progress:
            _write_raw(self._stderr, f"\r\x1b[K{text}")

    def settle(self) -> None:
        """Give up what a stream could not take: the interpreter would try again, and end with a code of its own."""
        for stream in (self._stdout, self._stderr):
            try:
                stream.flush()
            except OSError:
                _silence(stream)


def _prepared(stream: TextIO | None, mode: str, errors: str) -> TextIO:
    """Return a stream of the process that takes any text; one that was closed before the start is one to nowhere."""
    if stream is None:
        return cast("TextIO", open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123 - open until the end
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)
    return stream


def _encodable(document: str, encoding: str | None) -> str:
    """Return a JSON document with escapes where an encoding lacks something; only its texts hold more than ASCII."""
    try:
        document.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return _NOT_ASCII.sub(lambda match: json.dumps(match.group())[1:-1], document)
    return document


def _write(stream: TextIO, text: str) -> None:
    if text:
        _write_raw(stream, text if text.endswith("\n") else f"{text}\n")


def _write_raw(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except OSError:
        _silence(stream)
        raise


def _silence(stream: TextIO) -> None:
    """Send what follows nowhere, so that the interpreter's last flush does not meet the same fault again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
