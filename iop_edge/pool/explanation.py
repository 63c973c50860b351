"""What would become of a new request whose model is named as its caller names it, whatever kind of id that is."""

from dataclasses import dataclass
from enum import StrEnum

from iop_edge.ids import ProviderId, RouteKey
from iop_edge.pool import explain
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.explain import Candidate
from iop_edge.pool.refusal import RefusalReason


class DispatchKind(StrEnum):
    """What the model of a request names."""

    MODEL = "model"
    ROUTE = "route"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A request goes to the `chosen` provider, or waits in `queues`, or is refused.

    Where `model` names nothing, `kind` is None, and `known_models` and `known_routes` list all that there are to name.
    """

    model: str
    kind: DispatchKind | None = None
    chosen: ProviderId | None = None
    queues: tuple[ProviderId, ...] = ()
    refusal: RefusalReason | None = None
    candidates: tuple[Candidate, ...] = ()
    known_models: tuple[str, ...] = ()
    known_routes: tuple[str, ...] = ()


def explain_request(dispatcher: Dispatcher, model: str) -> Explanation:
    """Say what would become of a new request, and why. Nothing is taken.

    Args:
        dispatcher: who would choose.
        model: the id of a model group or, where there is none of that id, of a route (VAL-09).
    """
    group = dispatcher.models.get(model) or dispatcher.routes.get(model)
    if group is None:
        known = (tuple(sorted(names)) for names in (dispatcher.models, dispatcher.routes))
        return Explanation(model, None, None, (), RefusalReason.UNKNOWN, (), *known)
    kind = DispatchKind.ROUTE if isinstance(group.key, RouteKey) else DispatchKind.MODEL
    if dispatcher.is_closed:
        return Explanation(model, kind, refusal=RefusalReason.CLOSED)
    found = explain.dispatch(dispatcher, group)
    return Explanation(model, kind, found.chosen, found.queues, found.refusal, found.candidates)
