"""Forwarding of a caller's own provider token, to those that may have it (POL-08)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, Self

from iop_edge.ids import ProviderId
from iop_edge.requests.principals import Principals
from iop_edge.requests.request import RequestFacts
from iop_edge.requests.request_refusal import RequestRefusal, RequestRefusalReason
from iop_edge.schema.values import REDACTED, ReadTree, plain

_CATEGORY: Final = "api"
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")


class ForwardedToken:
    """A caller's token on its way to a provider. Nothing that prints it shows it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the token, for the header of the one request that carries it."""
        return self._value

    def __repr__(self) -> str:
        return REDACTED

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token is not stored")


@dataclass(frozen=True, slots=True)
class ProviderAuth:
    """How tokens are forwarded. `providers` that is empty means every provider of category `api`."""

    from_header: str
    target_header: str
    scheme: str
    required: bool
    providers: frozenset[ProviderId]

    def token_of(self, facts: RequestFacts, principals: Principals) -> ForwardedToken | RequestRefusal | None:
        """Take the caller's own token from a request: why it cannot be forwarded, or None where there is none.

        That is for `apply` to say: a provider that may not have the token does not care how it is.
        """
        values = facts.header_values(self.from_header)
        if len(values) > 1:
            return self._invalid("comes more than once")
        value = self._without_scheme(values[0]) if values else ""
        if not value:
            return None
        if not _TOKEN.fullmatch(value):
            return self._invalid("must hold a token, of printable ASCII, and nothing else")
        if principals.find(value) is not None:
            return self._invalid("holds the token of a principal of this Edge, which never leaves it")
        return ForwardedToken(value)

    def is_for(self, provider_id: ProviderId, category: str) -> bool:
        """Tell whether a provider may have a caller's token."""
        return category == _CATEGORY and (not self.providers or provider_id in self.providers)

    def apply(
        self, token: ForwardedToken | RequestRefusal | None, configured: Mapping[str, str]
    ) -> dict[str, str] | RequestRefusal:
        """Return the headers for a provider that may have the token: it takes the place of a configured one.

        What the config has under the name of the header that the token came in does not go with it.
        """
        if isinstance(token, RequestRefusal):
            return token
        if token is None:
            if not self.required:
                return dict(configured)
            message = f"this provider needs your own token in the header {self.from_header}"
            return RequestRefusal(RequestRefusalReason.PROVIDER_TOKEN_MISSING, message, self.from_header)
        replaced = (self.target_header.lower(), self.from_header.lower())
        headers = {name: value for name, value in configured.items() if name.lower() not in replaced}
        headers[self.target_header] = f"{self.scheme} {token.reveal()}".lstrip(" ")
        return headers

    def _without_scheme(self, value: str) -> str:
        """Return a token that is given with the scheme that it is sent with, without it."""
        scheme, _, token = value.partition(" ")
        return token.strip(" ") if self.scheme and scheme.lower() == self.scheme.lower() else value

    def _invalid(self, what: str) -> RequestRefusal:
        message = f"the header {self.from_header} {what}"
        return RequestRefusal(RequestRefusalReason.PROVIDER_TOKEN_INVALID, message, self.from_header)


def provider_auth_of(auth: ReadTree) -> ProviderAuth | None:
    """Read the forwarding from `provider_auth` of a normalized config; None: nothing is forwarded."""
    if plain(auth.get("enabled")) is not True:
        return None
    return ProviderAuth(
        from_header=plain(auth["from_header"]),
        target_header=plain(auth["target_header"]),
        scheme=plain(auth["scheme"]),
        required=plain(auth["required"]),
        providers=frozenset(map(ProviderId, auth.get("providers", ()))),
    )
