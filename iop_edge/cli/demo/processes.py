"""Processes of the command: started, listened to, and stopped for certain."""

import asyncio
import contextlib
import json
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from iop_edge.errors import EdgeError

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 30.0

_KEPT_LINES: Final = 20


class DemoError(EdgeError):
    """A step that did not do what it was to show."""


@dataclass(frozen=True, slots=True)
class Output:
    """How a command ended."""

    exit_code: int
    text: str


class Daemon:
    """A process that runs until it is stopped. Its standard error is read all the time, so that it never blocks."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process
        self._log: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reader: asyncio.Task[None] | None = None

    async def said(self, mark: str) -> str:
        """Wait for a line, or a JSON log line's message, that begins with a mark, and return the rest of it.

        Raises:
            DemoError: the process ended, or did not say it in time.
        """
        try:
            async with asyncio.timeout(START_SECONDS):
                while not (line := _message(await self._line())).startswith(mark):
                    pass
        except TimeoutError:
            raise DemoError(f"{self.name} did not start in time{self._last_words()}") from None
        self._reader = asyncio.create_task(self._read_on())
        return line.removeprefix(mark).strip()

    def ensure_running(self) -> None:
        """Check that the process has not ended.

        Raises:
            DemoError: it has.
        """
        if self._process.returncode is not None:
            raise DemoError(f"{self.name} ended with exit code {self._process.returncode}{self._last_words()}")

    async def stop(self) -> int:
        """End the process, gently if it lets itself be ended so, and return its exit code."""
        if self._process.returncode is None:
            self._process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        if self._reader is not None:
            await self._reader
        return await self._process.wait()

    async def _line(self) -> str:
        assert self._process.stderr is not None
        line = (await self._process.stderr.readline()).decode(errors="replace")
        if not line:
            raise DemoError(f"{self.name} ended with exit code {await self._process.wait()}{self._last_words()}")
        self._log.append(line)
        return line

    async def _read_on(self) -> None:
        assert self._process.stderr is not None
        async for line in self._process.stderr:
            self._log.append(line.decode(errors="replace"))

    def _last_words(self) -> str:
        return f"; it said last:\n{''.join(self._log)}".rstrip() if self._log else ""


def _message(line: str) -> str:
    return str(json.loads(line)["message"]) if line.startswith("{") else line


class Processes:
    """Starts processes of the command in one directory, and leaves none behind."""

    def __init__(self, directory: Path, environ: Mapping[str, str]) -> None:
        self._directory = directory
        self._environ = environ
        self._daemons: list[Daemon] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop_all()

    async def start(self, name: str, *arguments: str, **environ: str) -> Daemon:
        """Start a process that runs until it is stopped."""
        process = await asyncio.create_subprocess_exec(
            *_command(arguments),
            cwd=self._directory,
            env={**self._environ, **environ},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        daemon = Daemon(name, process)
        self._daemons.append(daemon)
        return daemon

    async def run(self, *arguments: str) -> Output:
        """Run a command to its end, and return all that it wrote.

        Raises:
            DemoError: it did not end in time.
        """
        process = await asyncio.create_subprocess_exec(
            *_command(arguments),
            cwd=self._directory,
            env=dict(self._environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                written, _ = await process.communicate()
        except TimeoutError:
            raise DemoError(f"iop-edge {' '.join(arguments)} did not end in time") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Output(process.returncode, written.decode(errors="replace"))

    def ensure_running(self) -> None:
        """Check that no process has ended.

        Raises:
            DemoError: one has.
        """
        for daemon in self._daemons:
            daemon.ensure_running()

    async def stop_all(self) -> dict[str, int]:
        """End every process, the last started first, and return their exit codes."""
        codes = {}
        while self._daemons:
            daemon = self._daemons.pop()
            codes[daemon.name] = await daemon.stop()
        return codes


def _command(arguments: tuple[str, ...]) -> tuple[str, ...]:
    return (sys.executable, "-m", "iop_edge", *arguments)
