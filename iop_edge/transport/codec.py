"""Turns messages into bytes and, strictly, back."""

from typing import Any

import betterproto2
from grpclib.const import Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError

from iop_edge.schema.wire import WireError, decode, require_few


class ClientCodec(CodecBase):
    """A client's side. A request may be bytes, encoded before; a reply that is no message raises `WireError`.

    Args:
        max_fields: the most fields of a message that is taken; None: as many as it has.
    """

    __content_subtype__ = "proto"

    def __init__(self, max_fields: int | None = None) -> None:
        self._max_fields = max_fields

    def encode(self, message: betterproto2.Message | bytes, message_type: Any) -> bytes:  # noqa: ARG002
        """Return the bytes of a message."""
        return message if isinstance(message, bytes) else bytes(message)

    def decode(self, data: bytes, message_type: type[betterproto2.Message]) -> Any:
        """Decode a message, or raise `WireError`."""
        if self._max_fields is not None:
            require_few(message_type, data, self._max_fields)
        return decode(message_type, data)


class ServerCodec(ClientCodec):
    """A server's side: a request that is no message ends its call as the caller's fault."""

    def decode(self, data: bytes, message_type: type[betterproto2.Message]) -> Any:
        """Decode a message, or raise the error that the caller gets."""
        try:
            return super().decode(data, message_type)
        except WireError as error:
            raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from None
