"""Commands that run until they are stopped: `serve` and `node run`."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from iop_edge.cli.command import ExitCode, UsageError, argument, command, config_files, layers
from iop_edge.cli.console import Console
from iop_edge.cli.polling import until_stopped
from iop_edge.ids import NodeId
from iop_edge.net import Address, AddressError, Tls, TlsError, parse_address
from iop_edge.schema import table
from iop_edge.serve.logs import LoggedError, logging_to
from iop_edge.transport.reload import RotatedTokens, TokensError

TOKEN_VARIABLE: Final = "IOP_NODE_TOKEN"  # noqa: S105 - the name of a variable

_STATE_DIR: Final = "/var/lib/iop-edge"


@command(
    layers(),
    argument(
        "--state-dir",
        type=Path,
        default=Path(_STATE_DIR),
        metavar="DIR",
        help=f"the directory of the history; it belongs to one Edge at a time (default: {_STATE_DIR})",
    ),
    argument("--admin", default="", metavar="ADDRESS", help="the admin address, instead of listen.admin"),
    argument(
        "--secrets-dir",
        type=Path,
        metavar="DIR",
        help="a directory that ${file:...} of a proposed config may read, besides those of the Edge's own files",
    ),
    argument("--watch", action="store_true", help="take up changes of the files as they happen"),
    argument(
        "--last-good",
        action="store_true",
        help="start with the newest applied revision when the files cannot be used",
    ),
    argument(
        "--take-over",
        action="store_true",
        help="take over, once each, Nodes that belong to another Edge id; they refuse that Edge from then on",
    ),
)
def serve(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Run an Edge: load the config, dial the Nodes, push each its payload, and answer on the admin address.

    SIGHUP makes it read its files again; with --watch it does so when the content of the files, or of files that they
    refer to, changes. Files that cannot be used leave what runs as it is. SIGTERM and SIGINT stop it.

    It prints nothing on standard output. Its log goes to standard error, with logging.format json as one JSON object a
    line, including the line that says that it is ready. Only an invalid config is reported before, as text.

    Exit code 0: it was stopped; 1: the config is not valid; 4: an address is in use, or another Edge has the state
    directory.
    """
    from iop_edge.serve.serve import ServeOptions
    from iop_edge.serve.serve import serve as run_edge

    options = ServeOptions(
        files=tuple(config_files(arguments.files, console.environ)),
        private=tuple(arguments.private),
        state_dir=arguments.state_dir,
        admin=arguments.admin,
        secrets_dir=arguments.secrets_dir,
        watch=arguments.watch,
        last_good=arguments.last_good,
        take_over=arguments.take_over,
    )
    try:
        asyncio.run(run_edge(options))
    except LoggedError:
        return ExitCode.FAULT
    return ExitCode.FINE


@command(
    argument("--id", required=True, metavar="ID", help="the Node's id, as in the Edge's config"),
    argument(
        "--listen", required=True, metavar="ADDRESS", help="host:port, [v6]:port or unix:PATH; port 0: any free port"
    ),
    argument("--token-file", type=Path, metavar="FILE", help=f"the accepted tokens (default: ${TOKEN_VARIABLE})"),
    argument("--tls-cert", type=Path, metavar="FILE", help="the Node's certificate chain; without it: plain text"),
    argument("--tls-key", type=Path, metavar="FILE", help="its private key"),
    argument("--tls-ca", type=Path, metavar="FILE", help="the authorities that the Edge's certificate must come from"),
    *(
        argument(
            f"--log-{field.name}",
            choices=tuple(field.enum().words),
            default=field.default,
            help=f"{field.doc} Default: {field.default}",
        )
        for field in table.message("Logging").fields.values()
    ),
)
def node_run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Run a reference Node: a gRPC server that gets its whole configuration from one Edge.

    It is given its id, its listen address and its token; the rest comes from the Edge. The token is in IOP_NODE_TOKEN,
    or in the file of --token-file, one a line: two during a rotation. The file is read again for every call, so a
    rotation needs no restart; while it cannot be read, the tokens stay as they were. SIGHUP reads it at once and
    reports how many tokens it holds.

    With --tls-cert and --tls-key it speaks TLS; with --tls-ca only to an Edge with a certificate of that authority. The
    files are PEM and are read again for every connection: renewed ones need no restart.
    """
    from iop_edge.node.node import run_node
    from iop_edge.schema.formats import FORMATS

    if fault := FORMATS["identifier"].fault(arguments.id):
        raise UsageError(f"node run: --id: {fault}")
    try:
        tokens = RotatedTokens(partial(_tokens, arguments.token_file, console.environ))
        address = str(parse_address(arguments.listen))
    except TokensError as error:
        raise UsageError(f"node run: {error}") from None
    except AddressError as error:
        raise UsageError(f"node run: --listen: {error}") from None
    tls = _tls(arguments.tls_cert, arguments.tls_key, arguments.tls_ca)

    def ready(bound: Address) -> None:
        console.note(f"node {arguments.id} listens on {bound}")

    def count_tokens() -> None:
        console.note(f"node {arguments.id} accepts {len(tokens.current())} tokens")

    with logging_to(sys.stderr, {"level": arguments.log_level, "format": arguments.log_format}):
        asyncio.run(until_stopped(run_node(NodeId(arguments.id), address, tokens, tls, ready), count_tokens))
    return ExitCode.FINE


def _tls(cert: Path | None, key: Path | None, ca: Path | None) -> Callable[[], Tls] | None:
    if cert is None and key is None and ca is None:
        return None
    if cert is None or key is None:
        raise UsageError("node run: --tls-cert and --tls-key must be given together")
    return lambda: Tls(ca=_pem(ca) if ca else "", cert=_pem(cert), key=_pem(key))


def _pem(file: Path) -> str:
    try:
        text = file.read_text("ascii")
    except OSError as error:
        raise TlsError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TlsError(f"{file} is not PEM") from None
    if not text:
        # Perhaps half written. Without its authorities a Node would ask no Edge for a certificate.
        raise TlsError(f"{file} is empty")
    return text


def _tokens(file: Path | None, environ: Mapping[str, str]) -> list[str]:
    place = file or f"${TOKEN_VARIABLE}"
    try:
        text = file.read_text("utf-8") if file else environ.get(TOKEN_VARIABLE, "")
    except UnicodeDecodeError:
        raise TokensError(f"{place} is not UTF-8") from None
    tokens = [line.strip() for line in text.splitlines() if line.strip()]
    if not tokens:
        raise TokensError(f"no token in {place}")
    if not all(token.isascii() and token.isprintable() for token in tokens):
        raise TokensError(f"a token in {place} is not printable ASCII")
    return tokens
