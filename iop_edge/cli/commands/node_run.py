"""Run a reference Node: a gRPC server that takes its whole configuration from one Edge.

It is told its id, where it listens, and its token; the rest comes from the Edge. The token is in IOP_NODE_TOKEN, or in
the file of --token-file, one a line: two during a rotation. The file is read again for every call, so that a rotation
needs no restart; what cannot be read leaves the tokens as they were. SIGHUP has it read at once, and told how many
tokens it holds.

With --tls-cert and --tls-key it speaks TLS, with --tls-ca only to an Edge that shows a certificate of that authority.
The files are PEM, and read again for every connection: renewed ones need no restart.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.running import until_stopped
from iop_edge.ids import NodeId
from iop_edge.net import Address, AddressError, Tls, TlsError, parse_address
from iop_edge.schema import table
from iop_edge.serve.logs import logging_to
from iop_edge.transport.tokens import RotatedTokens, TokensError

TOKEN_VARIABLE: Final = "IOP_NODE_TOKEN"  # noqa: S105 - the name of a variable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--id", required=True, metavar="ID", help="the Node's id, as the Edge's config has it")
    parser.add_argument(
        "--listen", required=True, metavar="ADDRESS", help="host:port, [v6]:port or unix:PATH; port 0: a free one"
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help=f"the accepted tokens; without it: ${TOKEN_VARIABLE}"
    )
    parser.add_argument(
        "--tls-cert", type=Path, metavar="FILE", help="the Node's certificate chain; without it: plain text"
    )
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its private key")
    parser.add_argument("--tls-ca", type=Path, metavar="FILE", help="the authorities that the Edge is verified against")
    for field in table.message("Logging").fields.values():
        parser.add_argument(
            f"--log-{field.name}",
            choices=tuple(field.enum().words),
            default=field.default,
            help=f"{field.doc} Default: {field.default}",
        )


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Serve until SIGTERM or SIGINT."""
    from iop_edge.node.serve import run_node

    _require_id(arguments.id)
    try:
        tokens = RotatedTokens(partial(_tokens, arguments.token_file, console.environ))
    except TokensError as error:
        raise UsageError(f"node run: {error}") from None
    address = _address(arguments.listen)

    def ready(bound: Address) -> None:
        console.note(f"node {arguments.id} listens on {bound}")

    def count_tokens() -> None:
        console.note(f"node {arguments.id} accepts {len(tokens.current())} tokens")

    tls = _tls(arguments.tls_cert, arguments.tls_key, arguments.tls_ca)
    with logging_to(sys.stderr, {"level": arguments.log_level, "format": arguments.log_format}):
        asyncio.run(until_stopped(run_node(NodeId(arguments.id), address, tokens, tls, ready), count_tokens))
    return ExitCode.FINE


def _tls(cert: Path | None, key: Path | None, ca: Path | None) -> Callable[[], Tls] | None:
    if cert is None and key is None and ca is None:
        return None
    if cert is None or key is None:
        raise UsageError("node run: --tls-cert and --tls-key are given together")
    return lambda: Tls(ca=_pem(ca) if ca else "", cert=_pem(cert), key=_pem(key))


def _pem(file: Path) -> str:
    try:
        text = file.read_text("ascii")
    except OSError as error:
        raise TlsError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TlsError(f"{file} is not PEM") from None
    if not text:
        # Half written, perhaps. Without its authorities a Node would ask no Edge for a certificate.
        raise TlsError(f"{file} is empty")
    return text


def _require_id(text: str) -> None:
    from iop_edge.schema.formats import FORMATS

    if fault := FORMATS["identifier"].fault(text):
        raise UsageError(f"node run: --id: {fault}")


def _tokens(file: Path | None, environ: Mapping[str, str]) -> list[str]:
    try:
        text = file.read_text("utf-8") if file else environ.get(TOKEN_VARIABLE, "")
    except UnicodeDecodeError:
        raise TokensError(f"{file} is not UTF-8") from None
    tokens = [line.strip() for line in text.splitlines() if line.strip()]
    if not tokens:
        raise TokensError(f"no token in {file or f'${TOKEN_VARIABLE}'}")
    if not all(token.isascii() and token.isprintable() for token in tokens):
        raise TokensError(f"a token in {file or f'${TOKEN_VARIABLE}'} is not printable ASCII")
    return tokens


def _address(text: str) -> str:
    try:
        return str(parse_address(text))
    except AddressError as error:
        raise UsageError(f"node run: --listen: {error}") from None
