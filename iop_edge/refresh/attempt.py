"""What is asked of an Edge, and what it remembers of it."""

from dataclasses import dataclass
from enum import StrEnum

from iop_edge.refresh.result import Status


class Trigger(StrEnum):
    """What made an Edge look at a candidate."""

    START = "start"
    REFRESH = "refresh"
    RELOAD = "reload"
    WATCH = "watch"
    ROLLBACK = "rollback"
    REVERT = "revert"


@dataclass(frozen=True, slots=True)
class Options:
    """How a refresh is carried out.

    `expected_revision` and `expected_candidate` (a hash) make a refresh apply exactly what was shown before, or
    nothing; `live_only` applies the live part of a candidate that needs a restart; with `require_all` a Node that
    cannot be reached rejects the candidate. What was applied is reverted after `confirm_within_ms` milliseconds, unless
    it is confirmed; 0: it stays.
    """

    expected_revision: int | None = None
    expected_candidate: str = ""
    live_only: bool = False
    require_all: bool = False
    confirm_within_ms: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to change the config, as history keeps it: paths, never values (CFG-08).

    `rules` are those that the candidate broke.
    `id` numbers the attempts of a store; it is 0 until the store has given one.
    """

    at_ms: int
    actor: str
    trigger: Trigger
    status: Status
    committed: bool
    revision_before: int
    revision_after: int
    base_hash: str
    candidate_hash: str
    paths: tuple[str, ...]
    rules: tuple[str, ...] = ()
    id: int = 0
