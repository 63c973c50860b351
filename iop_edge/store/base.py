"""What an Edge asks of the place that its history is kept in."""

from dataclasses import dataclass, field
from typing import Final, Protocol

from iop_edge.refresh.result import Attempt

KEY_BYTES: Final = 32
DEFAULT_LIMIT: Final = 100
"""How many attempts a history lists when nobody says."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of the past a history keeps: the newest, and so always the config that was applied last."""

    attempts: int = 10_000
    configs: int = 100

    def __post_init__(self) -> None:
        if min(self.attempts, self.configs) < 1:
            raise ValueError("a history keeps one attempt and one config at least")


DEFAULT_RETENTION: Final = Retention()


@dataclass(frozen=True, slots=True)
class Applied:
    """A config that was applied. `text` is its normalized form without any raw secret (REF-11).

    `is_confirmed` is false while it is to be reverted unless somebody confirms it.
    """

    revision: int
    config_hash: str
    text: str = field(repr=False)
    is_confirmed: bool = True


class Store(Protocol):
    """The history of one Edge. Calls block; several threads may call at once."""

    def key(self) -> bytes:
        """Return the key that sensitive values enter a config hash with: the same for the life of the store."""

    def newest(self) -> Applied | None:
        """Return the config that was applied last."""

    def newest_confirmed(self) -> Applied | None:
        """Return the config that was applied last of those that nobody still has to confirm."""

    def confirm(self, revision: int) -> None:
        """Note that a revision is confirmed.

        Raises:
            EdgeError: the store cannot be written.
        """

    def applied(self, revision: int) -> Applied | None:
        """Return the config of a revision, or None where there is none."""

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        """Keep an attempt, and the config that it applied, both or neither; return the attempt with its number.

        What is older than the retention of the store goes with it.

        Raises:
            EdgeError: the store cannot be written, or has the revision already.
        """

    def history(self, limit: int = DEFAULT_LIMIT) -> tuple[Attempt, ...]:
        """Return the attempts, the newest first."""

    def close(self) -> None:
        """Let go of what the store holds. Closing twice is fine."""
