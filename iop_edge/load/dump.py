"""A tree as YAML text that loads again: what `config show` prints and what history keeps."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from iop_edge.load.references import absolute_files, escape
from iop_edge.schema import table
from iop_edge.schema.redact import redact_text, reveals
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import REDACTED, ReadTree, Sourced

_PLAIN: Final = re.compile(r"[A-Za-z/][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*")
_WORDS: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
"""Texts that some YAML reader or other takes for something else."""

_LONGEST_KEY: Final = 1000
"""From 1024 characters on, a key is one only behind a question mark."""

_Reference = Callable[[Sourced], str]
"""How a value that came from a reference is written."""


def dump(tree: ReadTree) -> str:
    """Return a config as YAML: fields in the order of the schema, secrets redacted, references as they were written."""
    return "".join(_mapping(tree, table.root(), "", _as_written))


def dump_for_history(tree: ReadTree) -> str:
    """Return a config as `dump` does, with file references that hold from any directory (REF-11)."""
    return "".join(_mapping(tree, table.root(), "", _absolute))


def _as_written(value: Sourced) -> str:
    return value.reference


def _absolute(value: Sourced) -> str:
    return absolute_files(value.reference, value.base_dir)


def _mapping(tree: ReadTree, message: Message, indent: str, reference: _Reference) -> Iterator[str]:
    for name, field in message.fields.items():
        value = tree.get(name)
        if value is None or value in ({}, []):
            continue
        yield f"{indent}{name}:"
        yield from _value(value, field, indent, reference)


def _value(value: Any, field: Field, indent: str, reference: _Reference) -> Iterator[str]:
    inner = indent + "  "
    if field.is_message:
        yield "\n"
        yield from _mapping(value, field.message(), inner, reference)
    elif field.is_message_list:
        yield "\n"
        for item in value:
            yield from _item(item, field.message(), inner, reference)
    elif field.kind is Kind.MAP:
        yield "\n"
        for key, item in value.items():
            yield f"{inner}{_key(key, inner)}: {_scalar(item, field, reference, key)}\n"
    elif field.repeated:
        yield f" [{', '.join(_scalar(item, field, reference) for item in value)}]\n"
    else:
        yield f" {_scalar(value, field, reference)}\n"


def _item(tree: ReadTree, message: Message, indent: str, reference: _Reference) -> Iterator[str]:
    lines = _mapping(tree, message, indent + "  ", reference)
    first = next(lines, f"{indent}  {{}}\n")
    yield f"{indent}- {first[len(indent) + 2 :]}"
    yield from lines


def _scalar(value: Any, field: Field, reference: _Reference, map_key: str = "") -> str:
    if isinstance(value, Sourced):
        return _quoted(REDACTED if reveals(field, value.reference, map_key) else reference(value))
    if value is True:
        return "true"
    if value is False:
        return "false"
    if not isinstance(value, str):
        return REDACTED if field.sensitive else repr(value)
    shown = redact_text(field, value, map_key)
    return _quoted(REDACTED) if shown is REDACTED else _text(escape(shown))


def _key(key: str, indent: str) -> str:
    text = _text(key)
    return text if len(text) <= _LONGEST_KEY else f"? {text}\n{indent}"


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
