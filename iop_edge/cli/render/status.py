"""The state of an Edge, for people."""

from collections.abc import Iterator
from typing import Final

from iop_edge.cli.console import Paint, Style
from iop_edge.cli.render.result import change_lines, utc
from iop_edge.cli.render.text import Cell, counted, printable, table
from iop_edge.client.status import NodeStatus, StatusSnapshot
from iop_edge.pool.status import NodeConnection, ProviderState, ProviderStatus

_NODE_HEADER: Final = ("NODE", "ADDRESS", "STATE", "IN SYNC", "REVISION", "GENERATION", "LAST FAULT")
_PROVIDER_HEADER: Final = (
    "PROVIDER",
    "NODE",
    "STATE",
    "HEALTH",
    "IN FLIGHT",
    "CAPACITY",
    "QUEUED",
    "PRIORITY",
    "MODELS",
    "HEALTH DETAIL",
)
_STATE_PAINT: Final = {
    ProviderState.AVAILABLE: Paint.GOOD,
    ProviderState.BUSY: Paint.CAUTION,
    ProviderState.DISABLED: Paint.FAINT,
}


def status_text(status: StatusSnapshot, style: Style) -> str:
    """Return the state of an Edge."""
    return "\n".join(_lines(status, style))


def status_line(status: StatusSnapshot) -> str:
    """Return the state of an Edge on one line."""
    in_sync = sum(node.in_sync for node in status.nodes)
    parts = [f"revision {status.revision}", f"{in_sync} of {len(status.nodes)} Nodes in sync"]
    parts += [_load(provider) for provider in status.providers if provider.in_flight or provider.queued]
    parts += [f"{counted(len(status.pending), 'change')} pending"] if status.pending else []
    parts += ["awaiting confirmation"] if status.confirm_until_ms else []
    parts += ["drift"] if status.drift else []
    return ", ".join(parts)


def _load(provider: ProviderStatus) -> str:
    waiting = f" and {provider.queued} waiting" if provider.queued else ""
    return f"{provider.in_flight}{waiting} at {printable(provider.provider_id)}"


def _lines(status: StatusSnapshot, style: Style) -> Iterator[str]:
    edge = style.paint(printable(status.edge_id), Paint.PLACE)
    since = utc(status.started_at_ms)
    yield f"Edge {edge}, revision {status.revision}, config {status.config_hash[:12]}, since {since}"
    if status.drift_error:
        yield style.paint(f"drift: the Edge's own files cannot be used: {printable(status.drift_error)}", Paint.BAD)
    elif status.drift:
        yield style.paint("drift: what runs differs from the Edge's own files", Paint.CAUTION)
    if status.confirm_until_ms:
        yield style.paint(
            f"awaiting confirmation: reverts to the config of revision {status.reverts_to} at"
            f" {utc(status.confirm_until_ms)}",
            Paint.CAUTION,
        )
    if status.pending:
        yield style.paint("pending until a restart:", Paint.CAUTION)
        yield from change_lines(status.pending, style)
    yield ""
    yield from table(_NODE_HEADER, [_node(node) for node in status.nodes], style)
    yield ""
    yield from table(_PROVIDER_HEADER, [_provider(provider) for provider in status.providers], style)


def _node(node: NodeStatus) -> tuple[Cell, ...]:
    paint = Paint.GOOD if node.connection is NodeConnection.CONNECTED else Paint.BAD
    in_sync = ("yes", Paint.GOOD) if node.in_sync else ("no", Paint.CAUTION)
    return (
        node.node_id,
        node.address,
        (str(node.connection), paint),
        in_sync,
        str(node.revision),
        str(node.generation),
        node.last_error,
    )


def _provider(provider: ProviderStatus) -> tuple[Cell, ...]:
    return (
        provider.provider_id,
        provider.node_id,
        (str(provider.status), _STATE_PAINT.get(provider.status, Paint.BAD)),
        str(provider.health),
        str(provider.in_flight),
        str(provider.capacity),
        str(provider.queued),
        str(provider.priority),
        ", ".join(provider.models),
        provider.health_detail,
    )
