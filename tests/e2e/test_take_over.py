"""Two Edges and one Node: who has it, and how it changes hands."""

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from subprocess import Popen

import pytest

from iop_edge.client.admin import AdminClient
from iop_edge.client.status import NodeStatus
from iop_edge.pool.status import NodeConnection
from tests.e2e.processes import running, said, stop
from tests.support import run

TOKEN = "n0de-t0ken"


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def edge(directory: Path, edge_id: str, *options: str) -> AbstractContextManager[Popen[str]]:
    text = f'edge: {{id: {edge_id}}}\nnodes: [{{id: n, address: "unix:{directory}/node.sock", token: {TOKEN}}}]\n'
    private = directory / f"{edge_id}.yaml"
    private.write_text(text, encoding="utf-8")
    (directory / "edge.yaml").write_text("edge: {}\n", encoding="utf-8")
    state = ("--state-dir", f"{directory}/{edge_id}", "--admin", f"unix:{directory}/{edge_id}.sock")
    return running("serve", "edge.yaml", "--private", private.name, *state, *options, cwd=directory)


async def node_of(directory: Path, edge_id: str, *wanted: NodeConnection) -> NodeStatus:
    """Ask an Edge until its Node is as wanted."""
    async with AdminClient(f"unix:{directory}/{edge_id}.sock") as client:
        while True:
            (found,) = (await client.status()).nodes
            if found.connection in wanted:
                return found


@pytest.mark.contract("PSH-02")
def test_a_node_of_another_edge_is_taken_over_on_purpose_alone(directory: Path) -> None:
    node = ("node", "run", "--id", "n", "--listen", f"unix:{directory}/node.sock")
    with running(*node, environ={"IOP_NODE_TOKEN": TOKEN}) as machine:
        said(machine, "")
        with edge(directory, "old") as old:
            said(old, "iop-edge: ready")
            run(node_of(directory, "old", NodeConnection.CONNECTED))

            with edge(directory, "new") as shy:
                said(shy, "iop-edge: ready")
                refused = run(node_of(directory, "new", NodeConnection.REFUSED))
                assert "belongs to Edge old" in refused.last_error
                assert run(node_of(directory, "old", NodeConnection.CONNECTED)).in_sync
                assert stop(shy) == 0

            with edge(directory, "new", "--take-over") as bold:
                said(bold, "iop-edge: ready")
                assert run(node_of(directory, "new", NodeConnection.CONNECTED)).generation > 0
                lost = run(node_of(directory, "old", NodeConnection.REFUSED))
                assert "taken this Node over" in lost.last_error
                assert stop(bold) == 0
