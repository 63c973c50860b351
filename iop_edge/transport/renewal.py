"""TLS contexts of certificates that are renewed while they are in use."""

import logging
import ssl
from collections.abc import Callable
from typing import Any, Self

from iop_edge.net import Tls, TlsError, server_context

_log = logging.getLogger(__name__)

TlsSource = Callable[[], Tls]
"""Reads what one end of a connection proves and asks for, as it is now. Raises `TlsError` where it cannot be read."""


class RenewedContext:
    """The TLS context of what a source reads: made anew once that has changed, and kept while it cannot be used.

    A certificate and its key are two files: for a moment they do not fit each other.

    Args:
        source: reads the texts.
        make: makes a context of them, or raises `TlsError`.
    """

    def __init__(self, source: TlsSource, make: Callable[[Tls], ssl.SSLContext]) -> None:
        self._source = source
        self._make = make
        self._made: tuple[Tls, ssl.SSLContext] | None = None
        self._complaint = ""

    def current(self) -> tuple[Tls, ssl.SSLContext]:
        """Return the texts as they are now, and their context.

        Raises:
            TlsError: they cannot be used, and never could.
        """
        try:
            tls = self._source()
            if self._made is None or self._made[0] != tls:
                self._made = tls, self._make(tls)
            self._complaint = ""
        except TlsError as error:
            if self._made is None:
                raise
            self._complain(str(error))
        return self._made

    def _complain(self, why: str) -> None:
        if why != self._complaint:
            _log.warning("renewed certificates cannot be used, the old ones stay: %s", why)
            self._complaint = why


class RenewingServerContext(ssl.SSLContext):
    """A server's context that makes every handshake with the certificates of its moment.

    Raises:
        TlsError: what the source reads cannot be used.
    """

    def __new__(cls, source: TlsSource) -> Self:  # noqa: ARG004 - a context takes its protocol here
        """Make the context that the server is given."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, source: TlsSource) -> None:
        self._renewed = RenewedContext(source, server_context)
        self._renewed.current()

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Begin a handshake."""
        _, context = self._renewed.current()
        return context.wrap_bio(*args, **options)
