"""All Nodes of an Edge."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.ids import NodeId
from iop_edge.push.actor import Context, NodeActor
from iop_edge.push.gate import SendGate
from iop_edge.push.model import (
    DEFAULT_SETTINGS,
    Caller,
    Desired,
    HealthListener,
    NodeState,
    PushListener,
    PushSettings,
    StateListener,
    Target,
)
from iop_edge.refresh.result import NodeReport

_log = logging.getLogger(__name__)

_News = TypeVar("_News")
_Step = Callable[[NodeActor, Desired], Awaitable[NodeReport | None]]


class Fleet:
    """The sessions with all Nodes of an Edge, each converging its Node on its own (PSH-01 to PSH-04).

    Args:
        caller: the Edge that dials. Its take-over happens once for each Node.
        settings: time limits and bounds.
        clock: times retries and pushes.
        chance: returns a random number from 0 to 1, which spreads retries.
        on_state_change: called with each change of a Node's state.
        on_health: called with the health that a Node reports.
        on_push: called with each push that has ended.
    """

    def __init__(
        self,
        caller: Caller,
        *,
        settings: PushSettings = DEFAULT_SETTINGS,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
        on_state_change: StateListener | None = None,
        on_health: HealthListener | None = None,
        on_push: PushListener | None = None,
    ) -> None:
        self._context = Context(
            caller=caller,
            settings=settings,
            clock=clock,
            chance=chance,
            dials=SendGate(settings.dials_at_once, settings.send_hold, settings.bytes_at_once),
            sends=SendGate(settings.sends_at_once, settings.send_hold, settings.bytes_at_once),
            on_state=_guarded(on_state_change),
            on_health=_guarded(on_health),
            on_push=_guarded(on_push),
        )
        self._actors: dict[NodeId, NodeActor] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, targets: Iterable[Target], desired: Mapping[NodeId, Desired]) -> None:
        """Start to dial the targets and to converge each to its desired payload. Called once, in an event loop."""
        for target in targets:
            actor = NodeActor(target, desired.get(target.node_id), self._context)
            self._actors[target.node_id] = actor
            self._tasks.append(asyncio.create_task(actor.run(), name=f"node {target.node_id}"))

    def set_desired(self, desired: Mapping[NodeId, Desired]) -> None:
        """Set what Nodes should run from now on. A Node that already runs the content gets no push."""
        for node_id, item in desired.items():
            self._actors[node_id].want(item)

    async def check(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Ask each of these Nodes whether it would take its payload; nothing changes (PSH-03).

        Outcomes: `checked` (it would), `unchanged`, `rejected`, `restart_required`, `unreachable`.
        """
        return await self._all(NodeActor.check, desired)

    async def commit(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Make these payloads the desired ones and push them (PSH-03).

        Outcomes: `committed`, `unchanged`, `rejected`, `restart_required`, `unreachable` (nothing was sent; converged
        later), `unknown` (it passed its check and was lost, or its answer was lost; converged later).
        """
        return await self._all(NodeActor.commit, desired)

    async def put_back(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Make these old payloads the desired ones again and push them with a higher generation (PSH-03).

        Outcomes: `rolled_back`, `rollback_failed` (converged later). A Node that was not sent its new payload since its
        last check has nothing to put back, and no report.
        """
        return await self._all(NodeActor.put_back, desired)

    def states(self) -> Mapping[NodeId, NodeState]:
        """Return the state of each Node, by id."""
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
        return {node_id: report for node_id, report in zip(node_ids, reports, strict=True) if report}


def _guarded(listener: Callable[[NodeId, _News], None] | None) -> Callable[[NodeId, _News], None]:
    """Wrap a listener, whose own faults must not end a session."""

    def call(node_id: NodeId, news: _News) -> None:
        if listener is None:
            return
        try:
            listener(node_id, news)
        except Exception:  # noqa: BLE001
            _log.exception("a listener failed")

    return call
