"""What would happen to a new request, for people."""

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from iop_edge.cli.console import Paint, Style
from iop_edge.cli.render.text import NO_NUMBER, Cell, printable, shortened, table
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.explain import Candidate, DispatchExplanation
from iop_edge.pool.status import ProviderState

_HEADER: Final = (
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
_REFUSALS: Final = {
    RefusalReason.NO_PROVIDER: "every provider is disabled, unreachable or unhealthy",
    RefusalReason.QUEUE_FULL: "every provider is busy, and its queue is full",
    RefusalReason.CLOSED: "the Edge is stopping",
}
_NO_LIMIT: Final = "none"


def explanation_text(explanation: DispatchExplanation, style: Style) -> str:
    """Return what would happen to a request, and the state of each provider."""
    return "\n".join(_lines(explanation, style))


def unknown_text(explanation: DispatchExplanation) -> str:
    """Return that the model names nothing, with a similar name and the known ones."""
    known = (*explanation.known_models, *explanation.known_routes)
    close = difflib.get_close_matches(explanation.model, known, n=1)
    parts = [f"there is no model group or route {printable(explanation.model)!r}"]
    parts += [f"did you mean {printable(close[0])}?"] if close else []
    parts += [
        f"{kind}: {_names(names)}"
        for kind, names in (("models", explanation.known_models), ("routes", explanation.known_routes))
        if names
    ]
    return "; ".join(parts if known else [*parts, "the config has none"])


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(shortened(printable(name), _MAX_NAME) for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _lines(explanation: DispatchExplanation, style: Style) -> Iterator[str]:
    name = style.paint(printable(explanation.model), Paint.PLACE)
    yield f"{explanation.kind} {name}: {_verdict(explanation, style)}"
    if explanation.candidates:
        yield ""
        yield from table(_HEADER, [_candidate(item) for item in explanation.candidates], style)
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
    return _REFUSALS.get(reason, reason.value)


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
