"""Writes that happen together are sent together."""

import asyncio
from typing import Any, Final

_FULL_BYTES: Final = 1 << 16
"""With this much gathered it is sent at once, so that the transport can say when it has enough."""


class CorkedTransport(asyncio.Transport):
    """Gathers what is written in one turn of the event loop and hands it on at its end.

    HTTP/2 writes each frame by itself, and every frame that is sent alone costs a system call here and a wake-up there.
    `written` counts all bytes so far.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._gathered: list[bytes] = []
        self._size = 0
        self.written = 0

    def write(self, data: Any) -> None:
        """Send the data with what else is written in this turn."""
        if not data:
            return
        if not self._gathered:
            self._loop.call_soon(self.flush)
        self._gathered.append(data)
        self._size += len(data)
        self.written += len(data)
        if self._size >= _FULL_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what is gathered."""
        data = b"".join(self._gathered)
        self._gathered.clear()
        self._size = 0
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Tell whether the connection is being closed."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Send what is gathered, then close."""
        self.flush()
        self._transport.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport knows of the connection."""
        return self._transport.get_extra_info(name, default)
