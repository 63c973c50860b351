"""The canonical form of a config, and its hash.

Two configs that mean the same have the same canonical form: keys are sorted, and lists whose items have an identity are
sorted by it. Secrets enter the form through an HMAC, so that whoever sees hashes cannot test guesses against them.
"""

import hashlib
import hmac
import json
from functools import cache
from typing import Any

from iop_edge.schema.redact import is_secret, may_hold_secret
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import ReadTree


def digest(tree: ReadTree, message: Message, key: bytes) -> str:
    """Return the SHA-256 of a tree's canonical form in hex; `key` guards the secrets in it."""
    form = json.dumps(_canonical(tree, message, key), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(form.encode()).hexdigest()


@cache
def _careful(message: Message) -> tuple[tuple[str, Field], ...]:
    """The fields whose values do not stand in the form as they are."""
    return tuple(
        (name, field) for name, field in message.fields.items() if not field.is_scalar or may_hold_secret(field)
    )


def _canonical(tree: ReadTree, message: Message, key: bytes) -> dict[str, Any]:
    form = dict(tree)
    for name, field in _careful(message):
        if name in form:
            form[name] = _value(form[name], field, key)
    return form


def _value(value: Any, field: Field, key: bytes) -> Any:
    if field.is_message_list:
        return _items(value, field.message(), key)
    if field.kind is Kind.MESSAGE:
        return _canonical(value, field.message(), key)
    if field.kind is Kind.MAP:
        return {field.folded(map_key): _scalar(item, field, key, map_key) for map_key, item in value.items()}
    if not field.repeated:
        return _scalar(value, field, key)
    if may_hold_secret(field):
        return [_scalar(item, field, key) for item in value]
    return value


def _items(items: list[ReadTree], message: Message, key: bytes) -> list[dict[str, Any]]:
    if message.identity is not None:
        name = message.identity.name
        items = sorted(items, key=lambda item: str(item[name]))
    return [_canonical(item, message, key) for item in items]


def _scalar(value: Any, field: Field, key: bytes, map_key: str = "") -> Any:
    # A scalar never is an object in the form, so that this cannot be mistaken for a plain value.
    if may_hold_secret(field) and is_secret(field, str(value), map_key):
        return {"hmac": hmac.digest(key, str(value).encode(), "sha256").hex()}
    return value
