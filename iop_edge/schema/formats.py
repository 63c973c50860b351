"""Text formats: everything there is to know of each name in the `TextFormat` enum of `options.proto`.

Code generation refuses a name without an entry here, and an entry without a name.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from iop_edge.net import AddressError, parse_address
from iop_edge.rules import Rule

_MAX_IDENTIFIER_BYTES: Final = 256
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - the word of RFC 9110
_is_token: Final = re.compile(_TOKEN).fullmatch
_HOST_IN_URL: Final = re.compile(r"(?:\[[0-9A-Za-z:.%]+\]|\w(?:[\w-]*\w)?(?:\.\w(?:[\w-]*\w)?)*\.?)(?::[0-9]*)?")
_USUAL_PORT: Final = "(?:[0-9]{1,4}|[1-5][0-9]{4})"
_UNSAFE_IN_URL: Final = re.compile(r"[\s\x00-\x20\x7f\\<>\"^`{|}]")


@dataclass(frozen=True, slots=True)
class TextFormat:
    """One format.

    `usual` accepts usual texts at the cost of one match. `explain` judges the rest: it says what is wrong with a text,
    or returns an empty one. `words` describe the format to people. `json_pattern`, the pattern of the JSON Schema,
    accepts every text that the format does.
    """

    rule: Rule
    words: str
    json_pattern: str
    usual: re.Pattern[str]
    explain: Callable[[str], str]
    hint: str = ""

    def fault(self, text: str) -> str:
        """Return what is wrong with a text; empty for a text of this format."""
        return "" if self.usual.fullmatch(text) else self.explain(text)


def has_format(name: str, text: str) -> bool:
    """Tell whether a text has a format."""
    return not FORMATS[name].fault(text)


def _explain_identifier(text: str) -> str:
    if not text:
        return "must not be empty"
    if len(text.encode(errors="replace")) > _MAX_IDENTIFIER_BYTES:
        return f"must have at most {_MAX_IDENTIFIER_BYTES} bytes"
    if any(char.isspace() or not char.isprintable() for char in text):
        return "must be printable, without white space or control characters"
    return ""


def _explain_non_empty(text: str) -> str:
    if not text.strip():
        return "must not be empty"
    has_control = any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text)
    return "must not contain control characters" if has_control else ""


def _explain_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises for an invalid port
    except ValueError:
        return "must be an absolute http or https URL with a valid host and port"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must be an absolute http or https URL"
    if _UNSAFE_IN_URL.search(text):
        return "must not contain white space or characters that a URL encodes"
    return "" if _HOST_IN_URL.fullmatch(parts.netloc.rpartition("@")[2]) else "must have a valid host"


def _explain_address(text: str) -> str:
    try:
        parse_address(text)
    except AddressError as error:
        return str(error)
    return ""


def _explain_token(text: str) -> str:
    return "" if _is_token(text) else "must be a token: letters, digits and !#$%&'*+-.^_`|~"


def _explain_scheme(text: str) -> str:  # noqa: ARG001 - the pattern alone decides
    return "must be the name of a scheme: at most 32 letters"


def _explain_header_value(text: str) -> str:
    return "must not contain CR, LF or NUL" if any(char in text for char in "\r\n\0") else ""


def _explain_digest(text: str) -> str:  # noqa: ARG001 - the pattern alone decides
    return "must be a SHA-256 digest: 64 hex digits"


def _explain_pem(text: str) -> str:
    return "" if "-----BEGIN " in text and "-----END " in text else "must be PEM text"


def _explain_bearer_token(text: str) -> str:
    return "must be printable ASCII without spaces around it" if text else "must not be empty"


def _explain_http_path(text: str) -> str:
    if not text.startswith("/"):
        return 'must begin with "/"'
    return "must not contain white space or characters that a URL encodes" if _UNSAFE_IN_URL.search(text) else ""


FORMATS: Final[Mapping[str, TextFormat]] = MappingProxyType(
    {
        "identifier": TextFormat(
            Rule.VALUE_IDENTIFIER,
            "1 to 256 bytes, printable, without white space",
            r"^\S+$",
            re.compile(r"[!-~]{1,256}"),
            _explain_identifier,
        ),
        "non_empty": TextFormat(
            Rule.VALUE_NON_EMPTY,
            "at least one character that is not white space",
            r"\S",
            re.compile(r"[!-~][ -~]*"),
            _explain_non_empty,
        ),
        "http_url": TextFormat(
            Rule.VALUE_URL,
            "an absolute http or https URL",
            r"^[Hh][Tt][Tt][Pp][Ss]?://",
            re.compile(rf"https?://[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*(?::{_USUAL_PORT})?(?:/[A-Za-z0-9._~/-]*)?"),
            _explain_url,
            "for example http://127.0.0.1:11434",
        ),
        "address": TextFormat(
            Rule.VALUE_ADDRESS,
            "host:port, [v6]:port or unix:PATH",
            r"^unix:[^\0]|:[0-9]+$",
            re.compile(
                rf"[A-Za-z0-9](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?(?:\.[A-Za-z0-9]{{1,63}}){{0,3}}:{_USUAL_PORT}"
            ),
            _explain_address,
        ),
        "header_name": TextFormat(
            Rule.VALUE_HEADER_NAME, "a header name", rf"^{_TOKEN}$", re.compile(_TOKEN), _explain_token
        ),
        # The names of the headers have the format `header_name`; this is the format of a value.
        "headers": TextFormat(
            Rule.VALUE_HEADER_VALUE,
            "header names and values, without line breaks",
            "",
            re.compile(r"[ -~]*"),
            _explain_header_value,
        ),
        "sha256_hex": TextFormat(
            Rule.VALUE_SHA256,
            "64 hex digits",
            r"^[0-9A-Fa-f]{64}$",
            re.compile(r"[0-9a-fA-F]{64}"),
            _explain_digest,
            "make one with: iop-edge config hash-token",
        ),
        "pem": TextFormat(
            Rule.VALUE_PEM, "PEM text", "", re.compile(r"(?!)"), _explain_pem, "give it as a reference: ${file:PATH}"
        ),
        "auth_scheme": TextFormat(
            Rule.VALUE_AUTH_SCHEME,
            "an authentication scheme of at most 32 letters, or empty",
            "^[A-Za-z]{0,32}$",
            re.compile(r"[A-Za-z]{0,32}"),
            _explain_scheme,
            "give the token itself in the caller's header",
        ),
        "bearer_token": TextFormat(
            Rule.VALUE_TOKEN,
            "printable ASCII without spaces around it",
            r"^[!-~]([ -~]*[!-~])?$",
            re.compile(r"[!-~](?:[ -~]*[!-~])?"),
            _explain_bearer_token,
        ),
        "http_path": TextFormat(
            Rule.VALUE_HTTP_PATH,
            'a path that begins with "/"',
            "^/",
            re.compile(r"/[A-Za-z0-9._~/-]*"),
            _explain_http_path,
        ),
    }
)
"""The formats by name."""
