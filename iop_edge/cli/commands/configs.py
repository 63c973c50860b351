"""Commands that load config files: `config check`, `show`, `diff` and `export`, and `node payload`.

What only one of them needs is imported there: `config check` runs at every commit, and most of its time are imports.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from iop_edge.cli.command import (
    MAX_BYTES,
    OFFLINE,
    PRIVATE,
    RESULT_CODES,
    ExitCode,
    UsageError,
    argument,
    command,
    config_files,
    formats,
    layers,
    show,
)
from iop_edge.cli.console import Console
from iop_edge.cli.render.report import report_github, report_sarif, report_text
from iop_edge.cli.render.text import did_you_mean
from iop_edge.config import files
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import DEFAULT_LIMITS, Limits
from iop_edge.documents import document
from iop_edge.errors import ConfigError


@command(
    layers(),
    formats("text", "json", "github", "sarif"),
    OFFLINE,
    MAX_BYTES,
    argument("--strict", action="store_true", help="treat warnings as violations"),
)
def config_check(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Check a config and list everything that is wrong with it.

    Exit code 0: valid; 1: there are violations or, with --strict, warnings.
    """
    paths = config_files(arguments.files, console.environ)
    report = files.check(paths, arguments.private, **_settings(arguments, console, offline=arguments.offline))
    ok = report.ok and not (arguments.strict and report.warnings)
    match arguments.format:
        case "json":
            console.document({"ok": ok, **document(report, without="excerpts")})
        case "sarif":
            from importlib.metadata import version

            console.document(report_sarif(report, version("iop_edge")))
        case "github":
            console.result(report_github(report, ok=ok))
        case _:
            console.result(report_text(report, console.style, ok=ok))
    return ExitCode.FINE if ok else ExitCode.REJECTED


@command(layers(), formats("yaml", "json"), OFFLINE, MAX_BYTES)
def config_show(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Print a config in its normalized form: defaults filled in, shorthands resolved, layers merged.

    The output is itself a valid config. Secrets are redacted; a value that came from a reference prints as that
    reference.
    """
    snapshot = _load(arguments, console, offline=arguments.offline)
    if arguments.format == "json":
        from iop_edge.cli.render.config import config_json

        console.document(config_json(snapshot.tree, snapshot.references))
    else:
        console.result(snapshot.dump())
    return ExitCode.FINE


@command(
    argument("old", metavar="OLD", help="the config that runs"),
    argument("new", metavar="NEW", help="the candidate"),
    PRIVATE,
    formats("text", "json"),
    OFFLINE,
    MAX_BYTES,
)
def config_diff(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Compare two configs, under the same overlays, and tell what the changes would cost a running Edge.

    Exit code 0: no difference; 10: live changes only; 3: a restart is required; 1: one of the configs is not valid.
    """
    from iop_edge.cli.render.result import diff_text
    from iop_edge.refresh.plan import plan
    from iop_edge.refresh.result import Mode, RefreshResult, Status

    try:
        old, new = (
            files.load(path, arguments.private, **_settings(arguments, console, offline=arguments.offline))
            for path in (arguments.old, arguments.new)
        )
        result = plan(old, new).result(Mode.DRY_RUN)
    except ConfigError as error:
        result = RefreshResult(
            Status.REJECTED,
            Mode.DRY_RUN,
            violations=error.violations,
            violations_total=error.total,
            warnings=error.report.warnings,
        )
    show(result, diff_text, arguments.format, console)
    is_live = result.status is Status.APPLIED and bool(result.changes)
    return ExitCode.LIVE_CHANGES if is_live else RESULT_CODES[result.status]


@command(
    layers(),
    argument("--with-secrets", required=True, metavar="OUT", type=Path, help="the file to write, with mode 0600"),
    formats("binpb", "json"),
    MAX_BYTES,
)
def config_export(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Write a normalized config as protobuf (EdgeConfig), with its secrets, for Go services.

    The file gets mode 0600 and is written atomically. `binpb` is the binary form, deterministic for equal configs;
    `json` is protobuf's JSON.
    """
    from iop_edge.cli.files import write_whole
    from iop_edge.schema.encoding import config_bytes, config_json

    encode = config_json if arguments.format == "json" else config_bytes
    write_whole(arguments.with_secrets, encode(_load(arguments, console).tree))
    return ExitCode.FINE


@command(argument("node", metavar="NODE", help="the Node's id"), layers(), formats("yaml", "json"), OFFLINE, MAX_BYTES)
def node_payload(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Print the whole payload that the Edge would push to a Node, without secrets.

    A value that came from a reference prints as that reference.
    """
    from iop_edge.cli.render.config import payload_json, yaml_text
    from iop_edge.payload import UnknownNodeError, payload_references, payload_tree

    snapshot = _load(arguments, console, offline=arguments.offline)
    try:
        payload = payload_json(payload_tree(snapshot, arguments.node), payload_references(snapshot, arguments.node))
    except UnknownNodeError as error:
        known = (node["id"] for node in snapshot.tree.get("nodes", ()))
        raise UsageError(f"node payload: {error}", did_you_mean(arguments.node, known)) from None
    if arguments.format == "json":
        console.document(payload)
    else:
        console.result(yaml_text(payload))
    return ExitCode.FINE


def _load(arguments: argparse.Namespace, console: Console, *, offline: bool = False) -> Snapshot:
    paths = config_files(arguments.files, console.environ)
    return files.load(paths, arguments.private, **_settings(arguments, console, offline=offline))


class _Settings(TypedDict):
    """The keywords of `load` and `check`."""

    env: Mapping[str, str]
    offline: bool
    limits: Limits


def _settings(arguments: argparse.Namespace, console: Console, *, offline: bool) -> _Settings:
    limits = Limits(max_bytes=arguments.max_bytes) if arguments.max_bytes else DEFAULT_LIMITS
    return {"env": console.environ, "offline": offline, "limits": limits}
