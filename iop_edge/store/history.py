"""The history of an Edge: what a store keeps, and a store that ends with the process."""

import secrets
import threading
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from iop_edge.errors import EdgeError
from iop_edge.refresh.result import Attempt

KEY_BYTES: Final = 32
DEFAULT_LIMIT: Final = 100
"""How many attempts a history lists by default."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How many attempts and configs a history keeps. It keeps the newest ones, and so always the one applied last."""

    attempts: int = 10_000
    configs: int = 100

    def __post_init__(self) -> None:
        if min(self.attempts, self.configs) < 1:
            raise ValueError("a history keeps at least one attempt and one config")


DEFAULT_RETENTION: Final = Retention()


@dataclass(frozen=True, slots=True)
class Applied:
    """A config that was applied. `text` is its normalized form without any raw secret (REF-11).

    `is_confirmed` is false while it awaits confirmation.
    """

    revision: int
    config_hash: str
    text: str = field(repr=False)
    is_confirmed: bool = True


class Store(Protocol):
    """The history of one Edge. Calls block; several threads may call at once."""

    def key(self) -> bytes:
        """Return the key for sensitive values in config hashes. It never changes."""

    def newest(self) -> Applied | None:
        """Return the config that was applied last."""

    def newest_confirmed(self) -> Applied | None:
        """Return the config that was applied last among those that do not await confirmation."""

    def confirm(self, revision: int) -> None:
        """Mark a revision as confirmed.

        Raises:
            EdgeError: the store cannot be written.
        """

    def applied(self, revision: int) -> Applied | None:
        """Return the config of a revision, or None if there is none."""

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        """Keep an attempt and the config that it applied, both or neither, and drop what exceeds the retention.

        Returns:
            the attempt with its number.

        Raises:
            EdgeError: the store cannot be written, or already has the revision.
        """

    def history(self, limit: int = DEFAULT_LIMIT) -> tuple[Attempt, ...]:
        """Return the attempts, the newest first."""

    def close(self) -> None:
        """Release what the store holds. It may be closed twice."""


class MemoryStore:
    """A `Store` in memory: for an Edge inside another program, and for tests."""

    def __init__(self, retention: Retention = DEFAULT_RETENTION) -> None:
        self._retention = retention
        self._count = 0
        self._key = secrets.token_bytes(KEY_BYTES)
        self._lock = threading.Lock()
        self._attempts: list[Attempt] = []
        self._applied: dict[int, Applied] = {}

    def key(self) -> bytes:
        """Return the key, which was made with the store."""
        return self._key

    def newest(self) -> Applied | None:
        """Return the config that was applied last."""
        with self._lock:
            return self._applied[max(self._applied)] if self._applied else None

    def newest_confirmed(self) -> Applied | None:
        """Return the config that was applied last among those that do not await confirmation."""
        with self._lock:
            return self._applied.get(self._confirmed())

    def confirm(self, revision: int) -> None:
        """Mark a revision as confirmed."""
        with self._lock:
            if revision in self._applied:
                self._applied[revision] = replace(self._applied[revision], is_confirmed=True)

    def applied(self, revision: int) -> Applied | None:
        """Return the config of a revision, or None if there is none."""
        with self._lock:
            return self._applied.get(revision)

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        """Keep an attempt and the config that it applied.

        Raises:
            EdgeError: the store already has the revision.
        """
        with self._lock:
            if applied is not None:
                if applied.revision in self._applied:
                    raise EdgeError(f"the history already has revision {applied.revision}")
                self._applied[applied.revision] = applied
            self._count += 1
            numbered = replace(attempt, id=self._count)
            self._attempts.append(numbered)
            del self._attempts[: -self._retention.attempts]
            for revision in sorted(self._applied)[: -self._retention.configs]:
                if revision != self._confirmed():
                    del self._applied[revision]
            return numbered

    def history(self, limit: int = DEFAULT_LIMIT) -> tuple[Attempt, ...]:
        """Return the attempts, the newest first."""
        with self._lock:
            return tuple(self._attempts[::-1][: max(limit, 0)])

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _confirmed(self) -> int:
        return max((revision for revision, applied in self._applied.items() if applied.is_confirmed), default=0)
