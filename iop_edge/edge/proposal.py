"""What a candidate would do to an Edge: the one planner behind dry run and apply (REF-06)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from iop_edge.config.pipeline import snapshot_of
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.renewed import with_renewed
from iop_edge.edge.running import Running, encode_payloads
from iop_edge.errors import ConfigError, Violation
from iop_edge.ids import NodeId, Revision
from iop_edge.push.model import Desired
from iop_edge.refresh.diff import merge
from iop_edge.refresh.plan import Plan, plan
from iop_edge.refresh.result import Mode, NodeOutcome, NodeReport, RefreshOptions, RefreshResult, Status
from iop_edge.schema.paths import ROOT


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate held against what runs.

    `result` is what is known so far, with nothing committed. `next` is what an apply would make run, None where it
    would change nothing. `affected` are the Nodes whose payload would differ.
    """

    result: RefreshResult
    next: Running | None = None
    affected: frozenset[NodeId] = frozenset()

    def desired(self) -> dict[NodeId, Desired]:
        """Return what the affected Nodes would be told."""
        return self.next.desired(self.affected) if self.next else {}

    def asked(self, reports: Mapping[NodeId, NodeReport], options: RefreshOptions) -> "Proposal":
        """Return the proposal with what the Nodes said of it; one that refuses leaves nothing to commit (PSH-03)."""
        result = with_reports(self.result, reports, options)
        return replace(self, result=result, next=None if is_refused(result.reports, options) else self.next)


def propose(running: Running, candidate: Snapshot, mode: Mode, options: RefreshOptions, key: bytes) -> Proposal:
    """Hold a candidate against what runs, as far as configs alone can tell.

    Args:
        running: what runs.
        candidate: a valid config.
        mode: what the result says that it was.
        options: how the refresh is carried out.
        key: the key of config hashes and payload tags.
    """
    candidate_hash = candidate.digest(key)
    running = replace(running, snapshot=with_renewed(running.snapshot, candidate))
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
    if planned.status is Status.APPLIED:
        if not planned.changes:
            return Proposal(result)
        following = Running(candidate, Revision(running.revision + 1), candidate_hash, running.payloads)
        return _with_next(result, following, planned.changed_nodes, key)
    if not options.live_only:
        return Proposal(replace(result, pending=planned.changes))
    return _live_only(result, planned, running, candidate, key)


def stale_expectations(options: RefreshOptions, revision: int, candidate_hash: str) -> Iterator[Violation]:
    """Yield a violation for each expectation that is not met (REF-05); the hash of no candidate is the empty text."""
    expected = options.expected_revision
    if expected is not None and expected != revision:
        yield Violation(
            "refresh.expected_revision",
            "",
            None,
            f"revision {revision} runs, not {expected}",
            "the config has changed since: look at a dry run again",
        )
    if options.expected_candidate and candidate_hash and options.expected_candidate != candidate_hash:
        yield Violation(
            "refresh.expected_candidate",
            "",
            None,
            "the candidate is not the one that was expected",
            "a file, or something that it refers to, has changed since: look at a dry run again",
        )


def with_reports(result: RefreshResult, reports: Mapping[NodeId, NodeReport], options: RefreshOptions) -> RefreshResult:
    """Return the result with what became of the Nodes, and the status that follows from it."""
    result = replace(result, reports=tuple(reports.values()))
    violations = tuple(_refusals(result.reports, options))
    if violations:
        return replace(result, status=Status.REJECTED, violations=violations)
    if _needs_restart(result.reports):
        return replace(result, status=Status.RESTART_REQUIRED, pending=result.changes)
    return result


def is_refused(reports: Iterable[NodeReport], options: RefreshOptions) -> bool:
    """Tell whether one Node's answer keeps a config from being applied anywhere."""
    told = tuple(reports)
    return _needs_restart(told) or any(True for _ in _refusals(told, options))


def _refusals(reports: Iterable[NodeReport], options: RefreshOptions) -> Iterator[Violation]:
    for report in reports:
        path = str(ROOT.child("nodes").key(report.node_id))
        if report.outcome is NodeOutcome.REJECTED:
            yield Violation("node.rejected", path, None, f"the node refuses its payload: {report.reason}")
        elif options.require_all and report.outcome in (NodeOutcome.UNREACHABLE, NodeOutcome.UNKNOWN):
            yield Violation("node.unreachable", path, None, f"the node did not answer: {report.reason}")


def _needs_restart(reports: Iterable[NodeReport]) -> bool:
    return any(report.outcome is NodeOutcome.RESTART_REQUIRED for report in reports)


def _live_only(result: RefreshResult, planned: Plan, running: Running, candidate: Snapshot, key: bytes) -> Proposal:
    """Propose what runs with the live changes of the candidate (REF-07)."""
    if not planned.live:
        return Proposal(replace(result, pending=planned.restart))
    try:
        mix = snapshot_of(merge(running.snapshot.tree, candidate.tree, planned.live_masks))
    except ConfigError as error:
        # The candidate itself is valid: that its live part cannot run alone is no reason to reject it.
        return Proposal(replace(result, pending=result.changes, warnings=(*result.warnings, *_of_live_part(error))))
    result = replace(result, pending=planned.restart)
    following = Running(mix, Revision(running.revision + 1), mix.digest(key), running.payloads)
    return _with_next(result, following, planned.changed_nodes, key)


def _of_live_part(error: ConfigError) -> Iterator[Violation]:
    """Yield why the live part of a candidate is not applied: it is not valid without the rest."""
    for violation in error.violations:
        yield replace(violation, message=f"the live part is not valid alone: {violation.message}")


def _with_next(result: RefreshResult, following: Running, changed_nodes: Iterable[str], key: bytes) -> Proposal:
    """Propose what would run, which still has the payloads of what runs: only those that differ are new."""
    encoded = encode_payloads(following.snapshot, key, frozenset(changed_nodes))
    differing = {node: new for node, new in encoded.items() if following.payloads[node].tag != new.tag}
    following = replace(following, payloads={**following.payloads, **differing})
    return Proposal(result, following, frozenset(differing))
