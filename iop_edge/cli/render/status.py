"""The state of an Edge, and what it would do with a new request, for people."""

from collections.abc import Iterator, Sequence
from typing import Final

from iop_edge.cli.console import Paint, Style
from iop_edge.cli.render.result import change_lines, utc
from iop_edge.cli.render.text import NO_NUMBER, Cell, counted, did_you_mean, printable, shortened, table
from iop_edge.client.status import NodeStatus, StatusSnapshot
from iop_edge.pool.errors import RefusalReason, refusal_text
from iop_edge.pool.explain import Candidate, DispatchExplanation
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
_CANDIDATE_HEADER: Final = (
    "PROVIDER",
    "NODE",
    "TARGET",
    "STATE",
    "HEALTH",
    "IN FLIGHT",
    "CAPACITY",
    "PRIORITY",
    "QUEUED",
    "MAX QUEUE",
    "TIMEOUT",
    "TURN",
    "WHY",
)
_STATE_PAINT: Final = {
    ProviderState.AVAILABLE: Paint.GOOD,
    ProviderState.BUSY: Paint.CAUTION,
    ProviderState.DISABLED: Paint.FAINT,
}
_MAX_NAMES: Final = 20
_MAX_NAME: Final = 80
_NO_LIMIT: Final = "none"


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


def explanation_text(explanation: DispatchExplanation, style: Style) -> str:
    """Return what would happen to a request, and the state of each provider."""
    return "\n".join(_explanation_lines(explanation, style))


def unknown_text(explanation: DispatchExplanation) -> str:
    """Return that the model names nothing, with a similar name and the known ones."""
    known = (*explanation.known_models, *explanation.known_routes)
    parts = [
        f"there is no model group or route {printable(explanation.model)!r}",
        did_you_mean(explanation.model, known),
        f"models: {_names(explanation.known_models)}" if explanation.known_models else "",
        f"routes: {_names(explanation.known_routes)}" if explanation.known_routes else "",
        "" if known else "the config has none",
    ]
    return "; ".join(filter(None, parts))


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(shortened(printable(name), _MAX_NAME) for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _explanation_lines(explanation: DispatchExplanation, style: Style) -> Iterator[str]:
    name = style.paint(printable(explanation.model), Paint.PLACE)
    yield f"{explanation.kind} {name}: {_verdict(explanation, style)}"
    if explanation.candidates:
        yield ""
        yield from table(_CANDIDATE_HEADER, [_candidate(item) for item in explanation.candidates], style)
        yield ""
        yield "Order: fewest requests in flight, then lowest priority number, then round robin."


def _verdict(explanation: DispatchExplanation, style: Style) -> str:
    if explanation.chosen is not None:
        return f"a new request goes to {style.paint(printable(explanation.chosen), Paint.GOOD)}"
    if explanation.queues:
        queues = style.paint(", ".join(map(printable, explanation.queues)), Paint.CAUTION)
        return f"no provider is free; a new request waits for {queues}"
    return f"{style.paint('a new request is refused', Paint.BAD)}: {_why_refused(explanation)}"


def _why_refused(explanation: DispatchExplanation) -> str:
    reason = explanation.refusal or RefusalReason.NO_PROVIDER
    if reason is RefusalReason.NO_PROVIDER and not explanation.candidates:
        return "no provider serves it"
    return refusal_text(reason)


def _candidate(candidate: Candidate) -> tuple[Cell, ...]:
    timeout = candidate.queue_timeout_ms
    return (
        candidate.provider_id,
        candidate.node_id,
        candidate.target,
        (str(candidate.status), _STATE_PAINT.get(candidate.status, Paint.BAD)),
        str(candidate.health),
        str(candidate.in_flight),
        str(candidate.capacity),
        str(candidate.priority),
        str(candidate.queued),
        str(candidate.max_queue),
        _NO_LIMIT if timeout is None else f"{timeout / 1000:g}s",
        NO_NUMBER if candidate.rank is None else str(candidate.rank),
        candidate.reason,
    )
