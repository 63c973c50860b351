"""All Nodes of an Edge."""

from collections.abc import Iterable, Mapping

from iop_edge.ids import EdgeId, EdgeInstanceId, NodeId
from iop_edge.push.model import Desired, HealthListener, NodeState, StateListener, Target
from iop_edge.push.settings import DEFAULTS, Settings
from iop_edge.refresh.result import NodeReport


class Fleet:
    """The sessions with all Nodes of an Edge, one a Node, each converging its Node on its own (PSH-01 to PSH-04).

    Args:
        edge_id: the Edge's id; a Node belongs to one.
        instance_id: a random id of this process.
        take_over: take Nodes over that belong to another Edge id.
        settings: deadlines, bounds, clock and chance.
        on_state_change: told of each change of a Node's state.
        on_health: told of the health that a Node reports.
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
    ) -> None:
        raise NotImplementedError

    def start(self, targets: Iterable[Target], desired: Mapping[NodeId, Desired]) -> None:
        """Begin to dial the targets and to converge each to what is desired of it. Called once, in a running event loop."""
        raise NotImplementedError

    def set_desired(self, desired: Mapping[NodeId, Desired]) -> None:
        """Say what Nodes should run from now on; the latest wins. A Node that runs the content already gets no push."""
        raise NotImplementedError

    async def check(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Ask each of these Nodes whether it would take its payload; nothing changes (PSH-03).

        Outcomes: `committed` (it would), `unchanged`, `rejected`, `restart_required`, `unreachable`.
        """
        raise NotImplementedError

    async def commit(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Make these payloads the desired ones and push them (PSH-03).

        Outcomes: `committed`, `unchanged`, `rejected`, `restart_required`, `unreachable` (nothing was sent; converged later),
        `unknown` (it passed its check and was lost, or its answer was lost; converged later).
        """
        raise NotImplementedError

    async def put_back(self, desired: Mapping[NodeId, Desired]) -> dict[NodeId, NodeReport]:
        """Make these payloads, the old ones, the desired ones again and push them with a higher generation (PSH-03).

        Outcomes: `rolled_back`, `rollback_failed` (converged later).
        """
        raise NotImplementedError

    def states(self) -> Mapping[NodeId, NodeState]:
        """Return what is known of each Node now, by id."""
        raise NotImplementedError

    async def settled(self) -> None:
        """Wait until every Node has been tried: it runs what it should, or has shown why not."""
        raise NotImplementedError

    async def close(self) -> None:
        """End all sessions. No task and no socket is left."""
        raise NotImplementedError
