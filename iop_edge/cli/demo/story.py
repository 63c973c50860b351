"""What the demonstration shows, step by step. A step that turns out otherwise ends it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from iop_edge.cli.demo.files import (
    CONFIG,
    NODES,
    PRIVATE,
    SOCKET,
    Edit,
    make_directory,
    make_tokens,
    write_config,
    write_overlay,
)
from iop_edge.cli.demo.processes import START_SECONDS, DemoError, Processes
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.client.admin import AdminClient
from iop_edge.client.status import NodeConnection, StatusSnapshot

Tell = Callable[[str], None]

_POLL_SECONDS: Final = 0.05

_MORE_CAPACITY: Final = Edit("        capacity: 4", "        capacity: 8")
_MORE_CONCURRENCY: Final = Edit("      concurrency: 8", "      concurrency: 12")
_LESS_CAPACITY: Final = Edit("        capacity: 4", "        capacity: 2")
_OTHER_PROTOCOL: Final = Edit("        protocol_profile: openai_chat", "        protocol_profile: openai_responses")
_NO_CAPACITY: Final = Edit("        capacity: 4", "        capacity: 0")
_MISSPELT: Final = Edit("      concurrency: 8", "      concurency: 8")
_MISTAKES: Final = ("2 violations", "did you mean concurrency?", "[field.unknown]", "[value.gte]")

_CAPACITY: Final = "nodes[gpu-a].providers[gpu-a-qwen].capacity"
_CONCURRENCY: Final = "nodes[gpu-a].runtime.concurrency"
_PROTOCOL: Final = "nodes[gpu-b].adapters[vllm-0].protocol_profile"


async def tell_story(tell: Tell, environ: Mapping[str, str]) -> None:
    """Run the demonstration.

    Raises:
        EdgeError: a step did not do what it was to show.
    """
    with make_directory() as name:
        directory = Path(name)
        admin = f"unix:{directory / SOCKET}"
        async with Processes(directory, {**_inherited(environ), "IOP_EDGE_ADMIN": admin}) as processes:
            await _Story(tell, directory, processes, admin).tell_all()


def _inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the settings of this command, which would change the story."""
    return {name: value for name, value in environ.items() if not name.startswith("IOP_")}


class _Story:
    def __init__(self, tell: Tell, directory: Path, processes: Processes, admin: str) -> None:
        self._tell = tell
        self._directory = directory
        self._processes = processes
        self._admin = admin

    async def tell_all(self) -> None:
        self._tell("One Edge and three Nodes on this machine, with the example config that comes with iop-edge.")
        await self._start_nodes()
        await self._start_edge()
        await self._dry_run_live_change()
        await self._apply_live_change()
        await self._dry_run_restart()
        await self._refuse_candidate()
        await self._show_status()
        await self._stop()

    async def _start_nodes(self) -> None:
        self._step("Three Nodes start. Each knows its id, an address and its token, and nothing else.")
        tokens = make_tokens()
        nodes = {
            node: await self._processes.start(
                node, "node", "run", "--id", node, "--listen", "127.0.0.1:0", IOP_NODE_TOKEN=tokens[node]
            )
            for node in NODES
        }
        addresses = {}
        for node, process in nodes.items():
            addresses[node] = await process.said(f"node {node} listens on ")
            self._show(f"{node:6} listens on {addresses[node]}")
        write_config(self._directory, CONFIG)
        write_overlay(self._directory, addresses, tokens)

    async def _start_edge(self) -> None:
        self._step("The Edge starts, dials each Node and pushes to it what it has to run. The Nodes acknowledge.")
        arguments = ("serve", CONFIG, "--private", PRIVATE, "--state-dir", "state")
        self._show(f"$ iop-edge {' '.join(arguments)}")
        edge = await self._processes.start("the Edge", *arguments)
        await edge.said("iop-edge: ready")
        status = await self._in_sync(revision=1)
        self._show_nodes(status)

    async def _dry_run_live_change(self) -> None:
        self._step(f"Somebody edits {CONFIG}: more room on gpu-a. What would it cost? Nothing: it is live.")
        write_config(self._directory, CONFIG, _MORE_CAPACITY, _MORE_CONCURRENCY)
        await self._refresh((), ExitCode.FINE, "applied (dry run)", f"{_CAPACITY}: 4 -> 8", f"{_CONCURRENCY}: 8 -> 12")
        await self._in_sync(revision=1)

    async def _apply_live_change(self) -> None:
        self._step("So it is applied. Only gpu-a gets a push: nothing that the others run has changed.")
        changes = (f"{_CAPACITY}: 4 -> 8", f"{_CONCURRENCY}: 8 -> 12")
        await self._refresh(("--mode", "apply"), ExitCode.FINE, "revision 1 -> 2", *changes, "committed")
        status = await self._in_sync(revision=2)
        self._show_nodes(status)
        pushed = [node.node_id for node in status.nodes if node.generation > 1]
        if pushed != ["gpu-a"]:
            raise DemoError(f"not gpu-a alone got a push, but {pushed}")
        self._expect_capacity(status, 8)

    async def _dry_run_restart(self) -> None:
        self._step("Another candidate changes the protocol of an adapter. That needs a restart, so nothing is applied.")
        write_config(self._directory, "restart.yaml", _LESS_CAPACITY, _MORE_CONCURRENCY, _OTHER_PROTOCOL)
        arguments = ("restart.yaml", "--private", PRIVATE)
        changes = (f"{_CAPACITY}: 8 -> 2", f'{_PROTOCOL}: "openai_chat" -> "openai_responses"')
        await self._refresh(arguments, ExitCode.RESTART_REQUIRED, "restart required (dry run)", *changes)
        await self._in_sync(revision=2)

    async def _refuse_candidate(self) -> None:
        self._step("A candidate with two mistakes is rejected, even when asked to apply it, and both are named.")
        write_config(self._directory, "wrong.yaml", _NO_CAPACITY, _MISSPELT)
        arguments = ("wrong.yaml", "--private", PRIVATE, "--mode", "apply")
        await self._refresh(arguments, ExitCode.REJECTED, "rejected", *_MISTAKES)
        self._expect_capacity(await self._in_sync(revision=2), 8)

    async def _show_status(self) -> None:
        self._step("This is what runs now.")
        await self._command(("status",), ExitCode.FINE, "revision 2", *NODES, "gpu-a-qwen", "cloud-claude", "disabled")

    async def _stop(self) -> None:
        self._step("Everything stops.")
        codes = await self._processes.stop_all()
        failed = {name: code for name, code in codes.items() if code != ExitCode.FINE}
        if failed:
            raise DemoError(f"not all processes stopped cleanly: {failed}")
        self._show(f"{len(codes)} processes ended with exit code 0")

    async def _refresh(self, arguments: Sequence[str], code: ExitCode, *expected: str) -> None:
        await self._command(("config", "refresh", *arguments), code, *expected)

    async def _command(self, arguments: Sequence[str], code: ExitCode, *expected: str) -> None:
        """Run a command, show what it says, and check that this is what the story promises."""
        self._show(f"$ iop-edge {' '.join(arguments)}")
        output = await self._processes.run(*arguments)
        for line in output.text.splitlines():
            self._show(line)
        if output.exit_code != code:
            raise DemoError(f"the exit code is {output.exit_code}, and not {int(code)}")
        missing = [text for text in expected if text not in output.text]
        if missing:
            raise DemoError(f"the output lacks {missing}")
        self._show(f"(exit code {output.exit_code})")

    async def _in_sync(self, revision: int) -> StatusSnapshot:
        """Wait until every Node is connected and runs what it should, and return the Edge's state.

        Raises:
            DemoError: that does not come about, or the Edge runs another revision.
        """
        try:
            async with asyncio.timeout(START_SECONDS), AdminClient(self._admin) as client:
                while not _is_in_sync(status := await client.status()):
                    self._processes.ensure_running()
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise DemoError("not every Node came to run what it should") from None
        if status.revision != revision:
            raise DemoError(f"the Edge runs revision {status.revision}, and not {revision}")
        return status

    def _show_nodes(self, status: StatusSnapshot) -> None:
        for node in status.nodes:
            self._show(f"{node.node_id:6} runs revision {node.revision}, pushed as generation {node.generation}")

    def _expect_capacity(self, status: StatusSnapshot, capacity: int) -> None:
        shown = {str(provider.provider_id): provider.capacity for provider in status.providers}
        if shown.get("gpu-a-qwen") != capacity:
            raise DemoError(f"gpu-a-qwen has not capacity {capacity}: {shown}")

    def _step(self, text: str) -> None:
        self._tell(f"\n{text}")

    def _show(self, line: str) -> None:
        self._tell(f"    {line}" if line else "\n")


def _is_in_sync(status: StatusSnapshot) -> bool:
    nodes = {str(node.node_id) for node in status.nodes if node.connection is NodeConnection.CONNECTED and node.in_sync}
    return nodes == set(NODES)
