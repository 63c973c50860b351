"""Runs a Node as a server."""

from collections.abc import Callable, Sequence

from iop_edge.ids import NodeId
from iop_edge.net import Address, Tls


async def run_node(
    node_id: NodeId,
    address: str,
    tokens: Sequence[str],
    tls: Tls | None = None,
    ready: Callable[[Address], None] | None = None,
) -> None:
    """Serve as a Node until cancelled, then let running calls end and leave nothing behind (PAY-02).

    Args:
        node_id: the Node's id.
        address: where it listens; with port 0 the system chooses one. A unix socket gets mode 0600.
        tokens: what an Edge may show, one or, during a rotation, two.
        tls: the Node's certificate, and with `ca` the authority of the Edge's. None: plain text.
        ready: called with the real address once the Node listens.

    Raises:
        EdgeError: the address cannot be listened on, or the TLS texts cannot be used.
    """
    raise NotImplementedError
