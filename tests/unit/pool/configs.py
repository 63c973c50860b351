"""Small configs for the pool: normalized trees without what dispatch does not read."""

from collections.abc import Mapping, Sequence
from typing import Any

from iop_edge.config.snapshot import Snapshot
from iop_edge.pool.catalogue import Catalogue


def provider(
    name: str,
    *,
    node: str = "n1",
    capacity: int = 1,
    priority: int = 0,
    enabled: bool = True,
    mode: str = "passive",
    category: str = "local_inference",
    models: Sequence[str] = (),
    **queue: int,
) -> dict[str, Any]:
    """One provider; `node` says where it stands, `queue` holds its `max_queue` and `queue_timeout_ms`."""
    return {
        "node": node,
        "id": name,
        "type": "ollama",
        "category": category,
        "adapter": f"{name}-adapter",
        "models": list(models) or [f"{name}-model"],
        "health": {"mode": mode},
        "enabled": enabled,
        "capacity": capacity,
        "priority": priority,
        **queue,
    }


def snapshot(
    providers: Sequence[Mapping[str, Any]],
    models: Mapping[str, Sequence[str]],
    *,
    adapters: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    routes: Sequence[Mapping[str, str]] = (),
) -> Snapshot:
    """A config of these providers, of models with the ids of their providers, of adapters by node, and of routes."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    for item in providers:
        fields = {name: value for name, value in item.items() if name != "node"}
        nodes.setdefault(item["node"], []).append(fields)
    groups = [
        {"id": model, "providers": [{"id": name, "target": f"{name}-model"} for name in names]}
        for model, names in models.items()
    ]
    return Snapshot(
        {
            "edge": {"id": "edge-1"},
            "openai": {"model_routes": list(routes)},
            "models": groups,
            "nodes": [
                {"id": node, "providers": items, "adapters": list((adapters or {}).get(node, ()))}
                for node, items in nodes.items()
            ],
        }
    )


def catalogue(
    providers: Sequence[Mapping[str, Any]],
    models: Mapping[str, Sequence[str]],
    *,
    adapters: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    routes: Sequence[Mapping[str, str]] = (),
) -> Catalogue:
    """The catalogue of a config that is made as `snapshot` makes it."""
    return Catalogue.of(snapshot(providers, models, adapters=adapters, routes=routes))
