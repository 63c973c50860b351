"""The canonical form of a config, and its hash.

Two configs that mean the same have the same canonical form: keys are sorted, and lists whose items have an identity are
sorted by it. Secrets enter the form through an HMAC, so that whoever sees hashes cannot test guesses against them.
"""

import hashlib
import hmac
import json
from typing import Any

from iop_edge.schema.redact import is_secret
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import UNRESOLVED, ReadTree, Sourced


def digest(tree: ReadTree, message: Message, key: bytes) -> str:
    """Return the SHA-256 of a tree's canonical form in hex; `key` guards the secrets in it."""
    form = json.dumps(_canonical(tree, message, key), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(form.encode()).hexdigest()


def _canonical(tree: ReadTree, message: Message, key: bytes) -> dict[str, Any]:
    fields = message.fields
    return {name: _value(value, fields[name], key) for name, value in tree.items()}


def _value(value: Any, field: Field, key: bytes) -> Any:
    if field.kind is Kind.MESSAGE:
        message = field.message()
        if not field.repeated:
            return _canonical(value, message, key)
        items = value
        if message.identity is not None:
            name = message.identity.name
            items = sorted(value, key=lambda item: str(item[name]))
        return [_canonical(item, message, key) for item in items]
    if field.kind is Kind.MAP:
        fold = str.lower if field.caseless_keys else str
        return {fold(map_key): _scalar(item, field, key, map_key) for map_key, item in value.items()}
    if field.repeated:
        return [_scalar(item, field, key) for item in value]
    return _scalar(value, field, key)


def _scalar(value: Any, field: Field, key: bytes, map_key: str = "") -> Any:
    # A scalar never is an object in the form, so that neither of these two can be mistaken for a plain value.
    if value.__class__ is Sourced:
        if value.value is UNRESOLVED:
            return {"reference": value.reference}
        value = value.value
    if (field.sensitive or field.format) and is_secret(field, str(value), map_key):
        return {"hmac": hmac.digest(key, str(value).encode(), "sha256").hex()}
    return value
