"""All Nodes of an Edge."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType

from iop_edge.ids import EdgeId, EdgeInstanceId, NodeId, ProviderId
from iop_edge.push.actor import NodeActor, Surroundings
from iop_edge.push.gate import SendGate
from iop_edge.push.link import Caller
from iop_edge.push.model import (
    Desired,
    HealthListener,
    NodeState,
    Pushed,
    PushListener,
    ReportedHealth,
    StateListener,
    Target,
)
from iop_edge.push.settings import DEFAULTS, Settings
from iop_edge.refresh.result import NodeReport

_log = logging.getLogger(__name__)

_Step = Callable[[NodeActor, Desired], Awaitable[NodeReport]]


class Fleet:
    """The sessions with all Nodes of an Edge, one a Node, each converging its Node on its own (PSH-01 to PSH-04).

    Args:
        edge_id: the Edge's id; a Node belongs to one.
        instance_id: a random id of this process.
        take_over: take each Node over, once, when it belongs to another Edge id.
        settings: deadlines, bounds, clock and chance.
        on_state_change: told of each change of a Node's state.
        on_health: told of the health that a Node reports.
        on_push: told of each push that has ended, and how long it took.
    """

    def __init__(
        self,
        edge_id: EdgeId,
        instance_id: EdgeInstanceId,
        *,
        take_over: bool = False,
        settings: Settings = DEFAULTS,
        on_state_change: StateListener | None = None,
        on_health: HealthListener | None = None,
        on_push: PushListener | None = None,
    ) -> None:
        self._around = Surroundings(
            caller=Caller(edge_id, instance_id, take_over),
            settings=settings,
            dials=SendGate(settings.dials_at_once, settings.send_hold, settings.bytes_at_once),
            gate=SendGate(settings.sends_at_once, settings.send_hold, settings.bytes_at_once),
            on_state=self._tell_state,
            on_health=self._tell_health,
            on_push=self._tell_push,
        )
        self._on_state_change = on_state_change
        self._on_health = on_health
        self._on_push = on_push
        self._actors: dict[NodeId, NodeActor] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, targets: Iterable[Target], desired: Mapping[NodeId, Desired]) -> None:
        """Begin to dial the targets and to converge each to what is desired of it. Called once, in an event loop."""
        for target in targets:
            actor = NodeActor(target, desired.get(target.node_id), self._around)
            self._actors[target.node_id] = actor
            self._tasks.append(asyncio.create_task(actor.run(), name=f"node {target.node_id}"))

    def set_desired(self, desired: Mapping[NodeId, Desired]) -> None:
        """Say what Nodes should run from now on; the latest wins. A Node that runs the content already gets no push."""
        for node_id, item in desired.items():
            self._actors[node_id].want(item)

    async def check(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Ask each of these Nodes whether it would take its payload; nothing changes (PSH-03).

        Outcomes: `committed` (it would), `unchanged`, `rejected`, `restart_required`, `unreachable`.
        """
        return await self._all(NodeActor.check, desired)

    async def commit(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Make these payloads the desired ones and push them (PSH-03).

        Outcomes: `committed`, `unchanged`, `rejected`, `restart_required`, `unreachable` (nothing was sent; converged
        later), `unknown` (it passed its check and was lost, or its answer was lost; converged later).
        """
        return await self._all(NodeActor.commit, desired)

    async def put_back(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Make these payloads, the old ones, the desired ones again and push them with a higher generation (PSH-03).

        Outcomes: `rolled_back`, `rollback_failed` (converged later).
        """
        return await self._all(NodeActor.put_back, desired)

    def states(self) -> Mapping[NodeId, NodeState]:
        """Return what is known of each Node now, by id."""
        return MappingProxyType({node_id: self._actors[node_id].state for node_id in sorted(self._actors)})

    async def settled(self) -> None:
        """Wait until every Node has been tried: it runs what it should, or has shown why not."""
        await asyncio.gather(*(actor.tried() for actor in self._actors.values()))

    async def close(self) -> None:
        """End all sessions. No task and no socket is left."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _all(self, step: _Step, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        node_ids = sorted(desired)
        reports = await asyncio.gather(*(step(self._actors[node_id], desired[node_id]) for node_id in node_ids))
        return dict(zip(node_ids, reports, strict=True))

    def _tell_state(self, target: Target, state: NodeState) -> None:
        if self._on_state_change is not None:
            _call(self._on_state_change, target.node_id, state)

    def _tell_health(self, target: Target, health: Mapping[ProviderId, ReportedHealth]) -> None:
        if self._on_health is not None:
            _call(self._on_health, target.node_id, health)

    def _tell_push(self, target: Target, pushed: Pushed) -> None:
        if self._on_push is not None:
            _call(self._on_push, target.node_id, pushed)


def _call(listener: Callable[..., None], *news: object) -> None:
    """Tell a listener; its own faults must not end a session."""
    try:
        listener(*news)
    except Exception:  # noqa: BLE001
        _log.exception("a listener failed")
