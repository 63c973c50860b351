"""What the names of headers mean to HTTP and to the Edge."""

from typing import Final

PRINCIPAL_HEADER: Final = "authorization"
"""The header that carries a principal's own token, in lower case (VAL-12)."""

MESSAGE_HEADERS: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers, in lower case, that say how one message travels over one connection: none of them can carry a token on."""
