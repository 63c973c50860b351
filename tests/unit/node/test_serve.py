"""A Node as a server, on real sockets."""

import asyncio
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from iop_edge.errors import EdgeError
from iop_edge.net import Address, Tls, client_context
from iop_edge.node.node import run_node
from iop_edge.transport.channel import ClientChannel
from iop_edge.transport.reload import TlsSource
from iop_pb.iop.runtime.v1 import HandshakeResponse, WatchHealthResponse
from tests.pki import CA, NODE
from tests.support import run
from tests.unit.node.pushes import NODE_ID, handshake, watch

WATCH_HEALTH = "/iop.runtime.v1.NodeConfigService/WatchHealth"
HANDSHAKE = "/iop.runtime.v1.NodeConfigService/Handshake"


def always(tls: Tls | None) -> TlsSource | None:
    """Return what reads the same texts each time."""
    return (lambda: tls) if tls else None


@asynccontextmanager
async def running(
    address: str = "127.0.0.1:0", tokens: Sequence[str] = ("token",), tls: Tls | None = None
) -> AsyncIterator[Address]:
    ready: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(run_node(NODE_ID, address, tokens, always(tls), ready.set_result))
    try:
        yield await ready
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def shake_hands(address: Address, token: str = "token", tls: Tls | None = None) -> HandshakeResponse:
    channel = ClientChannel(address, tls=client_context(tls) if tls else None)
    try:
        metadata = (("authorization", f"Bearer {token}"),)
        return await channel.unary(HANDSHAKE, handshake(), HandshakeResponse, deadline=30, metadata=metadata)
    finally:
        await channel.finish()


@pytest.mark.contract("PAY-02")
@pytest.mark.parametrize("token", ["old-token", "new-token"])
def test_node_takes_either_token_during_a_rotation(token: str) -> None:
    async def scenario() -> None:
        async with running(tokens=["old-token", "new-token"]) as address:
            assert (await shake_hands(address, token)).node_id == NODE_ID

    run(scenario())


@pytest.mark.contract("PSH-01")
def test_node_refuses_another_token() -> None:
    async def scenario() -> None:
        async with running() as address:
            with pytest.raises(GRPCError) as caught:
                await shake_hands(address, "other")
            assert caught.value.status is Status.UNAUTHENTICATED

    run(scenario())


def test_node_serves_tls() -> None:
    async def scenario() -> None:
        async with running(tls=NODE) as address:
            assert (await shake_hands(address, tls=Tls(ca=CA))).node_id == NODE_ID
            with pytest.raises((StreamTerminatedError, OSError)):
                await shake_hands(address)

    run(scenario())


def test_unix_socket_is_private_and_goes_with_the_node(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"

    async def scenario() -> None:
        async with running(f"unix:{path}") as address:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert (await shake_hands(address)).node_id == NODE_ID
        assert not path.exists()

    run(scenario())


@pytest.mark.parametrize(
    ("address", "tokens", "tls"),
    [
        pytest.param("nonsense", ["token"], None, id="no address"),
        pytest.param("127.0.0.1:0", [], None, id="no token"),
        pytest.param("127.0.0.1:0", ["token", ""], None, id="an empty token"),
        pytest.param("127.0.0.1:0", ["token"], Tls(cert="no"), id="broken TLS"),
        pytest.param("unix:/nowhere/at/all.sock", ["token"], None, id="a directory that is not there"),
    ],
)
def test_node_that_cannot_serve_says_why(address: str, tokens: Sequence[str], tls: Tls | None) -> None:
    with pytest.raises(EdgeError):
        run(run_node(NODE_ID, address, tokens, always(tls)))


async def _rest(reports: AsyncIterator[WatchHealthResponse]) -> list[WatchHealthResponse]:
    return [report async for report in reports]


def test_stopped_node_ends_its_sessions_in_good_form() -> None:
    async def scenario() -> None:
        async with running() as address:
            channel = ClientChannel(address)
            metadata = (("authorization", "Bearer token"),)
            await channel.unary(HANDSHAKE, handshake(), HandshakeResponse, deadline=30, metadata=metadata)
            reports = channel.server_stream(WATCH_HEALTH, watch(), WatchHealthResponse, metadata=metadata)
            await anext(reports)
            rest = asyncio.create_task(_rest(reports))
        assert await rest == []
        await channel.finish()

    run(scenario())


def test_stopped_node_leaves_its_port_free() -> None:
    async def scenario() -> None:
        async with running() as address:
            await shake_hands(address)
        async with running(str(address)) as again:
            assert again == address

    run(scenario())
