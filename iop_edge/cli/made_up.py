"""A load that somebody makes up on the command line, to see how a config would dispatch under it."""

import argparse
import difflib
from collections.abc import Iterable, Mapping
from typing import Final

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import UsageError
from iop_edge.config import files
from iop_edge.config.snapshot import Snapshot
from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.explanation import Explanation
from iop_edge.pool.rehearsal import Load, RehearsalError, rehearse

_MOST: Final = 100_000


def add_load(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what to assume."""
    for option, what in (("--in-flight", "run at the provider"), ("--queued", "wait for the provider")):
        parser.add_argument(
            option,
            action="append",
            default=[],
            type=_count,
            metavar="PROVIDER=N",
            help=f"with FILE: so many requests {what}; may be given several times",
        )
    for option, metavar, what in (
        ("--unhealthy", "PROVIDER", "the provider's Node reports it unhealthy"),
        ("--unreachable", "NODE", "the Node cannot be reached"),
    ):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar=metavar,
            help=f"with FILE: {what}; may be given several times",
        )


def is_made_up(arguments: argparse.Namespace) -> bool:
    """Tell whether an option was given that means something with files alone."""
    load = (arguments.in_flight, arguments.queued, arguments.unhealthy, arguments.unreachable)
    return any(load) or bool(arguments.private) or arguments.offline


def rehearsed(arguments: argparse.Namespace, console: Console) -> Explanation:
    """Explain a dispatch by the config of the arguments' files under their load.

    Raises:
        ConfigError: the config is not valid.
        UsageError: the load names what the config does not have, or contradicts itself.
    """
    snapshot = files.load(arguments.files, arguments.private, env=console.environ, offline=arguments.offline)
    try:
        return rehearse(snapshot, _load(arguments, snapshot), arguments.model)
    except RehearsalError as error:
        raise UsageError(f"explain-dispatch: {error}") from None


def _load(arguments: argparse.Namespace, snapshot: Snapshot) -> Load:
    nodes = snapshot.tree.get("nodes", ())
    node_ids = [str(node["id"]) for node in nodes]
    provider_ids = [str(provider["id"]) for node in nodes for provider in node.get("providers", ())]
    in_flight, queued = dict(arguments.in_flight), dict(arguments.queued)
    _require_known("provider", (*in_flight, *queued, *arguments.unhealthy), provider_ids)
    _require_known("node", arguments.unreachable, node_ids)
    return Load(
        _by_provider(in_flight),
        _by_provider(queued),
        frozenset(map(ProviderId, arguments.unhealthy)),
        frozenset(map(NodeId, arguments.unreachable)),
    )


def _by_provider(counts: Mapping[str, int]) -> dict[ProviderId, int]:
    return {ProviderId(name): count for name, count in counts.items()}


def _require_known(kind: str, given: Iterable[str], known: list[str]) -> None:
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(f"explain-dispatch: the config has no {kind} {name!r}{hint}")


def _count(text: str) -> tuple[str, int]:
    """Read a provider's id, which may hold any sign, and a number after the last `=`.

    Raises:
        ArgumentTypeError: the text is no such pair.
    """
    name, _, number = text.rpartition("=")
    if name and number.isascii() and number.isdecimal() and len(number) <= len(str(_MOST)) and int(number) <= _MOST:
        return name, int(number)
    raise argparse.ArgumentTypeError(f"{text!r} is not PROVIDER=N, with a number of at most {_MOST:,}")
