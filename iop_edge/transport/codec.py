"""Turns messages into bytes and, strictly, back."""

from typing import Any

import betterproto2
from grpclib.const import Status
from grpclib.encoding.base import CodecBase
from grpclib.exceptions import GRPCError

from iop_edge.schema.wire import WireError, decode


class ClientCodec(CodecBase):
    """A client's side. A request may be bytes, encoded before; a reply that is no message raises `WireError`."""

    __content_subtype__ = "proto"

    def encode(self, message: betterproto2.Message | bytes, message_type: Any) -> bytes:  # noqa: ARG002
        """Return the bytes of a message."""
        return message if isinstance(message, bytes) else bytes(message)

    def decode(self, data: bytes, message_type: type[betterproto2.Message]) -> Any:
        """Decode a message, or raise `WireError`."""
        return decode(message_type, data)


class ServerCodec(ClientCodec):
    """A server's side: a request that is no message ends its call as the caller's fault."""

    def decode(self, data: bytes, message_type: type[betterproto2.Message]) -> Any:
        """Decode a message, or raise the error that the caller gets."""
        try:
            return super().decode(data, message_type)
        except WireError as error:
            raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from None
