"""The command `explain-dispatch`: asks the running Edge, or a config under a simulated load."""

import argparse
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from iop_edge.cli.command import ADMIN, OFFLINE, ExitCode, UsageError, argument, command, formats, layers
from iop_edge.cli.console import Console
from iop_edge.cli.render.status import explanation_text, unknown_text
from iop_edge.cli.render.text import did_you_mean
from iop_edge.config import files
from iop_edge.config.snapshot import Snapshot
from iop_edge.documents import document
from iop_edge.ids import NodeId, ProviderId
from iop_edge.pool.explain import DispatchExplanation
from iop_edge.pool.simulation import Load, SimulationError, simulate

_MAX_COUNT: Final = 100_000


def _count(text: str) -> tuple[str, int]:
    """Read a provider id, which may hold any character, and a number after the last `=`.

    Raises:
        ArgumentTypeError: the text is not such a pair.
    """
    name, _, number = text.rpartition("=")
    is_count = number.isascii() and number.isdecimal() and len(number) <= len(str(_MAX_COUNT))
    if name and is_count and int(number) <= _MAX_COUNT:
        return name, int(number)
    raise argparse.ArgumentTypeError(f"{text!r} is not PROVIDER=N, with N at most {_MAX_COUNT:,}")


@command(
    argument("model", metavar="MODEL", help="the model, as a request names it"),
    layers("without one the running Edge is asked"),
    OFFLINE,
    *(
        argument(
            option,
            action="append",
            default=[],
            type=read,
            metavar=metavar,
            help=f"with FILE: assume that {what}; may be repeated",
        )
        for option, read, metavar, what in (
            ("--in-flight", _count, "PROVIDER=N", "the provider runs N requests"),
            ("--queued", _count, "PROVIDER=N", "N requests wait for the provider"),
            ("--unhealthy", str, "PROVIDER", "the Node reports the provider unhealthy"),
            ("--unreachable", str, "NODE", "the Node cannot be reached"),
        )
    ),
    ADMIN,
    formats("text", "json"),
)
def explain_dispatch(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Explain what would happen to a new request for MODEL now: why each provider would or would not be chosen.

    MODEL is the id of a model group or of a route. Without FILE the running Edge is asked. With FILE the config is
    examined under a simulated load: every Node is reachable and no provider has a request, except as the options say.

    Exit code 0: the request gets a provider, or waits for one; 1: it is refused, for example because there is no such
    MODEL, or the config is not valid; 4: the Edge cannot be reached.
    """
    explanation = _explain(arguments, console)
    if arguments.format == "json":
        console.document(document(explanation))
    elif explanation.kind is not None:
        console.result(explanation_text(explanation, console.style))
    if explanation.kind is None:
        console.note(f"explain-dispatch: {unknown_text(explanation)}")
    return ExitCode.REJECTED if explanation.refusal else ExitCode.FINE


def _explain(arguments: argparse.Namespace, console: Console) -> DispatchExplanation:
    if not arguments.files:
        load = (arguments.in_flight, arguments.queued, arguments.unhealthy, arguments.unreachable)
        if any(load) or arguments.private or arguments.offline:
            raise UsageError("explain-dispatch: --private, --offline and a simulated load need FILE")
        from iop_edge.cli.commands.edge import ask

        return ask(arguments, console, lambda client: client.explain_dispatch(arguments.model))
    if arguments.admin:
        raise UsageError("explain-dispatch: give either FILE or --admin, not both")
    snapshot = files.load(arguments.files, arguments.private, env=console.environ, offline=arguments.offline)
    try:
        return simulate(snapshot, _load(arguments, snapshot), arguments.model)
    except SimulationError as error:
        raise UsageError(f"explain-dispatch: {error}") from None


def _load(arguments: argparse.Namespace, snapshot: Snapshot) -> Load:
    nodes = snapshot.tree.get("nodes", ())
    provider_ids = [str(provider["id"]) for node in nodes for provider in node.get("providers", ())]
    in_flight, queued = dict(arguments.in_flight), dict(arguments.queued)
    _require_known("provider", (*in_flight, *queued, *arguments.unhealthy), provider_ids)
    _require_known("node", arguments.unreachable, [str(node["id"]) for node in nodes])
    return Load(
        _by_provider(in_flight),
        _by_provider(queued),
        frozenset(map(ProviderId, arguments.unhealthy)),
        frozenset(map(NodeId, arguments.unreachable)),
    )


def _by_provider(counts: Mapping[str, int]) -> dict[ProviderId, int]:
    return {ProviderId(name): count for name, count in counts.items()}


def _require_known(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise UsageError(f"explain-dispatch: the config has no {kind} {name!r}", did_you_mean(name, known))
