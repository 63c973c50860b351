"""What a front knows of a request when it asks what the config makes of it."""

from dataclasses import dataclass, field

from iop_edge.requests.request_headers import HeaderSource, RequestHeaders
from iop_edge.schema.table import INT_RANGES

_LARGEST_ESTIMATE = INT_RANGES["int64"][1]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A request as it came in.

    `model` and the token counts are what the JSON body holds, of whatever type it is there: one that is wrong is
    refused, not raised. None is a field that is absent or null. `headers` are never shown, and never stored.

    Args:
        model: the external `model` of the request.
        headers: the request's headers, as a mapping or as pairs, of texts or octets; names are compared without case.
        estimated_input_tokens: how many tokens the input is thought to take, 0 or more.
        max_tokens: the most tokens that the answer may take.
        max_completion_tokens: the same, by its newer name.
        thinking_token_budget: the most tokens that thinking may take.

    Raises:
        ValueError: `estimated_input_tokens`, which is the front's own, is no count of tokens.
    """

    model: object
    headers: HeaderSource | RequestHeaders = field(repr=False, compare=False)
    estimated_input_tokens: int
    max_tokens: object = None
    max_completion_tokens: object = None
    thinking_token_budget: object = None

    def __post_init__(self) -> None:
        estimate: object = self.estimated_input_tokens
        if not isinstance(estimate, int) or isinstance(estimate, bool) or not 0 <= estimate <= _LARGEST_ESTIMATE:
            raise ValueError("estimated_input_tokens must be a whole number, 0 or more, that fits 64 bits")
        if not isinstance(self.headers, RequestHeaders):
            object.__setattr__(self, "headers", RequestHeaders(self.headers))

    def header_values(self, name: str) -> list[str]:
        """Return the values of all headers of a name, without the blanks around them."""
        assert isinstance(self.headers, RequestHeaders)
        return self.headers.values(name)
