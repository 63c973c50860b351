"""Certificates and tokens that are replaced while they are in use."""

import logging
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

from iop_edge.errors import EdgeError
from iop_edge.net import Tls, server_context

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

TlsSource = Callable[[], Tls]
"""Reads the current TLS texts of one end of a connection. Raises `TlsError` if it cannot."""

TokenSource = Callable[[], Sequence[str]]
"""Reads the currently accepted tokens. Raises `TokensError` or `OSError` if it cannot."""


class TokensError(EdgeError):
    """Text that holds no valid tokens. The message quotes nothing of it."""


class _Reloaded(Generic[_T]):
    """The value of a source, which may change. If it cannot be read, the last value stays, with one warning."""

    def __init__(self, read: Callable[[], _T], what: str) -> None:
        self._read = read
        self._what = what
        self._value: _T | None = None
        self._warned = ""

    def current(self) -> _T:
        """Return the current value. Raises what the source raises if there is no last value."""
        try:
            self._value = self._read()
            self._warned = ""
        except (EdgeError, OSError) as error:
            if self._value is None:
                raise
            if str(error) != self._warned:
                self._warned = str(error)
                _log.warning("cannot reload %s, keeping the old ones: %s", self._what, error)
        return self._value


class ReloadedContext(_Reloaded[tuple[Tls, ssl.SSLContext]]):
    """A TLS context that is made again when the texts of its source change (a certificate and its key are two files).

    `current` raises `TlsError` if the texts cannot be used and never could.

    Args:
        source: reads the texts.
        make: makes a context of them, or raises `TlsError`.
    """

    def __init__(self, source: TlsSource, make: Callable[[Tls], ssl.SSLContext]) -> None:
        super().__init__(self._load, "certificates")
        self._source = source
        self._make = make

    def _load(self) -> tuple[Tls, ssl.SSLContext]:
        tls = self._source()
        if self._value is not None and self._value[0] == tls:
            return self._value
        return tls, self._make(tls)


class ReloadingServerContext(ssl.SSLContext):
    """A server's context that uses the current certificates for each handshake.

    Raises:
        TlsError: the texts of the source cannot be used.
    """

    def __new__(cls, source: TlsSource) -> Self:  # noqa: ARG004 - a context takes its protocol here
        """Make the context that the server is given."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, source: TlsSource) -> None:
        self._reloaded = ReloadedContext(source, server_context)
        self._reloaded.current()

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Begin a handshake."""
        _, context = self._reloaded.current()
        return context.wrap_bio(*args, **options)


class RotatedTokens(_Reloaded[Sequence[str]]):
    """The accepted tokens, read again for each call (PAY-02).

    Raises:
        TokensError: the source holds no valid tokens.
        OSError: the source cannot be read.
    """

    def __init__(self, source: TokenSource) -> None:
        super().__init__(source, "tokens")
        self.current()
