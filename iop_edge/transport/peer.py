"""Who is at the other end of a call."""

import pwd
import socket
import struct
from typing import Any, Final

from grpclib.server import Stream

_CREDENTIALS: Final = struct.Struct("3i")
"""What Linux says of the process at the other end of a unix socket: its pid, uid and gid."""


def peer_name(call: Stream[Any, Any]) -> str:
    """Return the name of the caller: that of its certificate, else that of its user on this machine, else empty."""
    subject = (call.peer.cert() or {}).get("subject", ())
    for key, value in (pair for part in subject for pair in part):
        if key == "commonName":
            return str(value)
    sock: socket.socket | None = call.peer._transport.get_extra_info("socket")  # noqa: SLF001
    if sock is None or sock.family != socket.AF_UNIX:
        return ""
    _, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
