"""The headers of a request as it came in. They hold tokens, so that nothing prints or stores them."""

from collections.abc import Iterable, Mapping
from typing import NoReturn, Self

HeaderPairs = Iterable[tuple[str, str] | tuple[bytes, bytes]]
HeaderSource = Mapping[str, str] | HeaderPairs
"""Header names with values; as pairs, a name may come more than once."""

_BLANKS = " \t"


class RequestHeaders:
    """Headers by name, compared without case, with every value that came.

    A character stands for the octet of its number, which is how fronts hand headers over that know no better.
    """

    __slots__ = ("_pairs",)

    def __init__(self, source: HeaderSource) -> None:
        pairs: HeaderPairs = source.items() if isinstance(source, Mapping) else source
        self._pairs = tuple((_text(name).lower(), _text(value)) for name, value in pairs)

    def values(self, name: str) -> list[str]:
        """Return the values of all headers of a name, without the blanks around them."""
        wanted = name.lower()
        return [value.strip(_BLANKS) for given, value in self._pairs if given == wanted]

    def __repr__(self) -> str:
        return f"RequestHeaders({len(self._pairs)})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("the headers of a request are not stored: they hold tokens")


def _text(octets: str | bytes) -> str:
    return octets.decode("latin-1") if isinstance(octets, bytes) else octets
