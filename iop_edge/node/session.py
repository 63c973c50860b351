"""Which Edge a Node belongs to, and which process of that Edge may use it (PSH-02)."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.ids import EdgeId, EdgeInstanceId

LEASE_SECONDS: Final = 10.0
"""How long a handshake holds the session until its stream is open."""

_log = logging.getLogger(__name__)


class AnotherEdgeError(GRPCError):
    """The Node belongs to another Edge id."""

    def __init__(self, message: str) -> None:
        super().__init__(Status.PERMISSION_DENIED, message)


class SessionHeldError(GRPCError):
    """Another process holds the session, or the caller holds none."""

    def __init__(self, message: str) -> None:
        super().__init__(Status.ABORTED, message)


class Session:
    """The session of one Edge process. `ended` is set when another Edge takes the Node over."""

    def __init__(self, edge_id: EdgeId, instance_id: EdgeInstanceId) -> None:
        self.edge_id = edge_id
        self.instance_id = instance_id
        self.ended = asyncio.Event()
        self.streams = 0
        self.lease_until = 0.0


class Sessions:
    """Admits one Edge id, and one process of it at a time.

    A session lives while a stream of it is open, and for a short lease after its handshake.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._edge_id = EdgeId("")
        self._session: Session | None = None

    @property
    def edge_id(self) -> EdgeId:
        """The Edge that the Node belongs to; empty before the first handshake."""
        return self._edge_id

    def open(self, edge_id: EdgeId, instance_id: EdgeInstanceId, *, take_over: bool) -> None:
        """Open the session of an Edge process, or extend it.

        Raises:
            AnotherEdgeError: the Node belongs to another Edge id, and is not to be taken over.
            SessionHeldError: another process of the same Edge id holds a live session.
        """
        session = self._session
        if edge_id == self._edge_id:
            if session is not None and session.instance_id != instance_id and self._is_live(session):
                _log.warning("refused a second process of Edge %s: %s holds the session", edge_id, session.instance_id)
                raise SessionHeldError(f"another process of Edge {edge_id} holds the session")
        elif self._edge_id:
            if not take_over:
                _log.warning("refused Edge %s: this Node belongs to %s", edge_id, self._edge_id)
                raise AnotherEdgeError(f"this Node belongs to Edge {self._edge_id}")
            _log.warning("Edge %s takes this Node over from %s", edge_id, self._edge_id)
        if session is None or (session.edge_id, session.instance_id) != (edge_id, instance_id):
            if session is not None:
                session.ended.set()
            session = self._session = Session(edge_id, instance_id)
        self._edge_id = edge_id
        session.lease_until = self._clock.monotonic() + LEASE_SECONDS

    def require(self, edge_id: EdgeId, instance_id: EdgeInstanceId) -> Session:
        """Return the session that the caller claims to hold.

        Raises:
            AnotherEdgeError: the Node belongs to another Edge id.
            SessionHeldError: the caller does not hold the session.
        """
        if self._edge_id and edge_id != self._edge_id:
            raise AnotherEdgeError(f"this Node belongs to Edge {self._edge_id}")
        session = self._session
        if session is None or session.instance_id != instance_id or not self._is_live(session):
            raise SessionHeldError("the caller holds no session; it must shake hands first")
        return session

    @contextmanager
    def stream(self, session: Session) -> Iterator[None]:
        """Keep a session alive while its stream is open, and end it with the stream.

        If its process has shaken hands again meanwhile, the session stays: the Edge may have noticed a lost connection
        before the Node does.
        """
        session.streams += 1
        lease = session.lease_until
        try:
            yield
        finally:
            session.streams -= 1
            if session.lease_until == lease:
                session.lease_until = 0.0

    def _is_live(self, session: Session) -> bool:
        return session.streams > 0 or self._clock.monotonic() < session.lease_until
