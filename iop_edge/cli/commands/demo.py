"""The command `demo`: a script over the library and real processes of the command."""

import argparse
import asyncio
import json
import secrets
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final

from iop_edge.cli.command import ExitCode, command
from iop_edge.cli.console import Console
from iop_edge.cli.files import example, write_whole
from iop_edge.cli.polling import until_stopped
from iop_edge.client.admin import AdminClient
from iop_edge.client.status import StatusSnapshot
from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.errors import EdgeError
from iop_edge.net import MAX_UNIX_PATH

NODES: Final = ("gpu-a", "gpu-b", "relay")
SOCKET: Final = "admin.sock"
PRIVATE: Final = ("--private", "private.yaml")

_PATIENCE_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05


class DemoError(EdgeError):
    """A step did not do what it is meant to show."""


@command()
def demo(_: argparse.Namespace, console: Console) -> ExitCode:
    """Show an Edge and three Nodes at work on this machine: push, dry run, apply, restart required, rejected, status.

    They are real processes on free loopback ports, with the example config that is shipped with iop-edge. Each step is
    checked; nothing is left behind.

    Exit code 0: every step did what it shows; 4: one did not.
    """
    if not asyncio.run(until_stopped(run_demo(console.result, console.environ))):
        raise KeyboardInterrupt
    return ExitCode.FINE


async def run_demo(tell: Callable[[str], None], environ: Mapping[str, str]) -> None:
    """Run the demo in a directory of its own.

    Raises:
        EdgeError: a step failed.
    """
    with make_directory() as name:
        stage = Stage(tell, Path(name), environ)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await _play(stage)
        except TimeoutError:
            raise DemoError(f"the demo takes too long; the Edge's log ends with:\n{stage.log('edge')}") from None
        finally:
            await stage.stop()


async def _play(stage: "Stage") -> None:
    tell, run = stage.tell, stage.run
    tell("One Edge and three Nodes on this machine, with the example config that is shipped with iop-edge.")

    tell("\nThree Nodes start. Each knows its id, an address and its token, and nothing else.")
    tokens = {node: secrets.token_urlsafe(24) for node in NODES}
    for node in NODES:
        await stage.start(node, "node", "run", "--id", node, "--listen", "127.0.0.1:0", IOP_NODE_TOKEN=tokens[node])
    addresses = {node: await stage.logged(node, f"node {node} listens on ") for node in NODES}
    for node in NODES:
        stage.show(f"{node:6} listens on {addresses[node]}")

    tell("\nThe Edge starts, dials each Node and pushes its payload. The Nodes acknowledge.")
    stage.write_config("edge.yaml")
    write_whole(stage.directory / PRIVATE[1], json.dumps(_overlay(stage.admin, addresses, tokens)).encode())
    serve = ("serve", "edge.yaml", *PRIVATE, "--state-dir", "state")
    stage.show(f"$ iop-edge {' '.join(serve)}")
    await stage.start("edge", *serve)
    await stage.logged("edge", "iop-edge: ready")
    await stage.require_in_sync(revision=1, capacity=4)

    tell("\nSomebody gives gpu-a more capacity in edge.yaml. What would that cost? Nothing: the change is live.")
    more = {"        capacity: 4": "        capacity: 8", "      concurrency: 8": "      concurrency: 12"}
    stage.write_config("edge.yaml", more)
    changes = ("nodes[gpu-a].providers[gpu-a-qwen].capacity: 4 -> 8", "nodes[gpu-a].runtime.concurrency: 8 -> 12")
    await run("config", "refresh", shows=("applied (dry run)", *changes))
    await stage.require_in_sync(revision=1, capacity=4)

    tell("\nSo it is applied. Only gpu-a gets a push: the payloads of the others have not changed.")
    await run("config", "refresh", "--mode", "apply", shows=("revision 1 -> 2", *changes, "committed"))
    status = await stage.require_in_sync(revision=2, capacity=8)
    if [node.node_id for node in status.nodes if node.generation > 1] != ["gpu-a"]:
        raise DemoError("not gpu-a alone got a push")

    tell("\nAnother candidate changes the protocol of an adapter. That needs a restart, so nothing is applied.")
    protocol = {"        protocol_profile: openai_chat": "        protocol_profile: openai_responses"}
    stage.write_config("restart.yaml", {**more, **protocol})
    change = 'nodes[gpu-b].adapters[vllm-0].protocol_profile: "openai_chat" -> "openai_responses"'
    await run(
        *("config", "refresh", "restart.yaml", *PRIVATE),
        code=ExitCode.RESTART_REQUIRED,
        shows=("restart required (dry run)", change),
    )

    tell("\nA candidate with two mistakes is rejected, although it should be applied, and both are listed.")
    wrong = {"        capacity: 4": "        capacity: 0", "      concurrency: 8": "      concurency: 8"}
    stage.write_config("wrong.yaml", wrong)
    await run(
        *("config", "refresh", "wrong.yaml", *PRIVATE, "--mode", "apply"),
        code=ExitCode.REJECTED,
        shows=("rejected: 2 violations", "did you mean concurrency?", "[field.unknown]", "[value.gte]"),
    )
    await stage.require_in_sync(revision=2, capacity=8)

    tell("\nThis is what runs now.")
    await run("status", shows=("revision 2", *NODES, "gpu-a-qwen", "cloud-claude", "disabled"))

    tell("\nEverything stops.")
    codes = await stage.stop()
    if any(codes.values()):
        raise DemoError(f"not all processes stopped cleanly: {codes}")
    stage.show(f"{len(codes)} processes ended with exit code 0")


class Stage:
    """The directory of the demo, and its processes."""

    def __init__(
        self, tell: Callable[[str], None], directory: Path, environ: Mapping[str, str], clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.tell = tell
        self.directory = directory
        self.admin = f"unix:{directory / SOCKET}"
        self._environ = {name: value for name, value in environ.items() if not name.startswith("IOP_")}
        self._environ["IOP_EDGE_ADMIN"] = self.admin
        self._clock = clock
        self._processes: dict[str, asyncio.subprocess.Process] = {}

    def show(self, line: str) -> None:
        """Show a line of what happens in a step."""
        self.tell(f"    {line}" if line else "\n")

    def write_config(self, name: str, edits: Mapping[str, str] | None = None) -> None:
        """Write the example config with some lines replaced."""
        text = example("edge.yaml")
        for line, replacement in (edits or {}).items():
            if text.count(f"{line}\n") != 1:
                raise DemoError(f"the example does not have exactly one line {line.strip()!r}")
            text = text.replace(f"{line}\n", f"{replacement}\n")
        (self.directory / name).write_text(text, encoding="utf-8")

    def log(self, name: str) -> str:
        """Return what a process has written."""
        file = self.directory / f"{name}.log"
        return file.read_text("utf-8", "replace") if file.exists() else ""

    async def start(self, name: str, *arguments: str, **environ: str) -> None:
        """Start a command that runs until it is stopped, and send its standard error to a file."""
        with (self.directory / f"{name}.log").open("wb") as log:
            self._processes[name] = await self._spawn(arguments, environ, asyncio.subprocess.DEVNULL, log)

    async def logged(self, name: str, mark: str) -> str:
        """Wait until a process has logged a line that begins with a mark, and return the rest of the line."""
        while True:
            ended = self._processes[name].returncode
            for line in self.log(name).split("\n")[:-1]:
                if line.startswith(mark):
                    return line.removeprefix(mark).strip()
            if ended is not None:
                raise DemoError(f"{name} ended with exit code {ended}; its log ends with:\n{self.log(name)[-2000:]}")
            await self._clock.sleep(_POLL_SECONDS)

    async def run(self, *arguments: str, code: ExitCode = ExitCode.FINE, shows: tuple[str, ...]) -> None:
        """Run a command, show its output, and check its exit code and what it prints."""
        self.show(f"$ iop-edge {' '.join(arguments)}")
        pipe, both = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        process = self._processes["command"] = await self._spawn(arguments, {}, pipe, both)
        text = (await process.communicate())[0].decode(errors="replace")
        del self._processes["command"]
        for line in (*text.splitlines(), f"(exit code {process.returncode})"):
            self.show(line)
        missing = [part for part in shows if part not in text]
        if process.returncode != code or missing:
            raise DemoError(f"the exit code should be {int(code)}, and the output lacks {missing}")

    async def require_in_sync(self, revision: int, capacity: int) -> StatusSnapshot:
        """Wait until every Node runs what it should, show it, and check the revision and the capacity of gpu-a."""
        async with AdminClient(self.admin) as client:
            while any(not node.in_sync for node in (await client.status()).nodes):
                await self._clock.sleep(_POLL_SECONDS)
            status = await client.status()
        for node in status.nodes:
            self.show(f"{node.node_id:6} runs revision {node.revision}, pushed as generation {node.generation}")
        found = {str(provider.provider_id): provider.capacity for provider in status.providers}
        if (status.revision, found["gpu-a-qwen"]) != (revision, capacity):
            raise DemoError(f"the Edge runs revision {status.revision} with these capacities: {found}")
        return status

    async def stop(self) -> dict[str, int]:
        """End every process, the last started first, and return their exit codes."""
        codes = {}
        while self._processes:
            name, process = self._processes.popitem()
            if process.returncode is None:
                process.terminate()
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    codes[name] = await process.wait()
            except TimeoutError:
                process.kill()
                codes[name] = await process.wait()
        return codes

    async def _spawn(
        self, arguments: tuple[str, ...], environ: Mapping[str, str], out: int, err: int | IO[bytes]
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "iop_edge", *arguments),
            cwd=self.directory,
            env={**self._environ, **environ},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )


def make_directory() -> tempfile.TemporaryDirectory[str]:
    """Make a temporary directory whose path leaves room for the name of a socket."""
    usual = Path(tempfile.gettempdir(), "iop-edge-demo-12345678", SOCKET)
    place = None if len(str(usual).encode()) <= MAX_UNIX_PATH else "/tmp"  # noqa: S108 - a short name
    return tempfile.TemporaryDirectory(prefix="iop-edge-demo-", dir=place)


def _overlay(admin: str, addresses: Mapping[str, str], tokens: Mapping[str, str]) -> dict[str, Any]:
    """Return the private overlay: the Nodes' addresses and tokens, random credentials, and no fixed port."""
    nodes: dict[str, Any] = {node: {"id": node, "address": addresses[node], "token": tokens[node]} for node in NODES}
    credential = {"headers": {"Authorization": f"Bearer {secrets.token_urlsafe(24)}"}}
    nodes["relay"]["adapters"] = [{"name": "cloud", **credential}]
    nodes["relay"]["providers"] = [{"id": "cloud-claude", **credential}]
    return {
        "listen": {"grpc": None, "admin": admin},
        "logging": {"format": "text"},
        **{server: {"enabled": False} for server in ("bootstrap", "metrics", "console", "a2a")},
        "openai": {"enabled": False, "provider_auth": {"providers": ["cloud-claude"]}},
        "nodes": list(nodes.values()),
    }
