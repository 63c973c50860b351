"""The standard health service `grpc.health.v1.Health`, by which orchestrators and gRPC clients check readiness.

It answers for the server as a whole. Its two messages are written out here: they are not part of our protos.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

import betterproto2
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.server import Stream

_ROUTE: Final = "/grpc.health.v1.Health"


class ServingStatus(betterproto2.Enum):
    """Whether the server accepts calls."""

    UNKNOWN = 0
    SERVING = 1
    NOT_SERVING = 2
    SERVICE_UNKNOWN = 3


@dataclass(eq=False, repr=False)
class HealthCheckRequest(betterproto2.Message):
    """Asks about a service by its full name; the empty name is the server."""

    service: str = betterproto2.field(1, betterproto2.TYPE_STRING)


@dataclass(eq=False, repr=False)
class HealthCheckResponse(betterproto2.Message):
    """The readiness of the service."""

    status: ServingStatus = betterproto2.field(  # noqa: RUF009 - how a field of a message is declared
        1, betterproto2.TYPE_ENUM, default_factory=lambda: ServingStatus(0)
    )


class HealthService:
    """Tells whether the server is ready; at first it is not.

    Args:
        services: the full names of the services that share the server's readiness.
    """

    def __init__(self, *services: str) -> None:
        self._services = frozenset(("", *services))
        self._status = ServingStatus.NOT_SERVING
        self._ended = False
        self._changed = asyncio.Condition()

    async def set_ready(self, ready: bool) -> None:  # noqa: FBT001 - a state that has two values
        """Set whether the server is ready."""
        async with self._changed:
            self._status = ServingStatus.SERVING if ready else ServingStatus.NOT_SERVING
            self._changed.notify_all()

    async def end(self) -> None:
        """Set the server not ready, and end the watches, which would keep it from stopping."""
        self._ended = True
        await self.set_ready(False)

    async def _check(self, call: Stream[HealthCheckRequest, HealthCheckResponse]) -> None:
        if not await self._is_known(call):
            raise GRPCError(Status.NOT_FOUND, "no such service")
        await call.send_message(HealthCheckResponse(status=self._status))

    async def _watch(self, call: Stream[HealthCheckRequest, HealthCheckResponse]) -> None:
        # An unknown service may appear later, so its watchers get SERVICE_UNKNOWN and wait.
        known = await self._is_known(call)
        sent: ServingStatus | None = None
        while True:
            status = self._status if known else ServingStatus.SERVICE_UNKNOWN
            if status is not sent:
                await call.send_message(HealthCheckResponse(status=status))
                sent = status
            if self._ended:
                return
            async with self._changed:
                if not self._ended and (self._status is status or not known):
                    await self._changed.wait()

    async def _is_known(self, call: Stream[HealthCheckRequest, HealthCheckResponse]) -> bool:
        request = await call.recv_message()
        return request is not None and request.service in self._services

    def __mapping__(self) -> dict[str, Handler]:
        """Return the methods by their routes."""
        return {
            f"{_ROUTE}/{name}": Handler(method, cardinality, HealthCheckRequest, HealthCheckResponse)
            for name, method, cardinality in (
                ("Check", self._check, Cardinality.UNARY_UNARY),
                ("Watch", self._watch, Cardinality.UNARY_STREAM),
            )
        }
