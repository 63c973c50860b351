"""Who calls: a bearer token stands for a principal, found by its hash (POL-09)."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from iop_edge.config.validate import PRINCIPAL_HEADER
from iop_edge.errors import RequestRefusedError
from iop_edge.ids import PrincipalRef, TokenRef
from iop_edge.requests.facts import RequestFacts

if TYPE_CHECKING:
    from iop_pb import trees

_SCHEME: Final = "bearer"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls: the principal that a token stands for, and the name of that token. It holds no token."""

    ref: PrincipalRef
    alias: str
    token_ref: TokenRef


@dataclass(frozen=True, slots=True)
class Principals:
    """The principals of a config, by the hashes of their tokens."""

    _entries: tuple[tuple[bytes, Principal], ...] = field(repr=False)

    @classmethod
    def of(cls, entries: Sequence["trees.PrincipalToken"]) -> Self:
        """Read the `principal_tokens` of a config whose references are resolved."""
        return cls(
            tuple(
                (
                    bytes.fromhex(entry["token_hash_sha256"]),
                    Principal(
                        PrincipalRef(entry["principal_ref"]),
                        entry.get("principal_alias", ""),
                        TokenRef(entry["token_ref"]),
                    ),
                )
                for entry in entries
            )
        )

    def __repr__(self) -> str:
        return f"Principals({len(self._entries)} tokens)"

    def find(self, token: str) -> Principal | None:
        """Return the principal of a token, of which a character stands for an octet.

        The time it takes tells nothing about the hashes: all of them are compared, in full.
        """
        try:
            presented = hashlib.sha256(token.encode("latin-1")).digest()
        except UnicodeEncodeError:  # no header can hold such a character
            return None
        found: Principal | None = None
        for known, principal in self._entries:
            if hmac.compare_digest(known, presented):
                found = principal
        return found

    def authenticate(self, facts: RequestFacts) -> Principal | None:
        """Return who calls; None where the config has no tokens, and so lets everybody in.

        Raises:
            RequestRefusedError: the request does not show exactly one known token.
        """
        if not self._entries:
            return None
        headers = facts.header_values(PRINCIPAL_HEADER)
        token = _bearer(headers[0]) if len(headers) == 1 else ""
        principal = self.find(token) if token else None
        if principal is None:
            message = "unknown bearer token" if token else "a bearer token is required"
            raise RequestRefusedError(message, status=401, code="invalid_api_key")
        return principal


def _bearer(value: str) -> str:
    scheme, _, token = value.partition(" ")
    return token.strip(" ") if scheme.lower() == _SCHEME else ""
