"""The client of an Edge's admin service."""

import ssl
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import betterproto2
from grpclib.exceptions import GRPCError, ProtocolError, StreamTerminatedError

from iop_edge.client import convert
from iop_edge.client.status import Confirmed, StatusSnapshot
from iop_edge.config.source import Source
from iop_edge.errors import EdgeError
from iop_edge.net import AddressError, Tls, client_context, os_error_text, parse_address
from iop_edge.pool.explain import DispatchExplanation
from iop_edge.refresh.result import Attempt, Mode, RefreshOptions, RefreshResult
from iop_edge.schema.wire import WireError
from iop_edge.transport.channel import ClientChannel
from iop_pb.iop.admin import v1 as pb

_Response = TypeVar("_Response", bound=betterproto2.Message)

MAX_MESSAGE_BYTES: Final = 512 * 2**20
"""The largest message of the admin service: the layers of a candidate, or the result for a whole fleet."""

_ASK_SECONDS: Final = 30.0
_REFRESH_SECONDS: Final = 600.0
_DEFAULTS: Final = RefreshOptions()


class AdminClient:
    """Queries and refreshes a running Edge.

    Use it as `async with AdminClient(address) as client`; it connects with the first call. Every call raises
    `EdgeError` when the Edge cannot be reached, does not answer in time, or answers with an error. A rejected candidate
    is a result, not an error.

    Args:
        address: `unix:PATH`, `host:port` or `[v6]:port`.
        tls: the certificates for a TCP address; None: plain text.

    Raises:
        EdgeError: the address is invalid, or the TLS texts cannot be used.
    """

    def __init__(self, address: str, tls: Tls | None = None) -> None:
        self._address = address
        try:
            parsed = parse_address(address)
        except AddressError as error:
            raise EdgeError(f"{address}: {error}") from None
        self._channel = ClientChannel(
            parsed,
            tls=client_context(tls) if tls else None,
            server_name=tls.server_name if tls else "",
            max_reply_bytes=MAX_MESSAGE_BYTES,
        )
        self._stub = pb.EdgeAdminServiceStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection for good."""
        await self._channel.finish()

    async def refresh(
        self, layers: Sequence[Source] = (), mode: Mode = Mode.DRY_RUN, options: RefreshOptions = _DEFAULTS
    ) -> RefreshResult:
        """Propose a config; without layers the Edge reads its own files again.

        The Edge resolves the references of the layers in its own environment (CFG-06).
        """
        request = pb.RefreshRequest(
            mode=convert.to_number(pb.RefreshMode, mode),
            layers=[convert.to_message(pb.ConfigLayer, _with_absolute_dir(layer)) for layer in layers],
            options=convert.to_message(pb.RefreshOptions, options),
        )
        response = await self._answer(self._stub.refresh(request, timeout=_REFRESH_SECONDS))
        return convert.from_message(RefreshResult, _present(response.result))

    async def rollback(
        self, revision: int, mode: Mode = Mode.DRY_RUN, options: RefreshOptions = _DEFAULTS
    ) -> RefreshResult:
        """Propose the config of an old revision (REF-11)."""
        request = pb.RollbackRequest(
            revision=revision,
            mode=convert.to_number(pb.RefreshMode, mode),
            options=convert.to_message(pb.RefreshOptions, options),
        )
        response = await self._answer(self._stub.rollback(request, timeout=_REFRESH_SECONDS))
        return convert.from_message(RefreshResult, _present(response.result))

    async def confirm(self, expected_revision: int | None = None) -> Confirmed:
        """Keep the running revision, if it is the expected one."""
        request = pb.ConfirmRequest(expected_revision=expected_revision)
        return convert.from_message(Confirmed, await self._answer(self._stub.confirm(request, timeout=_ASK_SECONDS)))

    async def status(self) -> StatusSnapshot:
        """Return the current state of the Edge."""
        response = await self._answer(self._stub.get_status(timeout=_ASK_SECONDS))
        return convert.from_message(StatusSnapshot, _present(response.snapshot))

    async def explain_dispatch(self, model: str) -> DispatchExplanation:
        """Explain which provider a new request for a model group or a route would get now."""
        request = pb.ExplainDispatchRequest(model=model)
        response = await self._answer(self._stub.explain_dispatch(request, timeout=_ASK_SECONDS))
        return convert.from_message(DispatchExplanation, _present(response.explanation))

    async def history(self, limit: int = 0) -> tuple[Attempt, ...]:
        """Return past attempts, the newest first. With limit 0 the Edge decides how many."""
        request = pb.ListHistoryRequest(limit=limit)
        response = await self._answer(self._stub.list_history(request, timeout=_ASK_SECONDS))
        return tuple(convert.from_message(Attempt, entry) for entry in response.entries)

    async def _answer(self, call: Awaitable[_Response]) -> _Response:
        try:
            return await call
        except GRPCError as error:
            raise EdgeError(f"the Edge at {self._address} answered: {error.message or error.status.name}") from None
        except WireError as error:
            raise EdgeError(f"the Edge at {self._address} sent a broken message: {error}") from None
        except TimeoutError:
            raise EdgeError(f"the Edge at {self._address} did not answer in time") from None
        except ssl.SSLError as error:
            raise EdgeError(f"the Edge at {self._address} cannot be trusted: {error.reason or 'TLS fault'}") from None
        except OSError as error:
            raise EdgeError(f"cannot reach the Edge at {self._address}: {os_error_text(error)}") from None
        except (ProtocolError, StreamTerminatedError):
            raise EdgeError(f"the Edge at {self._address} closed the connection") from None


def _present(message: _Response | None) -> _Response:
    if message is None:
        raise convert.ConvertError("the Edge's answer is empty")
    return message


def _with_absolute_dir(layer: Source) -> Source:
    return replace(layer, base_dir=str(Path(layer.base_dir).absolute()))
