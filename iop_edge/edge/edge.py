"""An Edge in this process: what runs, its Nodes and its provider pool."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final, Self

from iop_edge.client.status import StatusSnapshot
from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.config.files import FileResolver
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.confirmation import Confirmation
from iop_edge.edge.coordinator import Coordinator, Load, Origin, Request
from iop_edge.edge.restore import present_secrets, restore, secrets_of
from iop_edge.edge.running import ConfigFiles, Running, rejection, require_resolved, startup, targets
from iop_edge.edge.status import Counters, Drift, MetricsSnapshot, drift, node_statuses
from iop_edge.errors import EdgeError, Violation
from iop_edge.ids import EdgeId, EdgeInstanceId, NodeId, ProviderId
from iop_edge.pool.pool import ProviderPool
from iop_edge.pool.status import NodeConnection
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import DEFAULT_SETTINGS, Caller, NodeState, Pushed, PushSettings, ReportedHealth
from iop_edge.refresh.result import Attempt, Mode, RefreshOptions, RefreshResult, Status, Trigger
from iop_edge.requests.policy import RequestPolicy
from iop_edge.rules import Rule
from iop_edge.store.history import DEFAULT_LIMIT, MemoryStore, Store

_LOG: Final = logging.getLogger(__name__)
_PROGRAM: Final = Origin()
"""The default: the program around the Edge asks for the refresh."""


class Edge:
    """A running Edge: it keeps its Nodes at its config, and takes new configs.

    Start one with `async with Edge.start(snapshot) as edge`. It belongs to the event loop that it was started in.
    """

    def __init__(
        self,
        running: Running,
        store: Store,
        files: ConfigFiles | None,
        settings: PushSettings,
        clock: Clock,
        *,
        take_over: bool,
    ) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._started_at_ms = clock.wall_ms()
        self._counters = Counters()
        self._pool = ProviderPool(running.catalogue, self._counters, clock)
        self._fleet = Fleet(
            Caller(EdgeId(running.snapshot.tree["edge"]["id"]), EdgeInstanceId(secrets.token_hex(16)), take_over),
            settings=settings,
            clock=clock,
            on_state_change=self._take_state,
            on_health=self._take_health,
            on_push=self._take_push,
        )
        self._coordinator = Coordinator(running, store, self._fleet, self._swapped, self._ended, clock)
        self._confirmation = Confirmation(self._coordinator.refresh, clock)
        self._fleet.start(targets(running.snapshot), running.desired)

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        running: Snapshot,
        *,
        store: Store | None = None,
        files: ConfigFiles | None = None,
        settings: PushSettings = DEFAULT_SETTINGS,
        clock: Clock = SYSTEM_CLOCK,
        take_over: bool = False,
    ) -> AsyncIterator[Self]:
        """Run an Edge for as long as the block runs.

        A config that equals the newest one of the history keeps its revision (REF-09).

        Args:
            running: the config to begin with.
            store: the history, which stays open when the Edge has stopped; None keeps it in memory.
            files: the files that the config was loaded from, for `reload`, drift and the secrets of a rollback.
            settings: deadlines and bounds of the sessions with Nodes.
            clock: the source of time.
            take_over: take over each Node that belongs to another Edge id, once; that Edge is refused from then on
                (PSH-02).

        Raises:
            ConfigError: the config was loaded without resolving its references.
            EdgeError: the history cannot be used.
        """
        store = store or MemoryStore()
        first = await asyncio.to_thread(startup, running, store, clock)
        edge = cls(first, store, files, settings, clock, take_over=take_over)
        # Cancelling the stop gives up on refreshes, but leaves no task behind either.
        async with AsyncExitStack() as parts:
            parts.push_async_callback(edge._fleet.close)
            parts.push_async_callback(edge._coordinator.close)
            parts.push_async_callback(edge._confirmation.close)
            parts.callback(edge._pool.close)
            yield edge

    @property
    def snapshot(self) -> Snapshot:
        """The running config."""
        return self._coordinator.running.snapshot

    @property
    def revision(self) -> int:
        """The number of the running config."""
        return self._coordinator.running.revision

    @property
    def config_hash(self) -> str:
        """The hash of the running config."""
        return self._coordinator.running.config_hash

    @property
    def pool(self) -> ProviderPool:
        """The provider pool, which dispatches by the running config."""
        return self._pool

    @property
    def policy(self) -> RequestPolicy:
        """The request policy of the running config."""
        return self._coordinator.running.policy

    async def refresh(  # noqa: PLR0913 - the keywords that every kind of refresh takes
        self,
        candidate: Snapshot | Callable[[], Snapshot],
        mode: Mode | str = Mode.APPLY,
        *,
        expected_revision: int | None = None,
        expected_candidate: str = "",
        live_only: bool = False,
        require_all: bool = False,
        confirm_within_ms: int = 0,
        origin: Origin = _PROGRAM,
    ) -> RefreshResult:
        """Propose a config: tell what it would do, or apply it (REF-05 to REF-09).

        A candidate that cannot be applied is a result with status `rejected`, not an exception.

        Args:
            candidate: the config, or a function that loads it. The function runs in a thread when the turn of this
                refresh comes; a `ConfigError` that it raises makes the result `rejected`.
            mode: `dry_run` or `apply`.
            expected_revision: reject the candidate unless this revision is running.
            expected_candidate: reject the candidate unless it has this hash.
            live_only: apply the live part of a candidate that needs a restart.
            require_all: reject the candidate if an affected Node is unreachable.
            confirm_within_ms: revert after this many milliseconds unless the new revision is confirmed; 0: keep it.
            origin: who asks, and why, for the history and the log.

        Raises:
            EdgeError: the Edge is stopping.
            ValueError: `expected_revision` or `confirm_within_ms` is not a whole number of at least 0.
        """
        options = RefreshOptions(expected_revision, expected_candidate, live_only, require_all, confirm_within_ms)
        load = (lambda: candidate) if isinstance(candidate, Snapshot) else candidate
        return await self._propose(load, mode, options, origin)

    async def reload(
        self,
        mode: Mode | str = Mode.APPLY,
        *,
        expected_revision: int | None = None,
        expected_candidate: str = "",
        live_only: bool = False,
        require_all: bool = False,
        confirm_within_ms: int = 0,
        origin: Origin = _PROGRAM,
    ) -> RefreshResult:
        """Propose what the Edge's own files hold when the turn of this refresh comes.

        Keywords and errors are those of `refresh`.
        """
        options = RefreshOptions(expected_revision, expected_candidate, live_only, require_all, confirm_within_ms)
        return await self._propose(self._load_own, mode, options, origin)

    async def rollback(  # noqa: PLR0913 - the keywords of `refresh`
        self,
        revision: int,
        mode: Mode | str = Mode.APPLY,
        *,
        expected_revision: int | None = None,
        expected_candidate: str = "",
        live_only: bool = False,
        require_all: bool = False,
        confirm_within_ms: int = 0,
        origin: Origin = _PROGRAM,
    ) -> RefreshResult:
        """Propose the config of an old revision, as a new revision (REF-11).

        Keywords and errors are those of `refresh`; also raises `EdgeError` if the history cannot be read.
        """
        options = RefreshOptions(expected_revision, expected_candidate, live_only, require_all, confirm_within_ms)
        origin = Origin(origin.actor, Trigger.ROLLBACK)
        return await self._propose(partial(self._restore, revision), mode, options, origin)

    async def _propose(self, load: Load, mode: Mode | str, options: RefreshOptions, origin: Origin) -> RefreshResult:
        try:
            known = Mode(mode)
        except ValueError:
            return self._invalid_mode()
        return await self._coordinator.refresh(Request(lambda: require_resolved(load()), known, options, origin))

    async def confirm(self, expected_revision: int | None = None) -> bool:
        """Keep the running revision, which would otherwise be reverted.

        Args:
            expected_revision: confirm only if this revision is running.

        Returns:
            whether the running revision is confirmed, now or before.
        """
        revision = self.revision
        is_confirmed = self._confirmation.confirm(revision, expected_revision)
        if is_confirmed:
            try:
                await asyncio.to_thread(self._store.confirm, revision)
            except EdgeError as error:
                # It runs on all the same; only a start from the history would not choose it.
                _LOG.error("the history does not show that revision %d is confirmed: %s", revision, error)
        return is_confirmed

    async def status(self) -> StatusSnapshot:
        """Return what runs, what is pending, and the state of Nodes and providers."""
        running, (drifted, error) = await self._running_and_drift()
        awaited = self._confirmation.awaited
        return StatusSnapshot(
            edge_id=EdgeId(running.snapshot.tree["edge"]["id"]),
            revision=running.revision,
            config_hash=running.config_hash,
            started_at_ms=self._started_at_ms,
            drift=drifted,
            drift_error=error,
            pending=self._coordinator.pending,
            nodes=node_statuses(running.snapshot, self._fleet.states()),
            providers=self._pool.statuses(),
            confirm_until_ms=awaited.until_ms if awaited else 0,
            reverts_to=awaited.reverts_to.revision if awaited else 0,
        )

    async def history(self, limit: int = DEFAULT_LIMIT) -> tuple[Attempt, ...]:
        """Return past attempts, the newest first.

        Raises:
            EdgeError: the history cannot be read.
        """
        return await asyncio.to_thread(self._store.history, limit)

    async def settled(self) -> None:
        """Wait until every Node has been tried: it runs what it should, or shows why not."""
        await self._fleet.settled()

    def _metrics(self) -> MetricsSnapshot:
        return MetricsSnapshot(
            revision=self.revision,
            pending=len(self._coordinator.pending),
            awaits_confirmation=self._confirmation.awaited is not None,
            nodes=self._fleet.states(),
            providers=self._pool.statuses(),
            counters=self._counters.copy(),
        )

    async def _running_and_drift(self) -> tuple[Running, Drift]:
        """Return what runs and its drift; compare again if it was replaced while the files were read."""
        while True:
            running = self._coordinator.running
            drifted = await asyncio.to_thread(drift, running, self._files)
            if running is self._coordinator.running:
                return running, drifted

    def _load_own(self) -> Snapshot:
        if self._files is None:
            raise rejection(Rule.REFRESH_NO_FILES, "this Edge has no config files of its own")
        return self._files.load()

    def _restore(self, revision: int) -> Snapshot:
        applied = self._store.applied(revision)
        if applied is None:
            raise rejection(Rule.ROLLBACK_REVISION, f"the history has no revision {revision}")
        # An Edge without files has its secrets from its program: they are in the running config.
        files, running = self._files, self.snapshot
        secrets = secrets_of(running.tree, running.references) if files is None else present_secrets(files)
        return restore(applied, secrets, FileResolver())

    def _invalid_mode(self) -> RefreshResult:
        words = " or ".join(Mode)
        return RefreshResult(
            status=Status.REJECTED,
            mode=Mode.DRY_RUN,
            revision_before=self.revision,
            revision_after=self.revision,
            violations=(Violation(Rule.REFRESH_MODE, "", None, f"the mode must be {words}"),),
            pending=self._coordinator.pending,
        )

    def _swapped(self, running: Running) -> None:
        self._pool.reconfigure(running.catalogue)
        self._counters.keep(running.catalogue.groups)

    def _ended(self, request: Request, result: RefreshResult, before: Running) -> None:
        self._counters.take_result(request.mode, result, self._clock)
        self._confirmation.take(request, result, before)

    def _take_push(self, _node_id: NodeId, pushed: Pushed) -> None:
        self._counters.take_push(pushed)

    def _take_state(self, node_id: NodeId, state: NodeState) -> None:
        # A Node that has never taken a payload cannot serve requests.
        serves = state.connection is NodeConnection.CONNECTED and state.generation > 0
        self._pool.set_node_reachable(node_id, serves)

    def _take_health(self, node_id: NodeId, reports: Mapping[ProviderId, ReportedHealth]) -> None:
        for provider_id, reported in reports.items():
            self._pool.set_health(node_id, provider_id, reported.state, reported.detail)


def metrics_snapshot(edge: Edge) -> MetricsSnapshot:
    """Return what the metrics of an Edge show now. For the daemon; not part of the public API."""
    return edge._metrics()  # noqa: SLF001 - the two belong together
