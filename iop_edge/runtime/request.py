"""What a front knows of a request when it asks what the config makes of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Headers = Mapping[str, str] | Iterable[tuple[str, str]]
"""Header names with values; as pairs, a name may come more than once."""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A request as it came in.

    `model` and the token counts are what the JSON body holds, of whatever type it is there: one that is wrong is
    refused, not raised. None is a field that is absent or null. `headers` are never shown.

    Args:
        model: the external `model` of the request.
        headers: the request's headers; names are compared without case.
        estimated_input_tokens: how many tokens the input is thought to take, 0 or more.
        max_tokens: the most tokens that the answer may take.
        max_completion_tokens: the same, by its newer name.
        thinking_token_budget: the most tokens that thinking may take.

    Raises:
        ValueError: `estimated_input_tokens`, which is the front's own, is negative.
    """

    model: object
    headers: Headers = field(repr=False)
    estimated_input_tokens: int
    max_tokens: object = None
    max_completion_tokens: object = None
    thinking_token_budget: object = None

    def __post_init__(self) -> None:
        if self.estimated_input_tokens < 0:
            raise ValueError(f"estimated_input_tokens must be >= 0, got {self.estimated_input_tokens}")
        pairs = self.headers.items() if isinstance(self.headers, Mapping) else self.headers
        object.__setattr__(self, "headers", tuple(pairs))

    def header_values(self, name: str) -> list[str]:
        """Return the values of all headers of a name, without the blanks around them."""
        return list(_values(self.headers, name))


def _values(headers: Headers, name: str) -> Iterator[str]:
    wanted = name.lower()
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return (value.strip(" \t") for key, value in pairs if key.lower() == wanted)
