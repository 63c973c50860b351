"""What a request asks for: a model group, or a route of the compatibility catalogue. Never one for the other."""

from dataclasses import dataclass

from iop_edge.ids import ModelId, RouteId


@dataclass(frozen=True, slots=True)
class ModelKey:
    """A model group."""

    id: ModelId

    def __str__(self) -> str:
        return f"model {self.id!r}"


@dataclass(frozen=True, slots=True)
class RouteKey:
    """A route (POL-10)."""

    id: RouteId

    def __str__(self) -> str:
        return f"route {self.id!r}"


DispatchKey = ModelKey | RouteKey
