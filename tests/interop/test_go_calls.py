"""The services against grpc-go, each side as client and as server."""

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from iop_edge.agent.serve import run_node
from iop_edge.daemon.admin import AdminService
from iop_edge.daemon.edge import Edge
from iop_edge.ids import NodeId
from iop_edge.load.pipeline import load_sources
from iop_edge.load.snapshot import Snapshot
from iop_edge.load.source import Source
from iop_edge.net import Address, parse_address
from iop_edge.payload.build import node_payload
from iop_edge.refresh.result import RefreshResult
from iop_edge.transport.server import BoundedServer
from tests.support import run

pytestmark = pytest.mark.go

TOKEN = "made-up-token"

CONFIG = """\
edge: {{id: edge-1}}
models:
  - {{id: qwen, providers: {{p-1: qwen-30b}}}}
nodes:
  - id: gpu-a
    address: "{address}"
    token: {token}
    runtime: {{concurrency: {concurrency}}}
    adapters: [{{name: main, type: ollama, base_url: "http://127.0.0.1:11434", headers: {{X-Tenant: a}}}}]
    providers:
      - {{id: p-1, type: ollama, category: local_inference, adapter: main, models: [qwen-30b], capacity: 1}}
"""

ANY_ADDRESS = "127.0.0.1:7501"

NODE_ADAPTERS = [
    {
        "name": "main",
        "ollama": {
            "base_url": "http://127.0.0.1:11434",
            "headers": {"X-Tenant": "a"},
            "protocol_profile": "PROTOCOL_PROFILE_OLLAMA_NATIVE",
        },
    }
]


def snapshot(address: str = ANY_ADDRESS, concurrency: int = 4) -> Snapshot:
    text = CONFIG.format(address=address, token=TOKEN, concurrency=concurrency)
    return load_sources([Source("edge.yaml", text.encode(), private=True)], None)


async def lines_of(program: Path, *arguments: str, given: bytes = b"") -> list[Any]:
    """Run a Go program to its end; return what it wrote, a message a line."""
    process = await asyncio.create_subprocess_exec(program, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    out, errors = await process.communicate(given)
    assert process.returncode == 0, errors.decode()
    return [json.loads(line) for line in out.splitlines()]


@asynccontextmanager
async def python_node() -> AsyncIterator[Address]:
    listening: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    node = asyncio.create_task(run_node(NodeId("gpu-a"), "127.0.0.1:0", [TOKEN], ready=listening.set_result))
    node.add_done_callback(lambda _: listening.done() or listening.cancel())
    try:
        yield await listening
    finally:
        node.cancel()
        await asyncio.wait([node])


@asynccontextmanager
async def python_edge() -> AsyncIterator[Address]:
    service = AdminService(())
    server = BoundedServer([service])
    async with Edge.start(snapshot()) as edge:
        service.attach(edge)
        address = await server.start(parse_address("127.0.0.1:0"))
        try:
            yield address
        finally:
            await server.drain(1)


@asynccontextmanager
async def go_node(program: Path, token: str) -> AsyncIterator[tuple[str, asyncio.StreamReader]]:
    process = await asyncio.create_subprocess_exec(program, "node", "gpu-a", token, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip(), process.stdout
    finally:
        process.stdin.close()
        await process.wait()


@pytest.mark.contract("PSH-01", "PSH-02")
def test_go_edge_pushes_to_a_python_node(go_programs: Path) -> None:
    async def scenario() -> list[Any]:
        async with python_node() as address:
            payload = bytes(node_payload(snapshot(), "gpu-a"))
            return await lines_of(go_programs / "calls", "edge", str(address), TOKEN, given=payload)

    greeting, checked, committed, health, status = run(scenario())
    assert greeting["node_id"] == "gpu-a"
    assert checked["outcome"] == committed["outcome"] == "NODE_CONFIG_REFRESH_OUTCOME_COMMITTED"
    assert not checked.get("running")
    assert (committed["running"]["generation"], committed["running"]["revision"]) == ("7", "3")
    assert [item["provider_id"] for item in health["resources"]] == ["p-1"]
    assert (status["adapters"], status["resources"], status["edge_id"]) == (["main"], ["p-1"], "edge-in-go")


@pytest.mark.contract("PSH-01")
def test_go_edge_with_a_wrong_token_is_refused_by_a_python_node(go_programs: Path) -> None:
    async def scenario() -> bytes:
        async with python_node() as address:
            process = await asyncio.create_subprocess_exec(
                go_programs / "calls", "edge", str(address), "wrong", stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
            )
            return (await process.communicate())[1]

    assert b"code = Unauthenticated" in run(scenario())


@pytest.mark.contract("PSH-01")
def test_python_edge_pushes_to_a_go_node(go_programs: Path) -> None:
    async def scenario() -> tuple[list[Any], RefreshResult]:
        async with go_node(go_programs / "calls", TOKEN) as (address, out), Edge.start(snapshot(address)) as edge:
            on_connect = json.loads(await out.readline())
            result = await edge.refresh(snapshot(address, concurrency=8))
            return [on_connect, json.loads(await out.readline())], result

    taken, result = run(scenario())
    assert [payload["runtime"] for payload in taken] == [{"concurrency": 4}, {"concurrency": 8}]
    assert [payload["adapters"] for payload in taken] == [NODE_ADAPTERS, NODE_ADAPTERS]
    assert [item["provider_id"] for item in taken[0]["resources"]] == ["p-1"]
    assert [(report.node_id, report.outcome) for report in result.reports] == [("gpu-a", "committed")]


@pytest.mark.contract("REF-06")
def test_go_client_proposes_a_config_to_a_python_edge(go_programs: Path) -> None:
    async def scenario() -> list[Any]:
        candidate = CONFIG.format(address=ANY_ADDRESS, token=TOKEN, concurrency=4)
        async with python_edge() as address:
            return await lines_of(go_programs / "calls", "admin", str(address), "dry-run", given=candidate.encode())

    result, status = run(scenario())
    assert (result["status"], result["mode"]) == ("REFRESH_STATUS_REJECTED", "REFRESH_MODE_DRY_RUN")
    assert [item["rule"] for item in result["violations"]] == ["credential.tracked"]
    assert status["edge_id"] == "edge-1"
    assert [item["provider_id"] for item in status["providers"]] == ["p-1"]
