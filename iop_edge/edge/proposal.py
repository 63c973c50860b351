"""What a candidate would do to an Edge: one planner behind dry run and apply (REF-06)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from iop_edge.config.pipeline import snapshot_of
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.running import Running, nodes
from iop_edge.errors import ConfigError, Violation
from iop_edge.ids import NodeId
from iop_edge.push.model import Desired
from iop_edge.refresh.diff import merge
from iop_edge.refresh.plan import Plan, plan
from iop_edge.refresh.result import Mode, NodeOutcome, NodeReport, RefreshOptions, RefreshResult, Status
from iop_edge.rules import Rule
from iop_edge.schema.paths import ROOT
from iop_edge.schema.references import FileReference, parse
from iop_edge.schema.values import Reference, below

if TYPE_CHECKING:
    from iop_pb import trees


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate compared with what runs.

    `result` is what is known so far, with nothing committed. `next` is what an apply would run; None if it would change
    nothing. `affected` holds what the Nodes whose payload would differ should run then.
    """

    result: RefreshResult
    next: Running | None = None
    affected: Mapping[NodeId, Desired] = field(default_factory=dict)

    def checked(self, reports: Mapping[NodeId, NodeReport], options: RefreshOptions) -> "Proposal":
        """Return the proposal with the answers of the Nodes; one that refuses leaves nothing to commit (PSH-03)."""
        result, is_off = with_reports(self.result, reports, options)
        return replace(self, result=result, next=None if is_off else self.next)


def propose(running: Running, candidate: Snapshot, mode: Mode, options: RefreshOptions, key: bytes) -> Proposal:
    """Compare a candidate with what runs, as far as the configs alone can tell.

    Args:
        running: what runs.
        candidate: a valid config.
        mode: the mode that the result shows.
        options: how the refresh is carried out.
        key: the key of config hashes and payload tags.
    """
    candidate_hash = candidate.digest(key)
    running = replace(running, snapshot=with_reloaded_tls(running.snapshot, candidate))
    planned = plan(running.snapshot, candidate)
    result = replace(
        planned.result(mode),
        revision_before=running.revision,
        revision_after=running.revision,
        candidate_hash=candidate_hash,
        warnings=candidate.warnings,
    )
    stale = tuple(stale_expectations(options, running.revision, candidate_hash))
    if stale:
        return Proposal(replace(result, status=Status.REJECTED, violations=stale))
    if not planned.changes:
        return Proposal(result)
    if planned.status is Status.APPLIED:
        return _proposal(result, running, candidate, candidate_hash, key)
    result = replace(result, pending=planned.changes)
    if not options.live_only or not planned.live:
        return Proposal(result)
    return _live_only(result, planned, running, candidate, key)


def stale_expectations(options: RefreshOptions, revision: int, candidate_hash: str) -> Iterator[Violation]:
    """Yield a violation for each expectation that is not met (REF-05); an empty hash means no candidate."""
    expected = options.expected_revision
    if expected is not None and expected != revision:
        yield Violation(
            Rule.REFRESH_EXPECTED_REVISION,
            "",
            None,
            f"revision {revision} is running, not {expected}",
            "the config has changed since: do another dry run",
        )
    if options.expected_candidate and candidate_hash and options.expected_candidate != candidate_hash:
        yield Violation(
            Rule.REFRESH_EXPECTED_CANDIDATE,
            "",
            None,
            "the candidate is not the expected one",
            "a file, or something it refers to, has changed since: do another dry run",
        )


def with_reports(
    result: RefreshResult, reports: Mapping[NodeId, NodeReport], options: RefreshOptions
) -> tuple[RefreshResult, bool]:
    """Return the result with the reports of the Nodes, and whether one of them keeps the config from being applied."""
    result = replace(result, reports=tuple(reports.values()))
    violations = tuple(_refusals(result.reports, options))
    if violations:
        return replace(result, status=Status.REJECTED, violations=violations), True
    if any(report.outcome is NodeOutcome.RESTART_REQUIRED for report in result.reports):
        return replace(result, status=Status.RESTART_REQUIRED, pending=result.changes), True
    return result, False


def _refusals(reports: Iterable[NodeReport], options: RefreshOptions) -> Iterator[Violation]:
    for report in reports:
        path = str(ROOT.child("nodes").key(report.node_id))
        if report.outcome is NodeOutcome.REJECTED:
            yield Violation(Rule.NODE_REJECTED, path, None, f"the node rejects its payload: {report.reason}")
        elif options.require_all and report.outcome in (NodeOutcome.UNREACHABLE, NodeOutcome.UNKNOWN):
            yield Violation(Rule.NODE_UNREACHABLE, path, None, f"the node did not answer: {report.reason}")


def _live_only(result: RefreshResult, planned: Plan, running: Running, candidate: Snapshot, key: bytes) -> Proposal:
    """Propose the running config with the live changes of the candidate (REF-07)."""
    try:
        tree = merge(running.snapshot.tree, candidate.tree, planned.live_masks)
        merged = snapshot_of(tree, running.snapshot, candidate)
    except ConfigError as error:
        # The candidate itself is valid: that its live part is not valid alone is no reason to reject it.
        return Proposal(replace(result, warnings=(*result.warnings, *_of_live_part(error))))
    return _proposal(replace(result, pending=planned.restart), running, merged, merged.digest(key), key)


def _of_live_part(error: ConfigError) -> Iterator[Violation]:
    for violation in error.violations:
        yield replace(violation, message=f"the live part is not valid on its own: {violation.message}")


def _proposal(result: RefreshResult, running: Running, snapshot: Snapshot, config_hash: str, key: bytes) -> Proposal:
    next_running = Running.build(snapshot, running.revision + 1, config_hash, key, running)
    affected = {
        node_id: desired
        for node_id, desired in next_running.desired.items()
        if desired.encoded is not running.desired[node_id].encoded
    }
    return Proposal(result, next_running, affected)


def with_reloaded_tls(running: Snapshot, candidate: Snapshot) -> Snapshot:
    """Return what runs with the present content of its TLS files, where the candidate names the same files (REF-04).

    The Edge reads these files for each connection, so that their new content is in force already: as a change, a
    renewed certificate would block every live change until the Edge restarts. Naming another file, or giving
    another text inline, is a change like any other.
    """
    tree = running.tree
    listen, nodes_now = tree["listen"], {node["id"]: node for node in nodes(candidate)}
    tls = _reloaded(running, candidate, listen["tls"], candidate.tree["listen"]["tls"], "listen")
    reloaded: list[trees.Node] = []
    for node in nodes(running):
        theirs = nodes_now.get(node["id"], node)["tls"]
        reloaded.append({**node, "tls": _reloaded(running, candidate, node["tls"], theirs, "nodes", node["id"])})
    new: trees.EdgeConfig = {**tree, "listen": {**listen, "tls": tls}}
    if reloaded:
        new["nodes"] = reloaded
    return running if new == tree else Snapshot(new, running.references)


def _reloaded(
    running: Snapshot, candidate: Snapshot, ours: "trees.Tls", theirs: "trees.Tls", *owner: str
) -> "trees.Tls":
    """Return our TLS texts, with those of the candidate that both configs take from the same file."""
    if ours == theirs:
        return ours
    written, others = (below(each.references.tree, *owner, "tls") for each in (running, candidate))
    files = {
        name
        for name, found in written.items()
        if isinstance(found, Reference)
        and found == others.get(name)
        and any(isinstance(part, FileReference) for part in parse(found.text))
    }
    return cast("trees.Tls", {**ours, **{name: text for name, text in theirs.items() if name in files}})
