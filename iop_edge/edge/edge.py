"""An Edge in this process: what runs, its Nodes and its provider pool."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final, Self

from iop_edge.client.status import StatusSnapshot
from iop_edge.config.files import FileResolver
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.beginning import begin, require_resolved
from iop_edge.edge.confirmation import Confirmation, Sleep
from iop_edge.edge.coordinator import Coordinator, Load, Origin, Request
from iop_edge.edge.overlays import present_secrets
from iop_edge.edge.own_files import OwnFiles
from iop_edge.edge.rejection import rejection
from iop_edge.edge.restore import restore
from iop_edge.edge.running import Running, targets
from iop_edge.edge.status import Drift, drift, status_of
from iop_edge.edge.tally import Moment, Tally
from iop_edge.errors import EdgeError, Violation
from iop_edge.ids import EdgeId, EdgeInstanceId, NodeId, ProviderId
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.pool import ProviderPool
from iop_edge.pool.status import Health
from iop_edge.push.fleet import Fleet
from iop_edge.push.model import Connection, NodeState, Pushed, ReportedHealth
from iop_edge.push.settings import DEFAULTS, Settings
from iop_edge.refresh.result import Attempt, Mode, RefreshOptions, RefreshResult, Status, Trigger
from iop_edge.requests.prepare import RequestPolicy
from iop_edge.store.base import DEFAULT_LIMIT, Store
from iop_edge.store.memory import MemoryStore

_LOG: Final = logging.getLogger(__name__)
_NO_OPTIONS: Final = RefreshOptions()
_NOBODY: Final = Origin()


class Edge:
    """An Edge that runs: it keeps its Nodes at what its config says, and takes new configs.

    Start one with `async with Edge.start(snapshot) as edge`. It belongs to the event loop that it was started in.
    """

    def __init__(
        self,
        running: Running,
        store: Store,
        files: OwnFiles | None,
        settings: Settings,
        sleep: Sleep,
        *,
        take_over: bool,
    ) -> None:
        self._store = store
        self._files = files
        self._started_at_ms = time.time_ns() // 1_000_000
        self._tally = Tally()
        self._pool = ProviderPool(Catalogue.of(running.snapshot), self._tally.queues)
        self._policy = RequestPolicy.of(running.snapshot)
        self._fleet = Fleet(
            EdgeId(running.snapshot.tree["edge"]["id"]),
            EdgeInstanceId(secrets.token_hex(16)),
            take_over=take_over,
            settings=settings,
            on_state_change=self._take_state,
            on_health=self._take_health,
            on_push=self._take_push,
        )
        self._coordinator = Coordinator(running, store, self._fleet, self._swap, self._take_result)
        self._confirmation = Confirmation(self.submit, sleep)
        self._fleet.start(targets(running.snapshot), running.desired())

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        running: Snapshot,
        *,
        store: Store | None = None,
        files: OwnFiles | None = None,
        settings: Settings = DEFAULTS,
        sleep: Sleep = asyncio.sleep,
        take_over: bool = False,
    ) -> AsyncIterator[Self]:
        """Run an Edge for as long as the block runs.

        A config that is the same as the newest of the history keeps its revision (REF-09).

        Args:
            running: the config that runs at first.
            store: the history, which stays open when the Edge has stopped; None keeps it in memory.
            files: the files that the config was loaded from, for `reload`, drift and the secrets of a rollback.
            settings: how patient the Edge is with its Nodes.
            sleep: waits for seconds, for a config that is to be confirmed.
            take_over: take each Node over, once, that belongs to another Edge id; the other Edge is refused from
                then on (PSH-02).

        Raises:
            ConfigError: the config was loaded without resolving its references.
            EdgeError: the history cannot be used.
        """
        store = store or MemoryStore()
        first = await asyncio.to_thread(begin, running, store)
        edge = cls(first, store, files, settings, sleep, take_over=take_over)
        # Whoever is cancelled while it stops has no patience for refreshes, but leaves no task behind either.
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
        """The providers, as the running config wants them used."""
        return self._pool

    @property
    def policy(self) -> RequestPolicy:
        """What the running config makes of requests. It is swapped whole, together with the pool's config."""
        return self._policy

    async def refresh(
        self,
        candidate: Snapshot,
        mode: Mode | str = Mode.APPLY,
        *,
        expected_revision: int | None = None,
        expected_candidate: str = "",
        live_only: bool = False,
        require_all: bool = False,
        confirm_within_ms: int = 0,
    ) -> RefreshResult:
        """Propose a config: say what it would do, or do it (REF-05 to REF-09).

        Args:
            candidate: the config.
            mode: `dry_run` or `apply`.
            expected_revision: reject the candidate when another revision runs.
            expected_candidate: reject the candidate when its hash is another.
            live_only: apply the live part of a candidate that needs a restart.
            require_all: reject the candidate when an affected Node cannot be reached.
            confirm_within_ms: revert it by itself after so many milliseconds unless it is confirmed; 0: keep it.

        Raises:
            EdgeError: the Edge is stopping.
        """
        options = RefreshOptions(expected_revision, expected_candidate, live_only, require_all, confirm_within_ms)
        return await self.submit(partial(require_resolved, candidate), mode, options)

    async def reload(
        self, mode: Mode | str = Mode.APPLY, options: RefreshOptions = _NO_OPTIONS, origin: Origin = _NOBODY
    ) -> RefreshResult:
        """Propose what the Edge's own files say when the proposal's turn has come.

        Raises:
            EdgeError: the Edge is stopping.
        """
        return await self.submit(self._load_own, mode, options, origin)

    async def rollback(
        self,
        revision: int,
        mode: Mode | str = Mode.APPLY,
        options: RefreshOptions = _NO_OPTIONS,
        origin: Origin = _NOBODY,
    ) -> RefreshResult:
        """Propose the config of an old revision (REF-11).

        Raises:
            EdgeError: the Edge is stopping, or the history cannot be read.
        """
        origin = Origin(origin.actor, Trigger.ROLLBACK)
        return await self.submit(partial(self._restore, revision), mode, options, origin)

    async def submit(
        self, load: Load, mode: Mode | str, options: RefreshOptions = _NO_OPTIONS, origin: Origin = _NOBODY
    ) -> RefreshResult:
        """Propose a config that is loaded when the proposal's turn has come; what does not load is rejected.

        Raises:
            EdgeError: the Edge is stopping.
        """
        try:
            known = Mode(mode)
        except ValueError:
            return self._invalid_mode()
        return await self._coordinator.refresh(Request(load, known, options, origin))

    async def confirm(self, expected_revision: int | None = None) -> bool:
        """Keep the running revision, which would otherwise be reverted.

        Args:
            expected_revision: only when this is the running revision.

        Returns:
            whether the running revision has been confirmed, now or before.
        """
        revision = self.revision
        is_confirmed = self._confirmation.confirm(revision, expected_revision)
        if is_confirmed:
            try:
                await asyncio.to_thread(self._store.confirm, revision)
            except EdgeError as error:
                # It runs on all the same; only a start from the history would not choose it.
                _LOG.error("the history does not know that revision %d is confirmed: %s", revision, error)
        return is_confirmed

    async def status(self) -> StatusSnapshot:
        """Return what runs, what waits for a restart, and how Nodes and providers are."""
        running, drifted = await self._running_and_drift()
        return status_of(
            running,
            self._started_at_ms,
            self._coordinator.pending,
            self._fleet.states(),
            self._pool.statuses(),
            drifted,
            self._confirmation.awaited,
        )

    def moment(self) -> Moment:
        """Return what metrics show, as it is now."""
        return Moment(
            revision=self.revision,
            pending=len(self._coordinator.pending),
            awaits_confirmation=self._confirmation.awaited is not None,
            nodes=self._fleet.states(),
            providers=self._pool.statuses(),
            tally=self._tally.copied(),
        )

    async def history(self, limit: int = DEFAULT_LIMIT) -> tuple[Attempt, ...]:
        """Return past attempts, the newest first.

        Raises:
            EdgeError: the history cannot be read.
        """
        return await asyncio.to_thread(self._store.history, limit)

    async def settled(self) -> None:
        """Wait until every Node has been tried: it runs what it should, or has shown why not."""
        await self._fleet.settled()

    async def _running_and_drift(self) -> tuple[Running, Drift]:
        """Return what runs now, compared with the own files: again, where it was replaced while they were read."""
        while True:
            running = self._coordinator.running
            drifted = await asyncio.to_thread(drift, running, self._files)
            if running is self._coordinator.running:
                return running, drifted

    def _load_own(self) -> Snapshot:
        if self._files is None:
            raise rejection("refresh.no_files", "this Edge has no config files of its own")
        return self._files.load()

    def _restore(self, revision: int) -> Snapshot:
        applied = self._store.applied(revision)
        if applied is None:
            raise rejection("rollback.revision", f"the history has no revision {revision}")
        # An Edge without files of its own has been given its secrets by its program: they are in what runs.
        given = self.snapshot.tree if self._files is None else present_secrets(self._files)
        return restore(applied, given, FileResolver())

    def _invalid_mode(self) -> RefreshResult:
        words = " or ".join(Mode)
        return RefreshResult(
            status=Status.REJECTED,
            mode=Mode.DRY_RUN,
            revision_before=self.revision,
            revision_after=self.revision,
            violations=(Violation("refresh.mode", "", None, f"the mode must be {words}"),),
            pending=self._coordinator.pending,
        )

    def _swap(self, running: Running) -> None:
        self._policy = RequestPolicy.of(running.snapshot)
        self._pool.reconfigure(Catalogue.of(running.snapshot))
        self._tally.queues.keep(self._pool.keys)

    def _take_result(self, request: Request, result: RefreshResult, before: Running) -> None:
        self._tally.take_result(request, result)
        self._confirmation.take(request, result, before)

    def _take_push(self, _node_id: NodeId, pushed: Pushed) -> None:
        self._tally.take_push(pushed)

    def _take_state(self, node_id: NodeId, state: NodeState) -> None:
        # A Node that has never taken a payload has nothing to serve a request with.
        serves = state.connection is Connection.CONNECTED and state.generation > 0
        self._pool.set_node_reachable(node_id, serves)

    def _take_health(self, node_id: NodeId, reports: Mapping[ProviderId, ReportedHealth]) -> None:
        for provider_id, reported in reports.items():
            self._pool.set_health(node_id, provider_id, Health(reported.state.value), reported.detail)
