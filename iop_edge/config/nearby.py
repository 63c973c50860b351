"""Knows whether a key stands right behind a secret (CFG-08).

A secret of several lines that is quoted or indented wrongly ends early, and what is left of it may read as keys.
"""

from typing import Any

from iop_edge.config.events import Event
from iop_edge.config.marks import Mark
from iop_edge.schema.redact import is_secret, reveals
from iop_edge.schema.table import Field
from iop_edge.schema.values import Sourced

_Place = tuple[int, int]


class Nearby:
    """The last key that was read, and the last one whose value is a secret or a part of one."""

    def __init__(self) -> None:
        self._last: _Place = (-1, -1)
        self._secret: _Place = (-2, -2)

    def passed(self, seen: dict[str, Event]) -> None:
        """Note that a mapping with these keys has ended."""
        self._last = self._last_of(seen)

    def read(self, key: Event, field: Field, value: Any) -> None:
        """Note the value of a field."""
        if _tells(field, value):
            self.hid(key)

    def hid(self, key: Event) -> None:
        """Note that a key is, or has, a part of a secret."""
        self._secret = max(self._last, _place(key))

    def is_behind_secret(self, seen: dict[str, Event]) -> bool:
        """Tell whether no key has come since a secret, if a mapping has had these keys so far."""
        return self._last_of(seen) <= self._secret

    def _last_of(self, seen: dict[str, Event]) -> _Place:
        return max(self._last, _place(next(reversed(seen.values())))) if seen else self._last


def may_tell(field: Field) -> bool:
    """Tell whether the value of a field may be a secret, or hold one."""
    return field.sensitive or field.masked or field.format == "http_url"


def _tells(field: Field, value: Any, map_key: str = "") -> bool:
    """Tell whether a value is a secret; one that could not be read, or stands in another line, may be."""
    if value is None or value.__class__ is Mark:
        return field.sensitive or field.masked
    if value.__class__ is Sourced:
        return field.masked or reveals(field, value.reference, map_key)
    if value.__class__ is dict:
        return any(_tells(field, item, key) for key, item in value.items())
    return field.masked or is_secret(field, str(value), map_key)


def _place(key: Event) -> _Place:
    return key.start_mark.line, key.start_mark.column
