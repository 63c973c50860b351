"""What is a secret, and how trees and messages are shown without it (CFG-07, CFG-08).

Redaction goes by field, never by text: a value that looks like a secret in a field that holds none is data.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from iop_edge.schema import table
from iop_edge.schema.formats import has_format
from iop_edge.schema.references import EnvReference, ParsedReference, ReferenceSyntaxError, holds_reference, parse
from iop_edge.schema.table import Field, Kind, Message
from iop_edge.schema.values import NONE_BELOW, REDACTED, ReadTree, Reference, ReferenceTree, entries

_HOLE: Final = "\ue000"
"""Stands for a reference without a default while the text around it is judged."""

_HOLES: Final = rf"{_HOLE}(?::?{_HOLE})*"
# A scheme is a short word of letters, at most with the number of a version: what has more digits may be a key.
_REFERENCES_ALONE: Final = re.compile(rf"(?:[A-Za-z][A-Za-z-]{{0,23}}[0-9]? )?{_HOLES}")
_FILLED_IN: Final = re.compile(rf"(?<=//){_HOLES}@|(?<=[?&;#])[^&;=#]*={_HOLES}(?=[&;#]|\Z)")
"""The user information, and the query parameters, of a URL that are nothing but references."""

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# fmt: off
_KEY_LIKE: Final = frozenset((
    "accesskey", "accesstoken", "apikey", "auth", "authorization", "authtoken", "bearer", "code",
    "credential", "credentials", "jwt", "key", "pass", "passphrase", "passwd", "password", "pw", "pwd", "sas",
    "secret", "secretkey", "sig", "signature", "subscriptionkey", "token",
))
# fmt: on
"""Words in a name that make its value a credential."""


# fmt: off
_HARMLESS_PARAMETERS: Final = frozenset((
    "alt", "api-version", "api_version", "beta", "deployment", "format", "location", "model", "page", "project",
    "region", "stream", "tenant", "timeout", "v", "version",
))
# fmt: on
"""Query parameters, in lower case, whose values are no credentials; what any other holds may be one."""

_SHAPED: Final = re.compile(
    r"(?:bearer|basic|token|apikey)\s|-----BEGIN |AKIA|AIza|eyJ"
    r"|(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[a-z]|hf|gsk)[-_]",
    re.IGNORECASE,
)
"""How credentials in wide use begin."""

_LONGEST_QUOTED: Final = 40


def may_hold_secret(field: Field) -> bool:
    """Tell whether values of a field need a look with `is_secret` or `reveals` at all."""
    return field.sensitive or field.format == "http_url"


def is_secret(field: Field, text: str, map_key: str = "") -> bool:
    """Tell whether a text in this field is a secret.

    It is where the field is declared sensitive, except under a map key that is declared harmless, and in a URL or an
    address that carries user information, or a URL that carries a query parameter that is not known to be harmless.
    """
    if field.sensitive:
        return map_key.lower() not in field.harmless_keys
    return _may_carry_user(field, text) or (field.format == "http_url" and url_holds_secret(text))


def _may_carry_user(field: Field, text: str) -> bool:
    """Tell whether an address carries user information, as none may; the path of a socket has no such thing."""
    return field.format == "address" and "@" in text and not text.startswith("unix:")


def url_holds_secret(text: str) -> bool:
    """Tell whether a URL carries user information, or a query parameter not known to be harmless."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return any(mark in text for mark in "@?#")
    # What is meant to be a URL and is none, say for a slash in a password, may still carry user information.
    if "@" in (parts.netloc if parts.netloc and _has_sound_port(parts) else text):
        return True
    # For some servers a semicolon separates parameters too; a fragment goes to none, but it is shown.
    query = f"{parts.query}&{parts.fragment}".replace(";", "&")
    return any(name.lower() not in _HARMLESS_PARAMETERS for name, _ in parse_qsl(query, keep_blank_values=True))


def _has_sound_port(parts: SplitResult) -> bool:
    try:
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return False
    return True


def is_key_like(name: str) -> bool:
    """Tell whether the words of a name say that its value is a credential: `design` does not."""
    return any(word.lower() in _KEY_LIKE for word in _WORD.findall(name))


def looks_like_credential(text: str) -> bool:
    """Tell whether a text has the shape of a credential, whatever field it stands in."""
    return _SHAPED.match(text) is not None


def is_withheld(field: Field, text: str) -> bool:
    """Tell whether a text that its field does not take is not quoted, since it is likely a credential.

    It has the shape of one, a space or a colon in it, or more than 40 characters; addresses and URLs have colons
    anyway. No authentication scheme is quoted: next to it stands the credential.
    """
    if field.format == "auth_scheme" or looks_like_credential(text) or len(text) > _LONGEST_QUOTED:
        return True
    return " " in text.strip() or (":" in text and field.format not in ("address", "http_url"))


def is_misplaced(field: Field, text: str) -> bool:
    """Tell whether a text, of any field, is one that its field does not take, and likely a credential."""
    if holds_reference(text) or not is_withheld(field, text):
        return False
    return field.kind not in (Kind.STRING, Kind.MAP) or (bool(field.format) and not has_format(field.format, text))


def redact_text(field: Field, text: str, map_key: str = "") -> str:
    """Return the text as it may be shown."""
    return REDACTED if is_secret(field, text, map_key) else text


def reveals(field: Field, reference: str, map_key: str = "") -> bool:
    """Tell whether a text with references in it holds a secret itself: beside them, or as a default of one.

    An authentication scheme before them is none, nor is a colon between them.
    """
    text = _with_holes(reference)
    if field.sensitive:
        return map_key.lower() not in field.harmless_keys and _REFERENCES_ALONE.fullmatch(text) is None
    return _may_carry_user(field, text) or (field.format == "http_url" and url_holds_secret(_FILLED_IN.sub("", text)))


def has_default(reference: str) -> bool:
    """Tell whether a text has a reference in it that has a default, which would stand in place of a secret."""
    try:
        return any(isinstance(part, EnvReference) and part.default is not None for part in parse(reference))
    except ReferenceSyntaxError:
        return False


def _with_holes(reference: str) -> str:
    try:
        parts = parse(reference)
    except ReferenceSyntaxError:
        return reference
    return "".join(part if isinstance(part, str) else _stand_in(part) for part in parts)


def _stand_in(part: ParsedReference) -> str:
    return (part.default if isinstance(part, EnvReference) else "") or _HOLE


def redact_value(
    field: Field, value: Any, map_key: str = "", references: Reference | ReferenceTree = NONE_BELOW
) -> Any:
    """Return the value of a field as it may be shown: plain JSON types, and the reference that a value came from."""
    if isinstance(references, Reference):
        return REDACTED if reveals(field, references.text, map_key) else references.text
    if isinstance(value, list):
        items = entries(field, value).items()
        return [redact_value(field, item, "", references.get(step, NONE_BELOW)) for step, item in items]
    if field.kind is Kind.MESSAGE:
        return redact_tree(field.message(), value, references)
    if isinstance(value, dict):
        return {key: redact_value(field, item, key, references.get(key, NONE_BELOW)) for key, item in value.items()}
    if isinstance(value, str):
        return redact_text(field, value, map_key)
    return REDACTED if field.sensitive else value


def redact_tree(message: Message, tree: ReadTree, references: ReferenceTree = NONE_BELOW) -> dict[str, Any]:
    """Return a tree as it may be shown."""
    return {
        name: redact_value(message.fields[name], value, "", references.get(name, NONE_BELOW))
        for name, value in tree.items()
    }


def printer(name: str) -> Callable[[Any], str]:
    """Return the `__repr__` of a generated message, by its name without the package: its set fields, redacted.

    A message does not say which of its values came from references. One that holds values of a config therefore shows
    no text in which a reference may have stood.
    """

    def show(message: Any) -> str:
        return f"{type(message).__name__}({', '.join(_shown_fields(message, table.message(name)))})"

    return show


def _shown_fields(message: Any, kind: Message) -> Iterator[str]:
    is_of_config = kind.name in _config_messages()
    for name, field in kind.fields.items():
        value = getattr(message, name)
        if value is None or value in ([], {}, "", b""):
            continue
        # Nested messages print themselves.
        shown = value if field.kind is Kind.MESSAGE else redact_value(field, value)
        if is_of_config and field.takes_references:
            shown = _without_texts(shown)
        yield f"{name}={shown!r}"


def _without_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_texts(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_texts(item) for key, item in value.items()}
    return REDACTED if value.__class__ is str else value


@cache
def _config_messages() -> frozenset[str]:
    """Return the names of the messages that hold values of a config: of the config itself, and of a Node's payload."""
    names = ["EdgeConfig", "NodeConfigPayload"]
    for name in names:
        below = (field.type_name for field in table.message(name).fields.values() if field.kind is Kind.MESSAGE)
        names += [each for each in below if each not in names]
    return frozenset(names)
