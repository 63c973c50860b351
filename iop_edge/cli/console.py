"""Where a command reads and writes, and in which colours."""

import io
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Final, NamedTuple, TextIO, cast

from iop_edge.documents import json_text

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")


class Paint(Enum):
    """What the colour of a text means; the value is its ANSI code."""

    GOOD = "32"
    BAD = "1;31"
    CAUTION = "33"
    PLACE = "1"
    FAINT = "2"


class Style(NamedTuple):
    """Colours text, or leaves it as it is."""

    coloured: bool

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str]) -> "Style":
        """Return the style for a stream: coloured only on a terminal, and never when `NO_COLOR` is set."""
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        return cls(stream.isatty() and not plain)

    def paint(self, text: str, paint: Paint) -> str:
        """Return the text with the codes of its colour."""
        return f"\x1b[{paint.value}m{text}\x1b[0m" if self.coloured and text else text


PLAIN = Style(coloured=False)


class Console:
    """The standard streams and the environment of one run of the command.

    Results go to standard output, everything else to standard error. When the reader goes away, as in
    `iop-edge ... | head`, further output is dropped and the exit code stays as it would have been.
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
        """Return the console of this process. Text that its streams cannot encode or decode becomes escapes."""
        stdin = _prepared(sys.stdin, "r", "surrogateescape")
        stdout = _prepared(sys.stdout, "w", "backslashreplace")
        stderr = _prepared(sys.stderr, "w", "backslashreplace")
        return cls(stdin, stdout, stderr, os.environ)

    def result(self, text: str) -> None:
        """Write a result."""
        _write(self._stdout, text)

    def document(self, value: object) -> None:
        """Write plain JSON values as a document; characters that the stream cannot encode become JSON escapes."""
        _write(self._stdout, _encodable(json_text(value), self._stdout.encoding))

    def note(self, text: str) -> None:
        """Write an error or a notice. If nobody can read it, nothing else changes."""
        with suppress(OSError):
            _write(self._stderr, text)

    @property
    def redraws(self) -> bool:
        """Whether a result can replace the one before it on the screen."""
        return self._stdout.isatty()

    @property
    def shows_progress(self) -> bool:
        """Whether progress is visible to somebody."""
        return self._stderr.isatty()

    def redraw(self, text: str) -> None:
        """Clear the terminal and write a result."""
        _write(self._stdout, f"\x1b[H\x1b[2J{text}")

    def progress(self, text: str) -> None:
        """Replace the progress line on a terminal; the empty text removes it."""
        if self.shows_progress:
            _write_raw(self._stderr, f"\r\x1b[K{text}")

    def settle(self) -> None:
        """Drop unwritten output: the interpreter would try again at exit, and fail with an exit code of its own."""
        for stream in (self._stdout, self._stderr):
            try:
                stream.flush()
            except OSError:
                _silence(stream)


def _prepared(stream: TextIO | None, mode: str, errors: str) -> TextIO:
    """Make a stream accept any text; in place of one that was closed before the start, return one to nowhere."""
    if stream is None:
        return cast("TextIO", open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123 - open until the end
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=errors)
    return stream


def _encodable(document: str, encoding: str | None) -> str:
    """Escape what the encoding lacks. In a JSON document, only strings hold more than ASCII."""
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
    """Send further output nowhere, so that the interpreter's last flush does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
