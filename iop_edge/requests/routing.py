"""From the external `model` of a request to what serves it: a model group, else a route (POL-10, VAL-09)."""

from collections.abc import Mapping
from types import MappingProxyType

from iop_edge.ids import DispatchKey, ModelId, ModelKey, RouteId, RouteKey
from iop_edge.schema.values import ReadTree

Routing = Mapping[str, DispatchKey]
"""What each external name means: first the model groups, then the routes that none of them hides."""


def routing_of(tree: ReadTree) -> Routing:
    """Read the names from the tree of a normalized config. A provider's id is none of them."""
    routing: dict[str, DispatchKey] = {model["id"]: ModelKey(ModelId(model["id"])) for model in tree.get("models", ())}
    for route in tree.get("openai", {}).get("model_routes", ()):
        routing.setdefault(route["model"], RouteKey(RouteId(route["model"])))
    return MappingProxyType(routing)
