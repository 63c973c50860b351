"""Forwarding of a caller's own provider token to the providers that may have it (POL-08)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from iop_edge.errors import RequestRefusedError
from iop_edge.ids import ProviderId
from iop_edge.requests.facts import RequestFacts, Unstorable
from iop_edge.requests.principals import Principals
from iop_edge.schema.values import REDACTED

if TYPE_CHECKING:
    from iop_pb import trees

_CATEGORY: Final = "api"
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


class ForwardedToken(Unstorable):
    """A caller's own token, which nothing prints; or, with a `fault`, why it cannot be forwarded."""

    __slots__ = ("_value", "fault")

    def __init__(self, value: str, fault: str = "") -> None:
        self._value = value
        self.fault = fault

    def reveal(self) -> str:
        """Return the token, for the header of the one request that carries it."""
        return self._value

    def __repr__(self) -> str:
        return REDACTED


@dataclass(frozen=True, slots=True)
class ProviderAuth:
    """How tokens are forwarded. No `providers` means every provider of category `api`."""

    from_header: str
    target_header: str
    scheme: str
    required: bool
    providers: frozenset[ProviderId]

    @classmethod
    def of(cls, auth: "trees.ProviderAuth") -> Self | None:
        """Read the `provider_auth` of a config; None: nothing is forwarded."""
        if auth.get("enabled") is not True:
            return None
        return cls(
            from_header=auth["from_header"],
            target_header=auth["target_header"],
            scheme=auth["scheme"],
            required=auth["required"],
            providers=frozenset(map(ProviderId, auth.get("providers", ()))),
        )

    def token_of(self, facts: RequestFacts, principals: Principals) -> ForwardedToken | None:
        """Return the caller's own token; None: the request has none.

        A fault is for `apply` to raise: a provider that must not get the token does not care about it.
        """
        values = facts.header_values(self.from_header)
        if len(values) > 1:
            return ForwardedToken("", "occurs more than once")
        value = self._without_scheme(values[0]) if values else ""
        if not value:
            return None
        if not _TOKEN.fullmatch(value):
            return ForwardedToken("", "must be a token of printable ASCII characters")
        if principals.find(value) is not None:
            return ForwardedToken("", "holds the token of a principal of this Edge, which is never forwarded")
        return ForwardedToken(value)

    def is_for(self, provider_id: ProviderId, category: str) -> bool:
        """Tell whether a provider may have a caller's token."""
        return category == _CATEGORY and (not self.providers or provider_id in self.providers)

    def apply(self, token: ForwardedToken | None, configured: Mapping[str, str]) -> dict[str, str]:
        """Return the headers for a provider that may have the token, in place of a configured one.

        A configured header with the name of the one that the token came in is left out, too.

        Raises:
            RequestRefusedError: the token is missing and required, or cannot be forwarded.
        """
        if token is None:
            if self.required:
                message = f"this provider needs your own token in the header {self.from_header}"
                raise RequestRefusedError(message, status=401, code="provider_token_missing", param=self.from_header)
            return dict(configured)
        if token.fault:
            message = f"the header {self.from_header} {token.fault}"
            raise RequestRefusedError(message, status=400, code="provider_token_invalid", param=self.from_header)
        replaced = (self.target_header.lower(), self.from_header.lower())
        headers = {name: value for name, value in configured.items() if name.lower() not in replaced}
        headers[self.target_header] = f"{self.scheme} {token.reveal()}".lstrip(" ")
        return headers

    def _without_scheme(self, value: str) -> str:
        """Return a token without the scheme that it is going to be sent with, if it came with it."""
        scheme, _, token = value.partition(" ")
        return token.strip(" ") if self.scheme and scheme.lower() == self.scheme.lower() else value
