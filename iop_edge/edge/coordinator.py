"""Carries out refreshes one after another: each is applied as a whole, or changes nothing."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from iop_edge.clock import Clock
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.proposal import Proposal, propose, stale_expectations, with_reports
from iop_edge.edge.running import Running
from iop_edge.errors import ConfigError, EdgeError, Violation
from iop_edge.ids import NodeId
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import Desired
from iop_edge.refresh.result import (
    Attempt,
    Change,
    Mode,
    NodeOutcome,
    NodeReport,
    RefreshOptions,
    RefreshResult,
    Status,
    Trigger,
)
from iop_edge.rules import Rule
from iop_edge.store.history import Applied, Store

_LOG: Final = logging.getLogger(__name__)

_MAY_HAVE_TAKEN: Final = frozenset((NodeOutcome.COMMITTED, NodeOutcome.UNCHANGED, NodeOutcome.UNKNOWN))
"""Outcomes after which a Node may run the new payload, and must be put back if the apply fails."""

MOST_LOGGED: Final = 20
"""How many reasons of one rejection are logged."""

Load = Callable[[], Snapshot]
"""Loads a candidate in a thread, when its turn comes; raises `ConfigError` if it does not load."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks for a refresh, and what made them. An empty actor stands for the trigger itself."""

    actor: str = ""
    trigger: Trigger = Trigger.REFRESH


@dataclass(frozen=True, slots=True)
class Request:
    """A requested refresh."""

    load: Load
    mode: Mode
    options: RefreshOptions
    origin: Origin


Ended = Callable[[Request, RefreshResult, Running], None]
"""Called at the end of each refresh, before the next one begins, with what ran before it. It must not block."""


class Coordinator:
    """Owns what runs, and is alone in replacing it (REF-05 to REF-09).

    Args:
        running: what runs at first.
        store: the history.
        fleet: the Nodes.
        swapped: called with what runs from now on, right after each swap. It must neither block nor fail.
        ended: called at the end of each refresh.
        clock: the source of time.
    """

    def __init__(
        self,
        running: Running,
        store: Store,
        fleet: Fleet,
        swapped: Callable[[Running], None],
        ended: Ended,
        clock: Clock,
    ) -> None:
        self._running = running
        self._pending: tuple[Change, ...] = ()
        self._store = store
        self._fleet = fleet
        self._swapped = swapped
        self._ended = ended
        self._clock = clock
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[RefreshResult]] = set()
        self._closing = False

    @property
    def running(self) -> Running:
        """What runs."""
        return self._running

    @property
    def pending(self) -> tuple[Change, ...]:
        """The changes of the newest candidate that wait for a restart (REF-07)."""
        return self._pending

    async def refresh(self, request: Request) -> RefreshResult:
        """Carry out a refresh after those before it have ended.

        It runs to its end even if its caller is cancelled: a lost connection leaves nothing half done.

        Raises:
            EdgeError: the Edge is stopping.
        """
        task = asyncio.create_task(self._in_turn(request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Let the current refresh end, and refuse those that wait for their turn."""
        self._closing = True
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _in_turn(self, request: Request) -> RefreshResult:
        async with self._turn:
            if self._closing:
                raise EdgeError("the Edge is stopping")
            before = self._running
            proposal = await self._propose(request)
            result = proposal.result if request.mode is Mode.DRY_RUN else await self._apply(proposal, request)
            if result.status is Status.REJECTED:
                # A rejected candidate leaves what is pending as it was.
                result = replace(result, pending=self._pending)
            self._ended(request, result, before)
            return result

    async def _propose(self, request: Request) -> Proposal:
        try:
            candidate = await asyncio.to_thread(request.load)
        except ConfigError as error:
            return Proposal(self._not_loaded(request, error))
        running, options = self._running, request.options
        proposal = await asyncio.to_thread(propose, running, candidate, request.mode, options, self._store.key())
        if not proposal.affected:
            return proposal
        return proposal.checked(await self._fleet.check(proposal.affected), options)

    def _not_loaded(self, request: Request, error: ConfigError) -> RefreshResult:
        revision = self._running.revision
        stale = tuple(stale_expectations(request.options, revision, ""))
        return RefreshResult(
            status=Status.REJECTED,
            mode=request.mode,
            revision_before=revision,
            revision_after=revision,
            violations=(*stale, *error.violations),
            violations_total=len(stale) + error.total,
            warnings=error.report.warnings,
        )

    async def _apply(self, proposal: Proposal, request: Request) -> RefreshResult:
        base_hash = self._running.config_hash
        result = proposal.result
        if proposal.next is not None:
            result = await self._commit(proposal.next, proposal.affected, result, request)
        if not result.committed:
            try:
                await self._record(request, result, base_hash)
            except Exception as error:  # noqa: BLE001 - a missing entry is no reason to withhold the answer
                _LOG.error("an attempt is missing in the history: %s", fault_text(error))
        if result.status is not Status.REJECTED:
            self._pending = result.pending
        _log(request, result)
        return result

    async def _commit(
        self, next_running: Running, affected: Mapping[NodeId, Desired], result: RefreshResult, request: Request
    ) -> RefreshResult:
        """Push, record, then swap. Until everything has succeeded, what ran before runs on."""
        result = replace(result, committed=True, revision_after=next_running.revision)
        reports: Mapping[NodeId, NodeReport] = {}
        try:
            applied = await asyncio.to_thread(_applied, next_running, request.options)
            reports = await self._fleet.commit(affected) if affected else {}
            result, is_off = with_reports(result, reports, request.options)
            if not is_off:
                await self._record(request, result, self._running.config_hash, applied)
        except Exception as error:  # noqa: BLE001 - whatever it is, what ran before must run on
            failed = Violation(Rule.REFRESH_APPLY_FAILED, "", None, fault_text(error))
            result, is_off = replace(result, status=Status.REJECTED, violations=(failed,)), True
        if is_off:
            return await self._undo(result, affected, reports)
        self._running = next_running
        self._swapped(next_running)
        self._fleet.set_desired(next_running.desired)
        return result

    async def _undo(
        self, result: RefreshResult, affected: Collection[NodeId], reports: Mapping[NodeId, NodeReport]
    ) -> RefreshResult:
        """Put back every Node that may have taken its new payload, and tell the others to stay as they are."""
        desired = self._running.desired
        kept = {node for node, report in reports.items() if report.outcome not in _MAY_HAVE_TAKEN}
        taken = set(affected) - kept
        self._fleet.set_desired({node: desired[node] for node in kept})
        told = {NodeId(report.node_id): report for report in result.reports}
        back = await self._fleet.put_back({node: desired[node] for node in taken}) if taken else {}
        return replace(
            result,
            committed=False,
            revision_after=result.revision_before,
            reports=tuple({**told, **back}.values()),
        )

    async def _record(
        self, request: Request, result: RefreshResult, base_hash: str, applied: Applied | None = None
    ) -> None:
        attempt = Attempt(
            at_ms=self._clock.wall_ms(),
            actor=request.origin.actor or request.origin.trigger.value,
            trigger=request.origin.trigger,
            status=result.status,
            committed=result.committed,
            revision_before=result.revision_before,
            revision_after=result.revision_after,
            base_hash=base_hash,
            candidate_hash=result.candidate_hash,
            paths=tuple(change.path for change in result.changes),
            rules=tuple(dict.fromkeys(violation.rule for violation in result.violations)),
        )
        await asyncio.to_thread(self._store.record, attempt, applied)


def fault_text(error: Exception) -> str:
    """Return what may be said of an error: the text of an unforeseen one may quote values, which may be secret."""
    return str(error) if isinstance(error, EdgeError) else f"internal fault: {type(error).__name__}"


def _applied(running: Running, options: RefreshOptions) -> Applied:
    text = running.snapshot.dump_for_history()
    return Applied(running.revision, running.config_hash, text, is_confirmed=not options.confirm_within_ms)


def _log(request: Request, result: RefreshResult) -> None:
    level = logging.WARNING if result.status is Status.REJECTED else logging.INFO
    _LOG.log(
        level,
        "%s by %s: %s, revision %d -> %d, %d changes, %d pending",
        request.origin.trigger.value,
        request.origin.actor or request.origin.trigger.value,
        result.status.value,
        result.revision_before,
        result.revision_after,
        len(result.changes),
        len(result.pending),
    )
    for violation in result.violations[:MOST_LOGGED]:
        _LOG.warning("rejected: %s", violation)
