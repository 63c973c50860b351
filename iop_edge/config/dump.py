"""A tree as YAML text that loads again: what `config show` prints and what history keeps."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from iop_edge.schema import table
from iop_edge.schema.redact import redact_text, reveals
from iop_edge.schema.references import absolute_files, escape
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import REDACTED, ReadTree, Sourced

_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*")
_WORDS: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
"""Texts that some YAML reader or other takes for something else."""

_LONGEST_KEY: Final = 1000
"""From 1024 characters on, a key is one only behind a question mark."""

_CONTAINERS: Final = (dict, list)

_Reference = Callable[[Sourced], str]
"""How a value that came from a reference is written."""


def dump(tree: ReadTree) -> str:
    """Return a config as YAML: fields in the order of the schema, secrets redacted, references as they were written."""
    return _Writer(_as_written).text(tree)


def dump_for_history(tree: ReadTree) -> str:
    """Return a config as `dump` does, with file references that hold from any directory (REF-11)."""
    return _Writer(_absolute).text(tree)


def _as_written(value: Sourced) -> str:
    return value.reference


def _absolute(value: Sourced) -> str:
    return absolute_files(value.reference, value.base_dir)


class _Writer:
    """Writes a tree, piece by piece."""

    def __init__(self, reference: _Reference) -> None:
        self._reference = reference
        self._pieces: list[str] = []

    def text(self, tree: ReadTree) -> str:
        """Return a whole config as text."""
        self._mapping(tree, table.root(), "", "")
        return "".join(self._pieces)

    def _mapping(self, tree: ReadTree, message: Message, first: str, indent: str) -> None:
        """Write the fields of a message; `first` stands before the first of them, `indent` before the others."""
        before = first
        for name, field in message.fields.items():
            value = tree.get(name)
            if value is None or (value.__class__ in _CONTAINERS and not value):
                continue
            self._pieces.append(f"{before}{name}:")
            self._value(value, field, indent)
            before = indent
        if before == first != indent:
            self._pieces.append(f"{first}{{}}\n")

    def _value(self, value: Any, field: Field, indent: str) -> None:
        if field.is_scalar:
            self._pieces.append(f" {self._scalar(value, field)}\n")
        elif field.kind is Kind.MESSAGE:
            self._pieces.append("\n")
            message, inner = field.message(), f"{indent}  "
            if field.repeated:
                for item in value:
                    self._mapping(item, message, f"{inner}- ", f"{inner}  ")
            else:
                self._mapping(value, message, inner, inner)
        elif field.kind is Kind.MAP:
            inner = f"{indent}  "
            lines = (f"{inner}{_key(key, inner)}: {self._scalar(item, field, key)}\n" for key, item in value.items())
            self._pieces.append(f"\n{''.join(lines)}")
        else:
            self._pieces.append(f" [{', '.join(self._scalar(item, field) for item in value)}]\n")

    def _scalar(self, value: Any, field: Field, map_key: str = "") -> str:
        if value.__class__ is str:
            shown = redact_text(field, value, map_key)
            return yaml_json(REDACTED) if shown is REDACTED else _text(escape(shown))
        if isinstance(value, Sourced):
            return yaml_json(REDACTED if reveals(field, value.reference, map_key) else self._reference(value))
        if value.__class__ is bool:
            return "true" if value else "false"
        return REDACTED if field.sensitive else repr(value)


def _key(key: str, indent: str) -> str:
    text = _text(key)
    return text if len(text) <= _LONGEST_KEY else f"? {text}\n{indent}"


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return yaml_json(text)


def yaml_json(value: Any) -> str:
    """Return a JSON value on one line that YAML reads as the same value, whatever characters its texts have."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
