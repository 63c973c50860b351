"""What an Edge runs, and what follows from it for requests and for Nodes."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from iop_edge.clock import Clock
from iop_edge.config.files import FileResolver
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.errors import ConfigError, Report, Violation
from iop_edge.ids import NodeId, Revision
from iop_edge.net import Tls, TlsError
from iop_edge.payload import encode, payload_trees
from iop_edge.pool.catalogue import Catalogue
from iop_edge.push.model import Desired, Target
from iop_edge.refresh.result import Attempt, Status, Trigger
from iop_edge.requests.policy import RequestPolicy
from iop_edge.rules import Rule
from iop_edge.schema.references import FileReference, ReferenceFailure, Resolver, lookup, parse
from iop_edge.schema.values import Reference, ReferenceTree, below, reference
from iop_edge.store.history import Applied, Store
from iop_edge.transport.reload import TlsSource

if TYPE_CHECKING:
    from iop_pb import trees


_LOG: Final = logging.getLogger(__name__)


class ConfigFiles(Protocol):
    """The files that an Edge's config comes from. Both methods block; several threads may call them at once."""

    def load(self) -> Snapshot:
        """Return the config that the files hold now.

        Raises:
            ConfigError: they cannot be used.
        """

    def overlays(self) -> Sequence[Source]:
        """Return the private overlays that can be read now."""


@dataclass(frozen=True, slots=True)
class Running:
    """A config in force with everything that follows from it. It is replaced as a whole or not at all (REF-08)."""

    snapshot: Snapshot
    revision: Revision
    config_hash: str
    policy: RequestPolicy
    catalogue: Catalogue
    desired: Mapping[NodeId, Desired]

    @classmethod
    def build(
        cls, snapshot: Snapshot, revision: int, config_hash: str, key: bytes, before: "Running | None" = None
    ) -> "Running":
        """Build what follows from a config.

        Args:
            snapshot: the config.
            revision: its number.
            config_hash: its hash.
            key: the key of payload tags.
            before: what it replaces. Payloads that stay the same are taken over as the same objects.
        """
        known = {} if before is None else {node["id"]: node for node in nodes(before.snapshot)}
        changed = {node["id"] for node in nodes(snapshot) if node != known.get(node["id"])}
        payloads = {} if before is None else {node_id: item.encoded for node_id, item in before.desired.items()}
        for node_id, tree in payload_trees(snapshot, changed).items():
            encoded = encode(tree, key)
            if node_id not in payloads or payloads[node_id].tag != encoded.tag:
                payloads[node_id] = encoded
        number = Revision(revision)
        ids = [NodeId(node["id"]) for node in nodes(snapshot)]
        desired = {node_id: Desired(payloads[node_id], number) for node_id in ids}
        catalogue = Catalogue.of(snapshot, before.catalogue if before else None)
        return cls(snapshot, number, config_hash, RequestPolicy.of(snapshot), catalogue, desired)


def startup(snapshot: Snapshot, store: Store, clock: Clock) -> Running:
    """Record a config as the first that an Edge runs, and build it.

    It keeps the newest revision of the history if that is the same config, and takes the next number otherwise.

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
    running = Running.build(snapshot, revision, config_hash, key)
    attempt = Attempt(
        at_ms=clock.wall_ms(),
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
        _end_confirmation(newest, store, is_kept=not is_new)
    store.record(attempt, Applied(revision, config_hash, snapshot.dump_for_history()) if is_new else None)
    return running


def _end_confirmation(newest: Applied, store: Store, *, is_kept: bool) -> None:
    """Decide about a revision that the process before this one left unconfirmed (REF-10)."""
    if is_kept:
        # The files hold the same config, which counts as a confirmation.
        store.confirm(newest.revision)
    outcome = "kept, since the config files hold the same config" if is_kept else "replaced by the config files"
    _LOG.warning("revision %d was never confirmed: %s", newest.revision, outcome)


def require_resolved(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot if it can run: an unresolved reference would be sent to Nodes in place of its value.

    Raises:
        ConfigError: it holds an unresolved reference.
    """
    if snapshot.is_offline:
        raise rejection(
            Rule.REFERENCE_UNRESOLVED, "the config was loaded offline: its references have no values", "load it online"
        )
    return snapshot


def rejection(rule: Rule, message: str, hint: str = "") -> ConfigError:
    """Return the error for a candidate that cannot be loaded for one reason, which is at no position in a file."""
    return ConfigError(Report(violations=(Violation(rule, "", None, message, hint),), total=1))


def targets(snapshot: Snapshot) -> Iterator[Target]:
    """Yield how each Node is dialled."""
    for node in nodes(snapshot):
        yield Target(
            node_id=NodeId(node["id"]),
            address=node["address"],
            token=node.get("token", ""),
            tls=tls_source(node["tls"], below(snapshot.references.tree, "nodes", node["id"], "tls")),
        )


def nodes(snapshot: Snapshot) -> "Sequence[trees.Node]":
    """Return the trees of the Nodes."""
    return snapshot.tree.get("nodes", ())


def tls_source(given: "trees.Tls", references: ReferenceTree) -> TlsSource | None:
    """Return a function that reads the TLS texts of a Node or a listener; None means plain text.

    Files are read again for each connection, so that a new certificate needs no restart.

    Args:
        given: its texts.
        references: what these came from.
    """
    return partial(_read_tls, given, references, FileResolver()) if given else None


def _read_tls(given: "trees.Tls", references: ReferenceTree, resolver: Resolver) -> Tls:
    texts = {name: _tls_text(name, str(text), reference(references, name), resolver) for name, text in given.items()}
    return Tls(**{field.name: texts.get(field.name, "") for field in fields(Tls)})


def _tls_text(name: str, text: str, written: Reference | None, resolver: Resolver) -> str:
    parts = parse(written.text) if written else ()
    if written is None or not any(isinstance(part, FileReference) for part in parts):
        return text
    try:
        text = "".join(part if isinstance(part, str) else lookup(part, written.base_dir, resolver) for part in parts)
    except ReferenceFailure as failure:
        raise TlsError(f"tls: {name}: {failure}") from None
    if not text:
        # Perhaps half written. A listener without its authorities would let anybody in.
        raise TlsError(f"tls: {name}: the file is empty")
    return text
