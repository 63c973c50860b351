"""What can go wrong with a Node, and what it means: whose fault it is, and when to try again (PSH-03)."""

import os
import ssl
from typing import Final

from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from iop_edge.errors import EdgeError
from iop_edge.net import AddressError
from iop_edge.push.model import Connection
from iop_edge.schema.values import REDACTED
from iop_edge.schema.wire import WireError
from iop_edge.transport.channel import TlsRefusedError

_MAX_SAID: Final = 200


class SessionError(Exception):
    """A session that failed, or could not begin.

    `permanent` faults do not pass by themselves: they are tried again slowly, or when something else is desired.
    """

    def __init__(
        self, reason: str, connection: Connection = Connection.UNREACHABLE, *, permanent: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.connection = connection
        self.permanent = permanent


_REFUSALS: Final = {
    Status.UNAUTHENTICATED: "the Node does not accept the token",
    Status.PERMISSION_DENIED: "the Node refuses this Edge",
    Status.FAILED_PRECONDITION: "the Node refuses the session",
    Status.UNIMPLEMENTED: "the Node does not speak this protocol",
    Status.INVALID_ARGUMENT: "the Node does not understand the Edge",
    Status.RESOURCE_EXHAUSTED: "the Node does not take so much",
}

CALL_ERRORS: Final = (
    TimeoutError,
    OSError,
    GRPCError,
    StreamTerminatedError,
    WireError,
    EdgeError,
    AddressError,
)
"""What a call can raise, and `fault_of` understands."""


def fault_of(error: Exception, token: str) -> SessionError:
    """Say what an error of a call means. What the Node says is quoted, cut short, and never with the token in it."""
    if isinstance(error, GRPCError):
        return _refusal(error, token)
    if isinstance(error, ssl.SSLError):
        return _refused(_broken_tls(error))
    if isinstance(error, TlsRefusedError):
        return _refused("the Node wants another certificate of the Edge")
    if isinstance(error, EdgeError | AddressError):
        return _refused(str(error))
    return SessionError(_broken_connection(error))


def _broken_tls(error: ssl.SSLError) -> str:
    # Errors that the ssl module raises itself lack what those of OpenSSL carry.
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the Node's certificate does not verify: {getattr(error, 'verify_message', 'invalid')}"
    return f"TLS fails: {getattr(error, 'reason', None) or 'broken'}"


def _broken_connection(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return f"cannot connect: {_os_reason(error)}"
    if isinstance(error, WireError):
        return f"the Node's answer is no message: {error}"
    return "the connection was lost"


def _os_reason(error: OSError) -> str:
    # The event loop puts the peer's address into the text; name look-ups have numbers of their own, below zero.
    if error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__


def _refusal(error: GRPCError, token: str) -> SessionError:
    said = quoted(error.message or error.status.name, token)
    if error.status in _REFUSALS:
        return _refused(f"{_REFUSALS[error.status]}: {said}")
    if error.status is Status.ABORTED:
        return SessionError(f"the Node is held by another session: {said}", Connection.REFUSED)
    return SessionError(f"the Node failed: {said}")


def _refused(reason: str) -> SessionError:
    return SessionError(reason, Connection.REFUSED, permanent=True)


def quoted(said: str, token: str) -> str:
    """Return what a Node has said as it may be shown: printable, cut short, and not with the token in it."""
    if token and token in said:
        return REDACTED
    printable = "".join(char if char.isprintable() else "?" for char in said[:_MAX_SAID])
    return printable if len(said) <= _MAX_SAID else f"{printable}..."
