"""Read a bearer token from standard input and print an entry for `openai.principal_tokens`.

The entry holds the hash of the token, never the token: keep that where its owner keeps it.
"""

import argparse
import getpass
import hashlib

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.render.text import value_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--token-ref", default="NAME-OF-THE-TOKEN", metavar="NAME", help="the name of the token")
    parser.add_argument(
        "--principal-ref", default="PRINCIPAL", metavar="NAME", help="the principal that the token stands for"
    )


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Read a token and print its entry."""
    token = _read_token(console)
    if not token:
        raise UsageError("config hash-token: there is no token on standard input")
    console.result(
        f"- token_ref: {value_text(arguments.token_ref)}\n"
        f"  token_hash_sha256: {hashlib.sha256(token.encode('utf-8', 'surrogateescape')).hexdigest()}\n"
        f"  principal_ref: {value_text(arguments.principal_ref)}"
    )
    return ExitCode.FINE


def _read_token(console: Console) -> str:
    if console.stdin.isatty():
        return getpass.getpass("token: ")
    return console.stdin.readline().removesuffix("\n").removesuffix("\r")
