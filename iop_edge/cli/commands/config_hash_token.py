"""Read a bearer token from standard input and print an entry for `openai.principal_tokens`.

On a terminal the token is not shown while it is typed. The entry holds the hash of the token, never the token itself:
keep that where its owner keeps it.
"""

import argparse
import getpass
import hashlib
import unicodedata
import warnings
from collections.abc import Callable
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.render.text import value_text
from iop_edge.schema import table
from iop_edge.schema.formats import FORMATS
from iop_edge.schema.references import escape

_LONGEST: Final = 64 * 1024
"""More characters than any header has that carries a token."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--token-ref", type=_value_of("token_ref"), default="NAME-OF-THE-TOKEN", metavar="NAME", help="the token's name"
    )
    parser.add_argument(
        "--principal-ref",
        type=_value_of("principal_ref"),
        default="PRINCIPAL",
        metavar="NAME",
        help="the principal that the token stands for",
    )


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Read a token and print its entry."""
    token = _read_token(console)
    if not token:
        raise UsageError("config hash-token: there is no token on standard input")
    if len(token) > _LONGEST or any(character.isspace() or _is_control(character) for character in token):
        raise UsageError("config hash-token: no token has white space or control characters in it, or several lines")
    console.result(
        f"- token_ref: {_written(arguments.token_ref)}\n"
        f"  token_hash_sha256: {hashlib.sha256(token.encode('utf-8', 'surrogateescape')).hexdigest()}\n"
        f"  principal_ref: {_written(arguments.principal_ref)}"
    )
    return ExitCode.FINE


def _read_token(console: Console) -> str:
    if not console.stdin.isatty():
        return console.stdin.read(_LONGEST + len("\r\n") + 1).removesuffix("\n").removesuffix("\r")
    try:
        with warnings.catch_warnings():
            # Else getpass would go on where it cannot turn the echo off.
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass("token: ")
    except EOFError:
        return ""
    except getpass.GetPassWarning:
        raise UsageError("config hash-token: this terminal would show the token; give it through a pipe") from None


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"


def _value_of(name: str) -> Callable[[str], str]:
    """Return what reads the value of a field of the entry, as the loader would."""
    text_format = FORMATS[table.message("PrincipalToken").fields[name].format]

    def read(text: str) -> str:
        if fault := text_format.fault(text):
            raise argparse.ArgumentTypeError(fault)
        return text

    return read


def _written(text: str) -> str:
    return value_text(escape(text))
