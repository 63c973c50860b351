"""The services against grpc-go, each side as client and as server."""

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.edge.edge import Edge
from iop_edge.ids import NodeId
from iop_edge.net import Address, parse_address
from iop_edge.node.node import run_node
from iop_edge.payload import node_payload
from iop_edge.pool.errors import NoProviderError
from iop_edge.pool.status import Health
from iop_edge.push.model import PushSettings
from iop_edge.refresh.result import NodeOutcome, RefreshResult, Status
from iop_edge.serve.admin import AdminService
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

EAGER = PushSettings(backoff_base=0.001, backoff_cap=0.05)
REJECTED, REFUSED_AT_LAST = 101, 66
"""Concurrencies that a Go Node refuses, the second one only when it is to run."""

UNWELL = 13
"""A concurrency that makes all resources of a Go Node unhealthy."""

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
async def python_edge(running: Snapshot) -> AsyncIterator[Address]:
    service = AdminService(())
    server = BoundedServer([service])
    async with Edge.start(running) as edge:
        service.attach(edge)
        address = await server.start(parse_address("127.0.0.1:0"))
        try:
            yield address
        finally:
            await server.drain(1)


class GoNode:
    """A Go Node as a process."""

    def __init__(self, address: str, process: asyncio.subprocess.Process) -> None:
        self.address = address
        self.process = process

    async def taken(self) -> Any:
        """Wait for the next payload that it takes."""
        assert self.process.stdout is not None
        return json.loads(await self.process.stdout.readline())

    async def concurrency(self) -> int:
        """Wait for the next payload that it takes, and return what tells contents apart."""
        return int((await self.taken())["runtime"]["concurrency"])


@asynccontextmanager
async def go_node(programs: Path, node_id: str = "gpu-a", *address: str) -> AsyncIterator[GoNode]:
    options = ("node", node_id, TOKEN, *address)
    process = await asyncio.create_subprocess_exec(programs / "calls", *options, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield GoNode((await process.stdout.readline()).decode().strip(), process)
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
        async with go_node(go_programs) as node, Edge.start(snapshot(node.address)) as edge:
            on_connect = await node.taken()
            result = await edge.refresh(snapshot(node.address, concurrency=8))
            return [on_connect, await node.taken()], result

    taken, result = run(scenario())
    assert [payload["runtime"] for payload in taken] == [{"concurrency": 4}, {"concurrency": 8}]
    assert [payload["adapters"] for payload in taken] == [NODE_ADAPTERS, NODE_ADAPTERS]
    assert [item["provider_id"] for item in taken[0]["resources"]] == ["p-1"]
    assert [(report.node_id, report.outcome) for report in result.reports] == [("gpu-a", "committed")]


async def seen(edge: Edge, health: Health) -> str:
    """Wait until the provider has this health, and return what its Node saw."""
    while True:
        (provider,) = edge.pool.statuses()
        if provider.health is health:
            return provider.health_detail
        await asyncio.sleep(0.005)


@pytest.mark.contract("PSH-05", "POL-01")
def test_health_that_a_go_node_streams_decides_over_dispatch(go_programs: Path) -> None:
    async def scenario() -> None:
        async with go_node(go_programs) as node, Edge.start(snapshot(node.address), settings=EAGER) as edge:
            assert await seen(edge, Health.HEALTHY) == "seen from Go"
            await edge.refresh(snapshot(node.address, concurrency=UNWELL))
            assert await seen(edge, Health.UNHEALTHY) == "unwell in Go"
            with pytest.raises(NoProviderError):
                async with edge.pool.acquire("qwen"):
                    pass
            node.process.kill()
            await node.process.wait()
            async with go_node(go_programs, "gpu-a", node.address):
                await edge.refresh(snapshot(node.address, concurrency=4))
                await seen(edge, Health.HEALTHY)
                async with edge.pool.acquire("qwen") as lease:
                    assert lease.provider_id == "p-1"

    run(scenario())


@pytest.mark.contract("PSH-03", "REF-05")
def test_config_that_a_go_node_rejects_changes_nothing(go_programs: Path) -> None:
    async def scenario() -> None:
        async with go_node(go_programs) as node, Edge.start(snapshot(node.address), settings=EAGER) as edge:
            assert await node.concurrency() == 4
            result = await edge.refresh(snapshot(node.address, concurrency=REJECTED))
            assert result.status is Status.REJECTED
            assert [report.outcome for report in result.reports] == [NodeOutcome.REJECTED]
            assert "payload.runtime.concurrency is more than this Node runs" in result.reports[0].reason
            assert edge.revision == 1
            await edge.refresh(snapshot(node.address, concurrency=5))
            assert await node.concurrency() == 5

    run(scenario())


@pytest.mark.contract("PSH-01")
def test_go_node_that_restarts_with_nothing_is_pushed_to_again(go_programs: Path) -> None:
    async def scenario() -> None:
        async with go_node(go_programs) as node, Edge.start(snapshot(node.address), settings=EAGER) as edge:
            assert await node.concurrency() == 4
            await edge.refresh(snapshot(node.address, concurrency=8))
            assert await node.concurrency() == 8
            node.process.kill()
            await node.process.wait()
            async with go_node(go_programs, "gpu-a", node.address) as again:
                assert await again.concurrency() == 8

    run(scenario())


@pytest.mark.contract("REF-11")
def test_rollback_puts_a_go_node_back(go_programs: Path) -> None:
    async def scenario() -> None:
        async with go_node(go_programs) as node, Edge.start(snapshot(node.address), settings=EAGER) as edge:
            await edge.settled()
            await edge.refresh(snapshot(node.address, concurrency=8))
            result = await edge.rollback(1)
            assert (result.status, result.revision_after) == (Status.APPLIED, 3)
            assert [await node.concurrency() for _ in range(3)] == [4, 8, 4]

    run(scenario())


SECOND = """\
  - id: gpu-b
    address: "{address}"
    token: {token}
    runtime: {{concurrency: {concurrency}}}
"""


@pytest.mark.contract("PSH-03")
def test_go_node_that_has_committed_is_put_back_when_another_refuses(go_programs: Path) -> None:
    async def scenario() -> None:
        async with go_node(go_programs) as first, go_node(go_programs, "gpu-b") as second:

            def both(*concurrencies: int) -> Snapshot:
                texts = (
                    text.format(address=node.address, token=TOKEN, concurrency=concurrency)
                    for text, node, concurrency in zip((CONFIG, SECOND), (first, second), concurrencies, strict=True)
                )
                return load_sources([Source("edge.yaml", "".join(texts).encode(), private=True)], None)

            async with Edge.start(both(4, 4), settings=EAGER) as edge:
                assert await first.concurrency() == await second.concurrency() == 4
                result = await edge.refresh(both(8, REFUSED_AT_LAST))
                assert result.status is Status.REJECTED
                outcomes = {report.node_id: report.outcome for report in result.reports}
                assert outcomes == {"gpu-a": NodeOutcome.ROLLED_BACK, "gpu-b": NodeOutcome.REJECTED}
                assert [await first.concurrency() for _ in range(2)] == [8, 4]
                assert edge.revision == 1

    run(scenario())


@pytest.mark.contract("REF-06")
def test_go_client_dry_runs_and_applies_on_a_python_edge(go_programs: Path) -> None:
    before = b"edge: {id: edge-1}\n"
    candidate = before + b"long_context_threshold_tokens: 7\n"

    async def scenario() -> list[list[Any]]:
        async with python_edge(load_sources([Source("edge.yaml", before)], None)) as address:
            asked = (go_programs / "calls", "admin", str(address))
            return [await lines_of(*asked, mode, given=candidate) for mode in ("dry-run", "apply")]

    (planned, still), (applied, then) = run(scenario())
    assert (planned["status"], applied["status"]) == ("REFRESH_STATUS_APPLIED", "REFRESH_STATUS_APPLIED")
    assert ("committed" in planned, applied["committed"]) == (False, True)
    assert [change["path"] for change in planned["changes"]] == ["long_context_threshold_tokens"]
    assert planned["changes"] == applied["changes"]
    assert (still["revision"], then["revision"], applied["revision_after"]) == ("1", "2", "2")
    assert then["config_hash"] == planned["candidate_hash"]


@pytest.mark.contract("REF-06", "CFG-07")
def test_go_client_is_told_why_a_config_is_rejected(go_programs: Path) -> None:
    async def scenario() -> list[Any]:
        candidate = CONFIG.format(address=ANY_ADDRESS, token=TOKEN, concurrency=4)
        async with python_edge(snapshot()) as address:
            return await lines_of(go_programs / "calls", "admin", str(address), "dry-run", given=candidate.encode())

    result, status = run(scenario())
    assert (result["status"], result["mode"]) == ("REFRESH_STATUS_REJECTED", "REFRESH_MODE_DRY_RUN")
    assert [item["rule"] for item in result["violations"]] == ["credential.tracked"]
    assert status["edge_id"] == "edge-1"
    assert [item["provider_id"] for item in status["providers"]] == ["p-1"]


@pytest.mark.contract("POL-01", "POL-04")
def test_go_client_is_told_what_would_become_of_a_request(go_programs: Path) -> None:
    async def scenario() -> list[Any]:
        async with python_edge(snapshot()) as address:
            asked = (go_programs / "calls", "explain", str(address))
            return [(await lines_of(*asked, model))[0] for model in ("qwen", "qwen-30b")]

    known, unknown = run(scenario())
    assert (known["kind"], known["refusal"]) == ("DISPATCH_KIND_MODEL", "REFUSAL_REASON_NO_PROVIDER")
    (candidate,) = known["candidates"]
    assert (candidate["provider_id"], candidate["target"], candidate["capacity"]) == ("p-1", "qwen-30b", 1)
    assert (candidate["status"], candidate["queue_timeout_ms"]) == ("PROVIDER_STATE_UNREACHABLE", "30000")
    assert (unknown["refusal"], unknown["known_models"]) == ("REFUSAL_REASON_UNKNOWN", ["qwen"])
    assert "kind" not in unknown
