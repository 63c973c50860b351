"""Who calls: a bearer token stands for a principal, found by its hash (POL-09)."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from iop_edge.config.headers import PRINCIPAL_HEADER
from iop_edge.ids import PrincipalRef, TokenRef
from iop_edge.requests.request import RequestFacts
from iop_edge.requests.request_refusal import RequestRefusal, RequestRefusalReason
from iop_edge.schema.values import ReadTree, plain

_SCHEME: Final = "bearer"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a token stands for, and which of its tokens it is. The token itself is kept nowhere."""

    ref: PrincipalRef
    alias: str
    token_ref: TokenRef


@dataclass(frozen=True, slots=True)
class Principals:
    """The tokens that the config knows, by their hashes."""

    _entries: tuple[tuple[bytes, Principal], ...] = field(repr=False)

    def __repr__(self) -> str:
        return f"Principals({len(self._entries)} tokens)"

    def find(self, token: str) -> Principal | None:
        """Return whose token it is. How long that takes says nothing of the hashes: all are compared, to their ends.

        A character stands for an octet, as in all headers.
        """
        try:
            presented = hashlib.sha256(token.encode("latin-1")).digest()
        except UnicodeEncodeError:  # no header has carried such a character
            return None
        found: Principal | None = None
        for known, principal in self._entries:
            if hmac.compare_digest(known, presented):
                found = principal
        return found

    def authenticate(self, facts: RequestFacts) -> Principal | RequestRefusal | None:
        """Return who calls; None where the config knows no tokens, and so lets everybody in."""
        if not self._entries:
            return None
        tokens = facts.header_values(PRINCIPAL_HEADER)
        token = _bearer(tokens[0]) if len(tokens) == 1 else None
        principal = None if token is None else self.find(token)
        if principal is not None:
            return principal
        message = "the bearer token is not known" if token else "a bearer token is needed"
        return RequestRefusal(RequestRefusalReason.UNKNOWN_PRINCIPAL, message)


def principals_of(entries: Sequence[ReadTree]) -> Principals:
    """Read the principals from the `principal_tokens` of a normalized config."""
    return Principals(
        tuple(
            (
                bytes.fromhex(plain(entry["token_hash_sha256"])),
                Principal(
                    PrincipalRef(plain(entry["principal_ref"])),
                    plain(entry.get("principal_alias", "")),
                    TokenRef(entry["token_ref"]),
                ),
            )
            for entry in entries
        )
    )


def _bearer(value: str) -> str | None:
    scheme, _, token = value.partition(" ")
    token = token.strip(" ")
    return token if scheme.lower() == _SCHEME and token else None
