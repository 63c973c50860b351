"""What a front knows of a request. Headers hold tokens, so nothing here prints or stores them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn, Self, TypeGuard

from iop_edge.schema.table import INT_RANGES

HeaderPairs = Iterable[tuple[str, str] | tuple[bytes, bytes]]
HeaderSource = Mapping[str, str] | HeaderPairs
"""Header names with values; as pairs, a name may come more than once."""

_BLANKS: Final = " \t"
MAX_TOKENS: Final = INT_RANGES["int64"][1]


class Unstorable:
    """Holds a secret: copying gives the same object, and pickling fails."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is not stored: it holds a token")


class RequestHeaders(Unstorable):
    """The headers of a request, by name without regard to case, with every value that came.

    A character stands for the octet of its number, as in ASGI.
    """

    __slots__ = ("_pairs",)

    def __init__(self, source: HeaderSource) -> None:
        pairs: HeaderPairs = source.items() if isinstance(source, Mapping) else source
        self._pairs = tuple((_text(name).lower(), _text(value)) for name, value in pairs)

    def values(self, name: str) -> list[str]:
        """Return the values of all headers of a name, without surrounding blanks."""
        wanted = name.lower()
        return [value.strip(_BLANKS) for given, value in self._pairs if given == wanted]

    def __repr__(self) -> str:
        return f"RequestHeaders({len(self._pairs)})"


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """A request as it came in.

    `model` and the token counts are what the JSON body holds, of any type: a wrong one is refused, not raised. None
    stands for a field that is absent or null. `headers` are never shown, and never stored.

    Args:
        model: the external `model` of the request.
        headers: the request's headers, as a mapping or as pairs, of texts or octets.
        estimated_input_tokens: how many tokens the input is estimated at, 0 or more.
        max_tokens: the maximum length of the answer, in tokens.
        max_completion_tokens: the same, by its newer name.
        thinking_token_budget: the maximum number of tokens to spend on thinking.

    Raises:
        ValueError: `estimated_input_tokens`, which is the front's own, is not a count of tokens.

    Example:
        RequestFacts("qwen", {"Authorization": "Bearer key"}, estimated_input_tokens=12, max_tokens=100)
    """

    model: object
    headers: HeaderSource | RequestHeaders = field(repr=False, compare=False)
    estimated_input_tokens: int
    max_tokens: object = None
    max_completion_tokens: object = None
    thinking_token_budget: object = None

    def __post_init__(self) -> None:
        if not is_token_count(self.estimated_input_tokens):
            raise ValueError("estimated_input_tokens must be a whole number, 0 or more, that fits 64 bits")
        if not isinstance(self.headers, RequestHeaders):
            object.__setattr__(self, "headers", RequestHeaders(self.headers))

    def header_values(self, name: str) -> list[str]:
        """Return the values of all headers of a name, without surrounding blanks."""
        assert isinstance(self.headers, RequestHeaders)
        return self.headers.values(name)


def is_token_count(value: object, least: int = 0) -> TypeGuard[int]:
    """Tell whether a value is a whole number of at least so much that fits 64 bits; to Python a bool is a number."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_TOKENS


def _text(octets: str | bytes) -> str:
    return octets.decode("latin-1") if isinstance(octets, bytes) else octets
