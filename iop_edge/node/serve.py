"""Runs a Node as a server."""

import asyncio
from collections.abc import Callable
from typing import Final

from iop_edge.errors import EdgeError
from iop_edge.ids import NodeId
from iop_edge.net import Address, AddressError, parse_address
from iop_edge.node.node import Node
from iop_edge.transport.renewal import RenewingServerContext, TlsSource
from iop_edge.transport.server import BoundedServer, Tokens
from iop_edge.transport.tokens import RotatedTokens

DRAIN_SECONDS: Final = 5.0
"""How long calls may run on when the Node is told to stop."""


async def run_node(
    node_id: NodeId,
    address: str,
    tokens: Tokens,
    tls: TlsSource | None = None,
    ready: Callable[[Address], None] | None = None,
) -> None:
    """Serve as a Node until cancelled, then let running calls end and leave nothing behind (PAY-02).

    Args:
        node_id: the Node's id.
        address: where it listens; with port 0 the system chooses one. A unix socket gets mode 0600.
        tokens: what an Edge may show, one or, during a rotation, two; `RotatedTokens` are asked anew at each call.
        tls: the Node's certificate, and with `ca` the authority of the Edge's; asked anew at each handshake. None:
            plain text.
        ready: called with the real address once the Node listens.

    Raises:
        EdgeError: there is no token, the address cannot be listened on, or the TLS texts cannot be used.
    """
    if not (isinstance(tokens, RotatedTokens) or (tokens and all(tokens))):
        raise EdgeError("a Node needs a token")
    try:
        wanted = parse_address(address)
    except AddressError as error:
        raise EdgeError(f"the address of the Node: {error}") from None
    context = RenewingServerContext(tls) if tls else None
    node = Node(node_id)
    server = BoundedServer([node], tokens=tokens)
    listening = await server.start(wanted, context)
    try:
        if ready is not None:
            ready(listening)
        await asyncio.Event().wait()
    finally:
        await node.close()
        await server.drain(DRAIN_SECONDS)
