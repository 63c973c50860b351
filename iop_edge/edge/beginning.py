"""How an Edge comes to its first running config."""

import logging
import time
from typing import Any, Final

from iop_edge.config.dump import dump_for_history
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.rejection import rejection
from iop_edge.edge.running import Running, encode_payloads
from iop_edge.ids import Revision
from iop_edge.refresh.result import Attempt, Status, Trigger
from iop_edge.schema.values import UNRESOLVED, Sourced
from iop_edge.store.base import Applied, Store

_LOG: Final = logging.getLogger(__name__)


def begin(snapshot: Snapshot, store: Store) -> Running:
    """Make a config the running one: under the newest revision if that was the same config, else under the next.

    Raises:
        ConfigError: the config was loaded without resolving its references.
        EdgeError: the history cannot be used.
    """
    require_resolved(snapshot)
    key = store.key()
    newest = store.newest()
    config_hash = snapshot.digest(key)
    before = newest.revision if newest else 0
    is_new = newest is None or newest.config_hash != config_hash
    revision = before + 1 if is_new else before
    attempt = Attempt(
        at_ms=time.time_ns() // 1_000_000,
        actor=Trigger.START.value,
        trigger=Trigger.START,
        status=Status.APPLIED,
        committed=is_new,
        revision_before=before,
        revision_after=revision,
        base_hash=newest.config_hash if newest else "",
        candidate_hash=config_hash,
        paths=(),
    )
    if newest is not None and not newest.is_confirmed:
        _settle_unconfirmed(newest, store, is_kept=not is_new)
    store.record(attempt, Applied(revision, config_hash, dump_for_history(snapshot.tree)) if is_new else None)
    return Running(snapshot, Revision(revision), config_hash, encode_payloads(snapshot, key))


def _settle_unconfirmed(newest: Applied, store: Store, *, is_kept: bool) -> None:
    """Say what became of a revision whose confirmation the end of the process has cut off (REF-10)."""
    if is_kept:
        # The files say it: that is as good as a confirmation, whoever was to give one.
        store.confirm(newest.revision)
    outcome = "it stays, since the files say the same" if is_kept else "another config runs in its place"
    _LOG.warning("revision %d was never confirmed: %s", newest.revision, outcome)


def require_resolved(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot, if it can run: a reference that was left unresolved would be sent in place of its value.

    Raises:
        ConfigError: it cannot.
    """
    if _is_unresolved(snapshot.tree):
        raise rejection(
            "reference.unresolved", "the config was loaded offline: its references have no values", "load it online"
        )
    return snapshot


def _is_unresolved(value: Any) -> bool:
    if isinstance(value, Sourced):
        return value.value is UNRESOLVED
    if isinstance(value, dict):
        return any(map(_is_unresolved, value.values()))
    return isinstance(value, list) and any(map(_is_unresolved, value))
