"""Commands for people who write configs: `config explain`, `schema`, `init`, `migrate` and `hash-token`."""

import argparse
import getpass
import hashlib
import stat
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iop_edge.cli.command import ExitCode, UsageError, argument, command, formats
from iop_edge.cli.console import Console
from iop_edge.cli.files import example, write_whole

if TYPE_CHECKING:
    from iop_edge.config.migrate import Migration

_EDITOR_LINE: Final = "# yaml-language-server: $schema=edge.schema.json\n"
"""Tells an editor to use the schema beside the file."""

_MAX_TOKEN: Final = 64 * 1024
"""More characters than any header that carries a token."""


@command(
    argument("path", nargs="?", default="", metavar="PATH", help="the path of a field"),
    formats("text", "json"),
)
def config_explain(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Describe a field of the config: its meaning, type, default and constraints, and what changing it costs.

    PATH is written as in a report or a diff, with or without indexes: nodes[2].providers[0].capacity,
    nodes[gpu-a].address, nodes.providers.capacity. Without PATH the top level is described.
    """
    from iop_edge.cli.render.explain import explanation_json, explanation_text
    from iop_edge.schema.explain import UnknownPathError, explain

    try:
        explanation = explain(arguments.path)
    except UnknownPathError as error:
        similar = f"did you mean {' or '.join(error.suggestions)}?" if error.suggestions else ""
        raise UsageError(str(error), error.hint, similar) from None
    if arguments.format == "json":
        console.document(explanation_json(explanation))
    else:
        console.result(explanation_text(explanation, console.style))
    return ExitCode.FINE


@command()
def config_schema(_: argparse.Namespace, console: Console) -> ExitCode:
    """Print the JSON Schema of a config file, for editors.

    Refer to it in the first line of a file: `# yaml-language-server: $schema=edge.schema.json`.
    """
    from iop_edge.schema.json_schema import json_schema

    console.document(json_schema())
    return ExitCode.FINE


@command(argument("file", nargs="?", type=Path, metavar="FILE", help="the file to create; default: standard output"))
def config_init(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Write a small config to start from, with the meaning of each field above it.

    It is valid as it is; its first lines name the variables that it reads. FILE must not exist yet. Editors complete
    and check it with the schema that `iop-edge config schema > edge.schema.json` writes.
    """
    from iop_edge.config.edits import documented

    text = _EDITOR_LINE + documented(example("edge.start.yaml"))
    if arguments.file is None:
        console.result(text)
        return ExitCode.FINE
    try:
        with arguments.file.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"config init: {arguments.file} already exists and is not overwritten") from None
    return ExitCode.FINE


@command(
    argument("file", metavar="FILE", help="the file, '-' for standard input"),
    argument("--write", action="store_true", help="write the result to FILE instead of printing it"),
    argument("--private", action="store_true", help="FILE is a private overlay: incomplete, and it may hold secrets"),
)
def config_migrate(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Turn a file with keys and spellings of old releases into the current shape, and print it.

    Only what has to change is edited; the rest stays as it is, with its comments. Adapter mappings, old spellings of
    keys, aliases of types and bare type names are written out; a key that was removed leaves a comment. Secrets in FILE
    are not printed; --write keeps them.

    What could not be carried over is listed on standard error by its place in FILE, and so is what is wrong with the
    result. A tracked FILE is checked as a whole config, its references unresolved.

    Exit code 0: everything was carried over, and the result is valid; 1: otherwise.
    """
    from iop_edge.config import files
    from iop_edge.config.migrate import migrate

    if arguments.write and arguments.file == files.STDIN:
        raise UsageError("config migrate: --write needs a FILE other than standard input")
    tracked, private = ([], [arguments.file]) if arguments.private else ([arguments.file], [])
    migration = migrate(files.read_sources(tracked, private)[0])
    hidden = 0
    if arguments.write and migration.is_changed:
        # Behind a symbolic link, so that the link stays one.
        target = Path(arguments.file).resolve()
        write_whole(target, migration.source.data, stat.S_IMODE(target.stat().st_mode))
    elif migration.is_readable and not arguments.write:
        hidden = _print_migrated(migration, console)
    _note_losses(migration, console)
    return ExitCode.FINE if migration.is_complete and not hidden else ExitCode.REJECTED


def _print_migrated(migration: "Migration", console: Console) -> int:
    """Print the result without its secrets; return how many values are hidden."""
    from iop_edge.cli.render.text import counted
    from iop_edge.config.edits import redacted

    printed = redacted(migration.source)
    console.result(printed.text)
    if printed.hidden:
        values = counted(printed.hidden, "value")
        console.note(f"iop-edge: {values} printed as <redacted> because they may be secrets; --write keeps them")
    return printed.hidden


def _note_losses(migration: "Migration", console: Console) -> None:
    from iop_edge.cli.render.report import painted_violations, report_text
    from iop_edge.errors import unlisted

    style = console.note_style
    if migration.lost:
        lines = painted_violations(migration.lost, migration.excerpts, style)
        more = unlisted(migration.lost_total, len(migration.lost))
        console.note("\n".join(["iop-edge: not carried over, by its place in the old file:", *lines, *more]))
    if not migration.report.ok:
        heading = "the result is not valid, by its own lines" if migration.is_readable else "the file cannot be read"
        console.note(f"iop-edge: {heading}:\n{report_text(migration.report, style, ok=False)}")


def _value_of(name: str) -> Callable[[str], str]:
    """Return a parser of a field of the printed entry, with the rules of the loader."""

    def read(text: str) -> str:
        from iop_edge.schema import table
        from iop_edge.schema.formats import FORMATS

        if fault := FORMATS[table.message("PrincipalToken").fields[name].format].fault(text):
            raise argparse.ArgumentTypeError(fault)
        return text

    return read


@command(
    argument(
        "--token-ref",
        type=_value_of("token_ref"),
        default="NAME-OF-THE-TOKEN",
        metavar="NAME",
        help="the name of the token",
    ),
    argument(
        "--principal-ref",
        type=_value_of("principal_ref"),
        default="PRINCIPAL",
        metavar="NAME",
        help="the principal that the token stands for",
    ),
)
def config_hash_token(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Read a bearer token from standard input and print an entry for `openai.principal_tokens`.

    A terminal does not show the token as it is typed. The entry holds only the hash of the token; its owner keeps the
    token itself.
    """
    from iop_edge.cli.render.text import value_text
    from iop_edge.schema.references import escape

    token = _read_token(console)
    if not token:
        raise UsageError("config hash-token: there is no token on standard input")
    if len(token) > _MAX_TOKEN or any(character.isspace() or _is_control(character) for character in token):
        raise UsageError("config hash-token: a token is one line without white space or control characters")
    console.result(
        f"- token_ref: {value_text(escape(arguments.token_ref))}\n"
        f"  token_hash_sha256: {hashlib.sha256(token.encode('utf-8', 'surrogateescape')).hexdigest()}\n"
        f"  principal_ref: {value_text(escape(arguments.principal_ref))}"
    )
    return ExitCode.FINE


def _read_token(console: Console) -> str:
    if not console.stdin.isatty():
        return console.stdin.read(_MAX_TOKEN + len("\r\n") + 1).removesuffix("\n").removesuffix("\r")
    try:
        with warnings.catch_warnings():
            # Otherwise getpass goes on when it cannot turn the echo off.
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass("token: ")
    except EOFError:
        return ""
    except getpass.GetPassWarning:
        raise UsageError("config hash-token: this terminal would show the token; use a pipe instead") from None


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc"
