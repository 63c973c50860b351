"""The forms that a text may have to have, by the names that the schema gives them (VAL-02, VAL-08, VAL-10).

A form has a pattern that accepts what is usual at the cost of one match, and, for the rest, a check that decides and
explains.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from iop_edge.net import AddressError, parse_address

_MAX_IDENTIFIER_BYTES: Final = 256
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HOST_IN_URL: Final = re.compile(r"(?:\[[0-9A-Za-z:.%]+\]|\w(?:[\w-]*\w)?(?:\.\w(?:[\w-]*\w)?)*\.?)(?::[0-9]*)?")
_USUAL_PORT: Final = "(?:[0-9]{1,4}|[1-5][0-9]{4})"
_UNSAFE_IN_URL: Final = re.compile(r"[\s\x00-\x20\x7f\\<>\"^`{|}]")


class TextForm(NamedTuple):
    """One form. `fault` says what is wrong with a text that `usual` does not match, or returns an empty text."""

    rule: str
    usual: re.Pattern[str]
    fault: Callable[[str], str]
    hint: str = ""


def _identifier_fault(text: str) -> str:
    if not text:
        return "must not be empty"
    if len(text.encode(errors="replace")) > _MAX_IDENTIFIER_BYTES:
        return f"must have at most {_MAX_IDENTIFIER_BYTES} bytes"
    if any(char.isspace() or not char.isprintable() for char in text):
        return "must be printable, without white space and control characters"
    return ""


def _non_empty_fault(text: str) -> str:
    if not text.strip():
        return "must not be empty"
    return "must hold no control character" if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text) else ""


def _url_fault(text: str) -> str:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises for a port that is none
    except ValueError:
        return "must be an absolute http or https URL with a valid host and port"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must be an absolute http or https URL"
    if _UNSAFE_IN_URL.search(text):
        return "must hold no white space and nothing that a URL encodes"
    return "" if _HOST_IN_URL.fullmatch(parts.netloc.rpartition("@")[2]) else "must have a valid host"


def _address_fault(text: str) -> str:
    try:
        parse_address(text)
    except AddressError as error:
        return str(error)
    return ""


def _token_fault(text: str) -> str:
    return "" if _TOKEN.fullmatch(text) else "must be a token: letters, digits and !#$%&'*+-.^_`|~"


def _scheme_fault(text: str) -> str:
    return _token_fault(text) if text else ""


def _header_value_fault(text: str) -> str:
    return "must hold no CR, LF or NUL" if any(char in text for char in "\r\n\0") else ""


def _sha256_fault(text: str) -> str:  # noqa: ARG001 - the pattern knows them all
    return "must be a SHA-256 digest: 64 hex digits"


def _pem_fault(text: str) -> str:
    return "" if "-----BEGIN " in text and "-----END " in text else "must be PEM text"


def _bearer_fault(text: str) -> str:
    return "must be printable ASCII without a space at its ends" if text else "must not be empty"


def _http_path_fault(text: str) -> str:
    if not text.startswith("/"):
        return 'must begin with "/"'
    return "must hold no white space and nothing that a URL encodes" if _UNSAFE_IN_URL.search(text) else ""


FORMS: Final[Mapping[str, TextForm]] = MappingProxyType(
    {
        "identifier": TextForm("value.identifier", re.compile(r"[!-~]{1,256}"), _identifier_fault),
        "non_empty": TextForm("value.non_empty", re.compile(r"[!-~][ -~]*"), _non_empty_fault),
        "http_url": TextForm(
            "value.url",
            re.compile(rf"https?://[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*(?::{_USUAL_PORT})?(?:/[A-Za-z0-9._~/-]*)?"),
            _url_fault,
            "for example http://127.0.0.1:11434",
        ),
        "address": TextForm(
            "value.address",
            re.compile(
                rf"[A-Za-z0-9](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?(?:\.[A-Za-z0-9]{{1,63}}){{0,3}}:{_USUAL_PORT}"
            ),
            _address_fault,
        ),
        "header_name": TextForm("value.header_name", _TOKEN, _token_fault),
        "headers": TextForm("value.header_value", re.compile(r"[ -~]*"), _header_value_fault),
        "sha256_hex": TextForm(
            "value.sha256",
            re.compile(r"[0-9a-fA-F]{64}"),
            _sha256_fault,
            "make one with: iop-edge config hash-token",
        ),
        "pem": TextForm("value.pem", re.compile(r"(?!)"), _pem_fault, "give it as a reference: ${file:PATH}"),
        "auth_scheme": TextForm("value.auth_scheme", re.compile(r"[A-Za-z]*"), _scheme_fault),
        "bearer_token": TextForm("value.token", re.compile(r"[!-~](?:[ -~]*[!-~])?"), _bearer_fault),
        "http_path": TextForm("value.http_path", re.compile(r"/[A-Za-z0-9._~/-]*"), _http_path_fault),
    }
)
"""The forms by name. For `headers`, the form of a value; the names of headers have the form `header_name`."""


def has_form(name: str, text: str) -> bool:
    """Tell whether a text has a form."""
    form = FORMS[name]
    return form.usual.fullmatch(text) is not None or not form.fault(text)
