"""A history in a directory: SQLite with a write-ahead log, consistent after a crash at any point."""

import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any, Final

from iop_edge.errors import EdgeError
from iop_edge.refresh.result import Attempt, Status, Trigger
from iop_edge.store.history import DEFAULT_LIMIT, DEFAULT_RETENTION, KEY_BYTES, Applied, Retention

FILE_NAME: Final = "history.sqlite3"

_MAX_INTEGER: Final = 2**63 - 1

_MIGRATIONS: Final = (
    """
CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE applied (
    revision INTEGER PRIMARY KEY,
    config_hash TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    trigger TEXT NOT NULL,
    status TEXT NOT NULL,
    committed INTEGER NOT NULL,
    revision_before INTEGER NOT NULL,
    revision_after INTEGER NOT NULL,
    base_hash TEXT NOT NULL,
    candidate_hash TEXT NOT NULL,
    paths TEXT NOT NULL
) STRICT;
""",
    """
ALTER TABLE attempt ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';
""",
    """
ALTER TABLE applied ADD COLUMN is_confirmed INTEGER NOT NULL DEFAULT 1;
""",
)
"""Each step makes the next version of the database schema. A released step never changes."""

_COLUMNS: Final = (
    "at_ms, actor, trigger, status, committed, revision_before, revision_after, base_hash, candidate_hash, paths, rules"
)
"""The fields of `Attempt` in their order, except its id."""


class SqliteStore:
    """A `Store` in a state directory, which becomes accessible to its owner alone.

    Writes are synchronous: what was recorded survives a crash of the process and of the machine.

    Raises:
        EdgeError: the directory or the file cannot be used, or a newer version wrote it.
    """

    def __init__(self, state_dir: Path, retention: Retention = DEFAULT_RETENTION) -> None:
        self.path = state_dir / FILE_NAME
        self._retention = retention
        self._lock = threading.Lock()
        try:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            state_dir.chmod(0o700)
            _create_private(self.path)
        except OSError as error:
            raise EdgeError(f"cannot use the state directory {state_dir}: {error.strerror}") from None
        with self._faults():
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            with self._faults():
                self._prepare()
                self._key = self._read_or_make_key()
        except EdgeError:
            self._db.close()
            raise

    def key(self) -> bytes:
        """Return the key, which was made with the file."""
        return self._key

    def newest(self) -> Applied | None:
        """Return the config that was applied last."""
        return self._one_applied("ORDER BY revision DESC LIMIT 1")

    def newest_confirmed(self) -> Applied | None:
        """Return the config that was applied last among those that do not await confirmation."""
        return self._one_applied("WHERE is_confirmed ORDER BY revision DESC LIMIT 1")

    def confirm(self, revision: int) -> None:
        """Mark a revision as confirmed.

        Raises:
            EdgeError: the file cannot be written.
        """
        with self._transaction():
            self._db.execute("UPDATE applied SET is_confirmed = 1 WHERE revision = ?", (revision,))

    def applied(self, revision: int) -> Applied | None:
        """Return the config of a revision, or None if there is none."""
        return self._one_applied("WHERE revision = ?", _storable(revision))

    def record(self, attempt: Attempt, applied: Applied | None = None) -> Attempt:
        """Keep an attempt and the config that it applied, in one transaction.

        Raises:
            EdgeError: the file cannot be written, or already has the revision.
        """
        with self._transaction():
            if applied is not None:
                self._db.execute(
                    "INSERT INTO applied (revision, config_hash, text, is_confirmed) VALUES (?, ?, ?, ?)",
                    (applied.revision, applied.config_hash, applied.text, int(applied.is_confirmed)),
                )
            row = _attempt_row(attempt)
            marks = ", ".join("?" * len(row))
            cursor = self._db.execute(f"INSERT INTO attempt ({_COLUMNS}) VALUES ({marks})", row)  # noqa: S608 - constants
            self._forget()
            return replace(attempt, id=cursor.lastrowid or 0)

    def history(self, limit: int = DEFAULT_LIMIT) -> tuple[Attempt, ...]:
        """Return the attempts, the newest first."""
        with self._lock, self._faults():
            query = f"SELECT id, {_COLUMNS} FROM attempt ORDER BY id DESC LIMIT ?"  # noqa: S608 - constants
            return tuple(_attempt_of(row) for row in self._db.execute(query, (_storable(limit),)))

    def close(self) -> None:
        """Close the file. It may be closed twice."""
        with self._lock:
            self._db.close()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version > len(_MIGRATIONS):
            raise EdgeError(f"{self.path} was written by a newer version of iop-edge (schema {version})")
        for number, step in enumerate(_MIGRATIONS[version:], version + 1):
            self._db.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {number}; COMMIT;")

    def _read_or_make_key(self) -> bytes:
        self._db.execute(
            "INSERT INTO secret (name, value) VALUES ('hash_key', ?) ON CONFLICT DO NOTHING",
            (secrets.token_bytes(KEY_BYTES),),
        )
        (key,) = self._db.execute("SELECT value FROM secret WHERE name = 'hash_key'").fetchone()
        return bytes(key)

    def _forget(self) -> None:
        self._db.execute(
            "DELETE FROM attempt WHERE id <= (SELECT id FROM attempt ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (self._retention.attempts,),
        )
        # The newest confirmed config stays, however many await confirmation: a start may need it.
        self._db.execute(
            "DELETE FROM applied WHERE"
            " revision <= (SELECT revision FROM applied ORDER BY revision DESC LIMIT 1 OFFSET ?)"
            " AND revision <> (SELECT coalesce(max(revision), 0) FROM applied WHERE is_confirmed)",
            (self._retention.configs,),
        )

    def _one_applied(self, clause: str, *values: int) -> Applied | None:
        with self._lock, self._faults():
            query = f"SELECT revision, config_hash, text, is_confirmed FROM applied {clause}"  # noqa: S608 - the callers' constants
            row = self._db.execute(query, values).fetchone()
        if row is None:
            return None
        revision, config_hash, text, is_confirmed = row
        return Applied(revision, config_hash, text, bool(is_confirmed))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, self._faults():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # SQLite itself ends the transaction on some faults, such as a full disk.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise EdgeError(f"the history {self.path} cannot be used: {error}") from None


def _storable(number: int) -> int:
    """Return the nearest number that SQLite can compare with; it has no negative ones here."""
    return min(max(number, 0), _MAX_INTEGER)


def _create_private(path: Path) -> None:
    # The files that SQLite keeps beside its database inherit the mode of the database.
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _attempt_row(attempt: Attempt) -> tuple[Any, ...]:
    *values, paths, rules, _ = astuple(attempt)
    return (*values, json.dumps(paths), json.dumps(rules))


def _attempt_of(row: tuple[Any, ...]) -> Attempt:
    number, at_ms, actor, trigger, status, committed, before, after, base, candidate, paths, rules = row
    return Attempt(
        *(at_ms, actor, Trigger(trigger), Status(status), bool(committed), before, after, base, candidate),
        paths=tuple(json.loads(paths)),
        rules=tuple(json.loads(rules)),
        id=number,
    )
