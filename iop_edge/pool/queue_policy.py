"""How many requests may wait for a provider, and how long (POL-03)."""

from dataclasses import dataclass
from typing import Final

from iop_edge.schema.values import ReadTree, plain


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """The most requests that wait at once, and the longest that one waits, in seconds; None: as long as its caller."""

    limit: int
    timeout: float | None


_UNSET_LIMIT: Final = 100
NOT_CONFIGURED: Final = QueuePolicy(limit=_UNSET_LIMIT, timeout=30.0)
"""The policy where neither a provider nor its adapter instance says anything."""


def policy_of(provider: ReadTree, instance: ReadTree) -> QueuePolicy:
    """Return a provider's policy: each field is its own, else that of its adapter instance."""
    limit = _first("max_queue", provider, instance)
    timeout_ms = _first("queue_timeout_ms", provider, instance)
    if limit is None and timeout_ms is None:
        return NOT_CONFIGURED
    return QueuePolicy(
        limit=_UNSET_LIMIT if limit is None else limit,
        timeout=timeout_ms / 1000 if timeout_ms else None,
    )


def _first(name: str, *trees: ReadTree) -> int | None:
    return next((plain(tree[name]) for tree in trees if name in tree), None)
