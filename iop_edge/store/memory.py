"""A history that ends with the process: for an Edge inside another program, and for tests."""

import secrets
import threading
from dataclasses import replace

from iop_edge.errors import EdgeError
from iop_edge.refresh.result import Attempt
from iop_edge.store.base import DEFAULT_LIMIT, DEFAULT_RETENTION, KEY_BYTES, Applied, Retention


class MemoryStore:
    """A `Store` in memory."""

    def __init__(self, retention: Retention = DEFAULT_RETENTION) -> None:
        self._retention = retention
        self._count = 0
        self._key = secrets.token_bytes(KEY_BYTES)
        self._lock = threading.Lock()
        self._attempts: list[Attempt] = []
        self._applied: dict[int, Applied] = {}

    def key(self) -> bytes:
        """Return the key that this store made for itself."""
        return self._key

    def newest(self) -> Applied | None:
        """Return the config that was applied last."""
        with self._lock:
            return self._applied[max(self._applied)] if self._applied else None

    def newest_confirmed(self) -> Applied | None:
        """Return the config that was applied last of those that nobody still has to confirm."""
        with self._lock:
            confirmed = self._confirmed()
            return self._applied[confirmed[-1]] if confirmed else None

    def confirm(self, revision: int) -> None:
        """Note that a revision is confirmed."""
        with self._lock:
            if revision in self._applied:
                self._applied[revision] = replace(self._applied[revision], is_confirmed=True)

    def applied(self, revision: int) -> Applied | None:
        """Return the config of a revision, or None where there is none."""
        with self._lock:
            return self._applied.get(revision)

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        """Keep an attempt, and the config that it applied.

        Raises:
            EdgeError: the store has the revision already.
        """
        with self._lock:
            if applied is not None:
                if applied.revision in self._applied:
                    raise EdgeError(f"the history has revision {applied.revision} already")
                self._applied[applied.revision] = applied
            self._count += 1
            numbered = replace(attempt, id=self._count)
            self._attempts.append(numbered)
            self._forget()
            return numbered

    def history(self, limit: int = DEFAULT_LIMIT) -> tuple[Attempt, ...]:
        """Return the attempts, the newest first."""
        with self._lock:
            return tuple(self._attempts[::-1][:limit])

    def close(self) -> None:
        """Nothing is held."""

    def _forget(self) -> None:
        del self._attempts[: -self._retention.attempts]
        kept = self._confirmed()[-1:]
        for revision in sorted(self._applied)[: -self._retention.configs]:
            if revision not in kept:
                del self._applied[revision]

    def _confirmed(self) -> list[int]:
        return sorted(revision for revision, applied in self._applied.items() if applied.is_confirmed)
