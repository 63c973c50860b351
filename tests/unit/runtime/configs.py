"""Small configs for the pool: normalized trees without what dispatch does not read."""

from collections.abc import Mapping, Sequence
from typing import Any

from iop_edge.load.snapshot import Snapshot


def provider(
    name: str,
    *,
    node: str = "n1",
    capacity: int = 1,
    priority: int = 0,
    enabled: bool = True,
    mode: str = "passive",
) -> dict[str, Any]:
    """One provider; `node` says where it stands."""
    return {
        "node": node,
        "id": name,
        "type": "ollama",
        "category": "local_inference",
        "adapter": f"{name}-adapter",
        "models": [f"{name}-model"],
        "health": {"mode": mode},
        "enabled": enabled,
        "capacity": capacity,
        "priority": priority,
    }


def snapshot(providers: Sequence[Mapping[str, Any]], models: Mapping[str, Sequence[str]]) -> Snapshot:
    """A config of these providers, and of these models with the ids of their providers."""
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
            "models": groups,
            "nodes": [{"id": node, "providers": items} for node, items in nodes.items()],
        }
    )
