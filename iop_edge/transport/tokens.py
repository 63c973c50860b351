"""Bearer tokens that are rotated while they are in use."""

import logging
from collections.abc import Callable, Sequence

from iop_edge.errors import EdgeError

_log = logging.getLogger(__name__)


class TokensError(EdgeError):
    """Tokens that are none. The message holds nothing of them."""


TokenSource = Callable[[], Sequence[str]]
"""Reads the accepted tokens as they are now. Raises `TokensError`, or `OSError`, where it cannot."""


class RotatedTokens:
    """The tokens of a source, as they are at each moment; kept as they were while it cannot be read (PAY-02).

    Args:
        source: reads them.

    Raises:
        TokensError: they are none.
        OSError: they cannot be read.
    """

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._tokens = source()
        self._complaint = ""

    def current(self) -> Sequence[str]:
        """Return the tokens as they are now."""
        try:
            self._tokens = self._source()
            self._complaint = ""
        except (TokensError, OSError) as error:
            if str(error) != self._complaint:
                _log.warning("the tokens cannot be read, the old ones stay: %s", error)
                self._complaint = str(error)
        return self._tokens
