"""Which Edge a Node belongs to, and which of its processes may speak now (PSH-02)."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from iop_edge.ids import EdgeId, EdgeInstanceId

LEASE_SECONDS: Final = 10.0
"""How long a handshake holds the session until its stream is open."""

_log = logging.getLogger(__name__)


class AnotherEdgeError(Exception):
    """The Node belongs to another Edge id."""


class SessionHeldError(Exception):
    """Another process holds the live session, or the caller holds none."""


class Session:
    """One Edge process's hold on a Node. `ended` is set when another Edge has taken the Node over."""

    def __init__(self, edge_id: EdgeId, instance_id: EdgeInstanceId) -> None:
        self.edge_id = edge_id
        self.instance_id = instance_id
        self.ended = asyncio.Event()
        self.streams = 0
        self.lease_until = 0.0


class Sessions:
    """The fence of a Node: one Edge id, and of it one process at a time.

    A session lives while a stream of it is open, and for a short lease after its handshake. It ends with a stream.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._edge_id = EdgeId("")
        self._session: Session | None = None

    @property
    def edge_id(self) -> EdgeId:
        """The Edge that the Node belongs to; empty before the first handshake."""
        return self._edge_id

    def open(self, edge_id: EdgeId, instance_id: EdgeInstanceId, *, take_over: bool) -> None:
        """Begin or renew the session of an Edge process.

        Raises:
            AnotherEdgeError: the Node belongs to another Edge id, and is not to be taken over.
            SessionHeldError: another process with the same Edge id holds a live session.
        """
        if edge_id == self._edge_id:
            self._refuse_second(instance_id)
        elif self._edge_id:
            if not take_over:
                _log.warning("refused Edge %s: this Node belongs to %s", edge_id, self._edge_id)
                raise AnotherEdgeError(f"this Node belongs to Edge {self._edge_id}")
            _log.warning("Edge %s takes this Node over from %s", edge_id, self._edge_id)
        self._hold(edge_id, instance_id)

    def require(self, edge_id: EdgeId, instance_id: EdgeInstanceId) -> Session:
        """Return the session that a caller says to hold.

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
        """Keep a session alive while its stream is open.

        It ends with the stream, unless its process has shaken hands again meanwhile: it may have noticed before we do
        that the connection is lost.
        """
        session.streams += 1
        lease = session.lease_until
        try:
            yield
        finally:
            session.streams -= 1
            if session.lease_until == lease:
                session.lease_until = 0.0

    def _refuse_second(self, instance_id: EdgeInstanceId) -> None:
        session = self._session
        if session is None or session.instance_id == instance_id or not self._is_live(session):
            return
        _log.warning("refused a second process of Edge %s: %s holds the session", self._edge_id, session.instance_id)
        raise SessionHeldError(f"another process of Edge {self._edge_id} holds the session")

    def _hold(self, edge_id: EdgeId, instance_id: EdgeInstanceId) -> None:
        session = self._session
        if session is None or (session.edge_id, session.instance_id) != (edge_id, instance_id):
            if session is not None:
                session.ended.set()
            session = self._session = Session(edge_id, instance_id)
        self._edge_id = edge_id
        session.lease_until = self._clock() + LEASE_SECONDS

    def _is_live(self, session: Session) -> bool:
        return session.streams > 0 or self._clock() < session.lease_until
