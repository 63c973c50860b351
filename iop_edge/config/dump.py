"""A tree as YAML text that loads again: what `config show` prints and what history keeps."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from iop_edge.schema import table
from iop_edge.schema.redact import redact_text, reveals
from iop_edge.schema.references import absolute_files, escape
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import (
    NONE_BELOW,
    REDACTED,
    ReadTree,
    Reference,
    References,
    ReferenceTree,
    below,
    entries,
)

_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*")
_WORDS: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
"""Texts that some YAML reader or other takes for something else."""

_LONGEST_KEY: Final = 1000
"""From 1024 characters on, a key is one only behind a question mark."""

_CONTAINERS: Final = (dict, list)

_AsWritten = Callable[[Reference], str]
"""How a reference is written in place of the value that came from it."""


def dump(tree: ReadTree, references: References) -> str:
    """Return a config as YAML: fields in the order of the schema, secrets redacted, references as they were written."""
    return _Writer(lambda reference: reference.text).text(tree, references)


def dump_for_history(tree: ReadTree, references: References) -> str:
    """Return a config as `dump` does, with file references that hold from any directory (REF-11)."""
    return _Writer(lambda reference: absolute_files(reference.text, reference.base_dir)).text(tree, references)


class _Writer:
    """Writes a tree, piece by piece."""

    def __init__(self, as_written: _AsWritten) -> None:
        self._as_written = as_written
        self._pieces: list[str] = []

    def text(self, tree: ReadTree, references: References) -> str:
        """Return a whole config as text."""
        self._mapping(tree, table.root(), references.tree, "", "")
        return "".join(self._pieces)

    def _mapping(self, tree: ReadTree, message: Message, references: ReferenceTree, first: str, indent: str) -> None:
        """Write the fields of a message; `first` stands before the first of them, `indent` before the others."""
        before = first
        for name, field in message.fields.items():
            value = tree.get(name)
            if value is None or (value.__class__ in _CONTAINERS and not value):
                continue
            self._pieces.append(f"{before}{name}:")
            self._value(value, field, references.get(name, NONE_BELOW), indent)
            before = indent
        if before == first != indent:
            self._pieces.append(f"{first}{{}}\n")

    def _value(self, value: Any, field: Field, references: Reference | ReferenceTree, indent: str) -> None:
        if field.is_scalar or isinstance(references, Reference):
            self._pieces.append(f" {self._scalar(value, field, references)}\n")
        elif field.kind is Kind.MESSAGE:
            self._pieces.append("\n")
            message, inner = field.message(), f"{indent}  "
            if field.repeated:
                for step, item in entries(field, value).items():
                    self._mapping(item, message, below(references, step), f"{inner}- ", f"{inner}  ")
            else:
                self._mapping(value, message, references, inner, inner)
        elif field.kind is Kind.MAP:
            inner = f"{indent}  "
            self._pieces.append("\n")
            for key, item in value.items():
                scalar = self._scalar(item, field, references.get(key), key)
                self._pieces.append(f"{inner}{_key(key, inner)}: {scalar}\n")
        else:
            items = (self._scalar(item, field, references.get(index)) for index, item in enumerate(value))
            self._pieces.append(f" [{', '.join(items)}]\n")

    def _scalar(self, value: Any, field: Field, reference: object, map_key: str = "") -> str:
        if isinstance(reference, Reference):
            return yaml_json(REDACTED if reveals(field, reference.text, map_key) else self._as_written(reference))
        if value.__class__ is str:
            shown = redact_text(field, value, map_key)
            return yaml_json(REDACTED) if shown is REDACTED else _text(escape(shown))
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
