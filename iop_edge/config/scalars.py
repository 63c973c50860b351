"""How a scalar is read, by the kind of its field (CFG-11).

The rule behind the rules: nothing is accepted that a strict, typed YAML reader in Go refuses or reads as another value,
and nothing is guessed. Where tools disagree about a plain scalar, quotes decide.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from iop_edge.rules import Rule
from iop_edge.schema.redact import is_secret, is_withheld
from iop_edge.schema.table import INT_RANGES, EnumType, Field, Kind
from iop_edge.schema.values import REDACTED

NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
"""Plain scalars that are null."""

BOOLS: Final[Mapping[str, bool]] = MappingProxyType(
    {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
)
"""Plain scalars that are bools. The words of YAML 1.1 (yes, on, ...) are text."""

SUSPECT_STARTS: Final = frozenset(["", *"0123456789+-.~tTfFnN<"])
"""How a plain text begins that may be no text, or that needs a closer look."""

MOST_REMEMBERED: Final = 4096
"""How many scalars with their values are kept for the next time that they come."""

_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_LONGEST_INTEGER: Final = 24
_LONGEST_NUMBER: Final = 400
_LONGEST_SHOWN: Final = 40

# Matched after underscores are dropped, as Go does before it tries for a number.
_LIKE_NUMBER: Final = re.compile(
    r"""[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?
      | [-+]?0[xX][0-9a-fA-F]*
      | [-+]?0[oO][0-7]*
      | [-+]?0[bB][01]*
      | [-+]?\.(?:inf|Inf|INF)
      | \.(?:nan|NaN|NAN)""",
    re.VERBOSE,
)
_LIKE_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?")
_MEANT_BOOL: Final = MappingProxyType(
    {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
)


class PlainTexts(dict[str, str | None]):
    """The plain scalars of a file that are text, by themselves: what stands there often is looked at, and kept, once.

    Looking a scalar up returns None for one that needs a closer look. Texts may be secrets: none outlives the load.
    """

    def __missing__(self, text: str) -> str | None:
        if not text or "$" in text or (text[0] in SUSPECT_STARTS and (text == REDACTED or _other_reading(text))):
            return None
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        self[text] = text
        return text


class ScalarError(ValueError):
    """A scalar that does not fit its field. Nothing in it shows a value that may be a secret."""

    def __init__(self, rule: Rule, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.hint = hint


class _Scalar(NamedTuple):
    """A scalar as it stands in a file, and the field that it is for."""

    field: Field
    text: str
    plain: bool

    @property
    def may_be_shown(self) -> bool:
        field, text = self.field, self.text
        is_hidden = field.masked or is_secret(field, text) or is_withheld(field, text)
        return len(text) <= _LONGEST_SHOWN and text.isprintable() and not is_hidden

    def shown(self, otherwise: str) -> str:
        """Return the scalar as it is written, or something else where it may be a secret or is no sight."""
        if not self.may_be_shown:
            return otherwise
        return self.text if self.plain else f'"{self.text}"'


def read(field: Field, text: str, *, plain: bool) -> Any:
    """Return the value of a scalar as a file has it, neither null nor a reference.

    A word of an enum stays in the accepted spelling in which it is written, aliases included.

    Args:
        field: the field; of a list or a map, the field of one item (see `item_field`).
        text: the scalar.
        plain: whether it is written without quotes and block marks.

    Raises:
        ScalarError: the scalar does not fit the field.
    """
    return _READERS[field.kind](_Scalar(field, text, plain))


def from_text(field: Field, text: str) -> Any:
    """Return the value of a text that a reference resolved to, in the type of its field (CFG-06).

    Quotes mean nothing here: text is text for a text field, and is read strictly for any other. For a list or a map the
    value is that of one item.

    Raises:
        ScalarError: the text does not fit the field. The error never shows the text.
    """
    kind = item_field(field).kind
    if kind is Kind.STRING:
        return text
    try:
        return _READERS[kind](_Scalar(item_field(field), text, plain=True))
    except ScalarError as error:
        raise ScalarError(error.rule, _unshown(field, error.rule)) from None


@cache
def item_field(field: Field) -> Field:
    """Return the field as one item of it is read: the text of a map, the scalar or message of a list."""
    kind = Kind.STRING if field.kind is Kind.MAP else field.kind
    return replace(field, kind=kind, repeated=False)


def known(field: Field) -> dict[str, Any]:
    """Return the values of the plain scalars that a field takes as they are: bools, and the words of an enum."""
    if field.kind is Kind.BOOL:
        return dict(BOOLS)
    if field.kind is Kind.ENUM:
        enum = field.enum()
        return {word: word for word in (*enum.words, *enum.aliases)}
    return {}


def expectation(field: Field) -> str:
    """Return what a field holds, for a message: `a whole number`, `a list of texts`."""
    if field.kind is Kind.MAP:
        return "a mapping of texts"
    one, many = _NOUNS["integer" if field.kind.is_integer else field.kind.value]
    return f"a list of {many}" if field.repeated else one


def is_null(text: str, style: str | None) -> bool:
    """Tell whether a scalar is null. Both parsers give a plain scalar no style, each in its way."""
    return not style and text in NULLS


def normal_word(field: Field, word: str) -> str:
    """Return the spelling of a word under which its enum lists it."""
    return word.lower().replace("-", "_") if field.loose_spelling else word


def _read_string(scalar: _Scalar) -> str:
    text = scalar.text
    if not scalar.plain or text[:1] not in SUSPECT_STARTS:
        return text
    looks = _other_reading(text)
    if not looks:
        return text
    hint = f'write it in quotes: "{text}"' if scalar.may_be_shown else "write it in quotes"
    raise ScalarError(Rule.FIELD_TYPE, f"must be text, got {scalar.shown(looks)}", hint)


def _read_bool(scalar: _Scalar) -> bool:
    if scalar.plain and scalar.text in BOOLS:
        return BOOLS[scalar.text]
    word = scalar.text.lower()
    meant = word if word in BOOLS else _MEANT_BOOL.get(word)
    raise ScalarError(
        Rule.FIELD_TYPE,
        f"must be true or false, got {scalar.shown('something else')}",
        f"write {meant}, without quotes" if meant else "",
    )


def _read_integer(scalar: _Scalar) -> int:
    text = scalar.text
    if not scalar.plain or not _INTEGER.fullmatch(text):
        shown = scalar.shown("something else")
        raise ScalarError(Rule.FIELD_TYPE, f"must be a whole number, got {shown}", _integer_hint(scalar))
    low, high = INT_RANGES[scalar.field.kind.value]
    if len(text) > _LONGEST_INTEGER or not low <= int(text) <= high:
        raise ScalarError(
            Rule.VALUE_RANGE, f"must be between {low} and {high}, got {scalar.shown('a number beyond it')}"
        )
    return int(text)


def _read_number(scalar: _Scalar) -> float:
    text = scalar.text
    is_number = _NUMBER.fullmatch(text) is not None
    if not scalar.plain or not is_number:
        hint = "write it without quotes" if is_number else ""
        raise ScalarError(Rule.FIELD_TYPE, f"must be a number, got {scalar.shown('something else')}", hint)
    value = float(text) if len(text) <= _LONGEST_NUMBER else math.inf
    if not math.isfinite(value):
        raise ScalarError(
            Rule.VALUE_RANGE, f"must be a finite number, got {scalar.shown('a number beyond all bounds')}"
        )
    return value


def _read_word(scalar: _Scalar) -> str:
    enum = scalar.field.enum()
    word = normal_word(scalar.field, scalar.text)
    if word in enum.words or word in enum.aliases:
        return word
    raise ScalarError(Rule.VALUE_ENUM, f"must be one of {_words(enum)}, got {scalar.shown('another word')}")


def _other_reading(text: str) -> str:
    if text in BOOLS:
        return "true or false"
    if text in NULLS:
        return "null"
    if _LIKE_DATE.fullmatch(text):
        return "a date"
    if text[0] in SUSPECT_STARTS and _LIKE_NUMBER.fullmatch(text.replace("_", "")):
        return "a number"
    return ""


def _integer_hint(scalar: _Scalar) -> str:
    if not scalar.plain:
        return "write it without quotes" if _INTEGER.fullmatch(scalar.text) else ""
    return (
        "write it in decimal digits alone, without leading zeros" if _other_reading(scalar.text) == "a number" else ""
    )


def _unshown(field: Field, rule: str) -> str:
    if rule == Rule.VALUE_ENUM:
        return f"must be one of {_words(field.enum())}"
    if rule == Rule.VALUE_RANGE and field.kind.is_integer:
        low, high = INT_RANGES[field.kind.value]
        return f"must be between {low} and {high}"
    return f"must be {expectation(item_field(field))}"


def _words(enum: EnumType) -> str:
    return ", ".join(enum.words)


_NOUNS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "string": ("text", "texts"),
        "bool": ("true or false", "bools"),
        "integer": ("a whole number", "whole numbers"),
        "double": ("a number", "numbers"),
        "enum": ("a word", "words"),
        "message": ("a mapping", "mappings"),
    }
)

_READERS: Final[Mapping[Kind, Callable[[_Scalar], Any]]] = MappingProxyType(
    {
        Kind.STRING: _read_string,
        Kind.BOOL: _read_bool,
        Kind.INT32: _read_integer,
        Kind.INT64: _read_integer,
        Kind.UINT32: _read_integer,
        Kind.UINT64: _read_integer,
        Kind.DOUBLE: _read_number,
        Kind.ENUM: _read_word,
    }
)
