"""The admin service of an Edge."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from grpclib.const import Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.server import Stream

from iop_edge.client import convert
from iop_edge.config.files import FileResolver
from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.edge.coordinator import Origin
from iop_edge.edge.edge import Edge
from iop_edge.errors import EdgeError
from iop_edge.refresh.result import RefreshOptions
from iop_edge.store.history import DEFAULT_LIMIT
from iop_edge.transport.server import peer_name
from iop_pb.iop.admin import v1 as pb

SERVICE_NAME: Final = "iop.admin.v1.EdgeAdminService"

_LOG: Final = logging.getLogger(__name__)
_ACTOR: Final[ContextVar[str]] = ContextVar("actor", default="")


class AdminService(pb.EdgeAdminServiceBase):
    """Answers for an Edge once it is attached; before that, calls fail because the Edge is starting.

    Args:
        roots: the directories that file references of a sent candidate may read (CFG-06).
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)
        self._attached: Edge | None = None

    def attach(self, edge: Edge) -> None:
        """Answer for this Edge from now on."""
        self._attached = edge

    async def refresh(self, message: pb.RefreshRequest) -> pb.RefreshResponse:
        """Propose the layers of the request or, without any, the Edge's own files."""
        keywords, mode = _keywords(message.options), _mode(message.mode)
        with _answering():
            if message.layers:
                layers = [convert.from_message(Source, layer) for layer in message.layers]
                result = await self._edge.refresh(partial(self._load, layers), mode, **keywords)
            else:
                result = await self._edge.reload(mode, **keywords)
        return pb.RefreshResponse(result=convert.to_message(pb.RefreshResult, result))

    async def rollback(self, message: pb.RollbackRequest) -> pb.RollbackResponse:
        """Propose the config of an old revision."""
        with _answering():
            result = await self._edge.rollback(message.revision, _mode(message.mode), **_keywords(message.options))
        return pb.RollbackResponse(result=convert.to_message(pb.RefreshResult, result))

    async def confirm(self, message: pb.ConfirmRequest) -> pb.ConfirmResponse:
        """Keep the running revision."""
        with _answering():
            confirmed = await self._edge.confirm(message.expected_revision)
            revision = self._edge.revision
        _LOG.info("revision %d %s by %s", revision, "confirmed" if confirmed else "not confirmed", _ACTOR.get() or "?")
        return pb.ConfirmResponse(revision=revision, confirmed=confirmed)

    async def get_status(self, message: pb.GetStatusRequest) -> pb.GetStatusResponse:  # noqa: ARG002
        """Return what runs."""
        with _answering():
            return pb.GetStatusResponse(snapshot=convert.to_message(pb.StatusSnapshot, await self._edge.status()))

    async def explain_dispatch(self, message: pb.ExplainDispatchRequest) -> pb.ExplainDispatchResponse:
        """Explain what would happen to a new request."""
        with _answering():
            explanation = self._edge.pool.explain(message.model)
        return pb.ExplainDispatchResponse(explanation=convert.to_message(pb.DispatchExplanation, explanation))

    async def list_history(self, message: pb.ListHistoryRequest) -> pb.ListHistoryResponse:
        """List past attempts."""
        with _answering():
            attempts = await self._edge.history(message.limit or DEFAULT_LIMIT)
        return pb.ListHistoryResponse(entries=[convert.to_message(pb.HistoryEntry, attempt) for attempt in attempts])

    def __mapping__(self) -> dict[str, Handler]:
        """Return the methods by their routes; each records who calls."""
        return {
            route: handler._replace(func=_knowing_actor(handler.func))
            for route, handler in super().__mapping__().items()
        }

    @property
    def _edge(self) -> Edge:
        if self._attached is None:
            raise EdgeError("the Edge is starting")
        return self._attached

    def _load(self, layers: Sequence[Source]) -> Snapshot:
        return load_sources(layers, FileResolver(roots=self._roots))


def _knowing_actor(
    method: Callable[[Stream[Any, Any]], Awaitable[None]],
) -> Callable[[Stream[Any, Any]], Awaitable[None]]:
    async def named(call: Stream[Any, Any]) -> None:
        _ACTOR.set(peer_name(call))
        await method(call)

    return named


def _keywords(message: pb.RefreshOptions | None) -> dict[str, Any]:
    """Return the keywords of a refresh that a caller asks for."""
    options = convert.from_message(RefreshOptions, message) if message else RefreshOptions()
    return {**asdict(options), "origin": Origin(actor=_ACTOR.get())}


def _mode(number: pb.RefreshMode) -> str:
    # An unknown number becomes an unknown word, and the refresh is rejected like any other with an unknown mode.
    return (number.name or str(int(number))).lower()


@contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except EdgeError as error:
        raise GRPCError(Status.UNAVAILABLE, str(error)) from None
