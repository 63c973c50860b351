"""A small real world in a directory: config files, and Nodes that listen on unix sockets."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.edge import Edge
from iop_edge.ids import NodeId
from iop_edge.node.node import run_node
from iop_edge.push.model import PushSettings
from iop_edge.serve.own_files import OwnFiles
from iop_edge.store.history import Store

TOKEN = "node-token-s3cr3t"
EAGER = PushSettings(backoff_base=0.001, backoff_cap=0.01)
"""A fleet that tries again at once."""


@dataclass(frozen=True)
class House:
    """A directory with an Edge's files."""

    root: Path

    @property
    def tracked(self) -> Path:
        return self.root / "edge.yaml"

    @property
    def private(self) -> Path:
        return self.root / "edge.private.yaml"

    @property
    def state_dir(self) -> Path:
        return self.root / "state"

    @property
    def admin_socket(self) -> Path:
        return self.root / "admin.sock"

    @property
    def admin(self) -> str:
        return f"unix:{self.admin_socket}"

    @property
    def files(self) -> OwnFiles:
        return OwnFiles([str(self.tracked)], [str(self.private)])

    def address(self, node: str) -> str:
        return f"unix:{self.root / node}.sock"

    def write(
        self, *nodes: str, capacity: int = 1, concurrency: int = 0, alias: str = "", key: str = "s3cr3t-key"
    ) -> None:
        """Write both files: capacity is live, concurrency live and pushed, an alias and a key need a restart."""
        self.tracked.write_text(self.config(*nodes, capacity=capacity, concurrency=concurrency, alias=alias))
        self.private.write_text(self.overlay(*nodes, key=key))

    def config(self, *nodes: str, capacity: int = 1, concurrency: int = 0, alias: str = "") -> str:
        """The text of a tracked file."""
        return (
            f"edge: {{id: edge-1}}\nlisten: {{admin: '{self.admin}'}}\nnodes:\n"
            + "".join(
                f"- id: {node}\n"
                f"  alias: '{alias}'\n"
                f"  address: '{self.address(node)}'\n"
                f"  runtime: {{concurrency: {concurrency}}}\n"
                f"  adapters:\n"
                f"  - {{name: main, type: vllm, base_url: 'http://127.0.0.1:8000/v1'}}\n"
                f"  providers:\n"
                f"  - {{id: {node}-p, type: vllm, category: local_inference, adapter: main, models: [m],"
                f" capacity: {capacity}}}\n"
                for node in nodes
            )
            + "models:\n- id: m\n  providers: ["
            + ", ".join(f"{node}-p" for node in nodes)
            + "]\n"
        )

    def overlay(self, *nodes: str, key: str = "s3cr3t-key") -> str:
        """The text of a private overlay."""
        return "nodes:\n" + "".join(
            f"- id: {node}\n"
            f"  token: {TOKEN}\n"
            f"  adapters:\n"
            f"  - {{name: main, headers: {{Authorization: Bearer {key}}}}}\n"
            for node in nodes
        )

    @asynccontextmanager
    async def node(self, name: str) -> AsyncIterator[None]:
        """A Node that runs for as long as the block does."""
        listening = asyncio.Event()
        task = asyncio.create_task(
            run_node(NodeId(name), self.address(name), [TOKEN], ready=lambda _address: listening.set())
        )
        await listening.wait()
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    @asynccontextmanager
    async def nodes(self, *names: str) -> AsyncIterator[None]:
        """Several Nodes."""
        async with AsyncExitStack() as stack:
            for name in names:
                await stack.enter_async_context(self.node(name))
            yield


@contextmanager
def made() -> Iterator[House]:
    """A house in a directory whose name is short enough for the path of a socket."""
    with tempfile.TemporaryDirectory(prefix="iop-") as root:
        yield House(Path(root))


@asynccontextmanager
async def started(house: House, store: Store | None = None) -> AsyncIterator[Edge]:
    """An Edge of a house, which has tried its Nodes."""
    files = house.files
    async with Edge.start(files.load(), store=store, files=files, settings=EAGER) as edge:
        await edge.settled()
        yield edge


def candidate(house: House, *nodes: str, **values: Any) -> Snapshot:
    """What the files of a house say when they have been written anew."""
    house.write(*nodes, **values)
    return house.files.load()
