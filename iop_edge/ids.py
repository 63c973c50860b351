"""The ids of the domain, each a type of its own.

Provider ids, model ids and route ids are three name spaces: a function that takes one must not be handed another, and
the type checker is what says so.
"""

from dataclasses import dataclass
from typing import NewType

NodeId = NewType("NodeId", str)
AdapterName = NewType("AdapterName", str)
ProviderId = NewType("ProviderId", str)
ModelId = NewType("ModelId", str)
RouteId = NewType("RouteId", str)
Target = NewType("Target", str)
"""The name that an adapter's backend knows a model by."""

TokenRef = NewType("TokenRef", str)
PrincipalRef = NewType("PrincipalRef", str)
EdgeId = NewType("EdgeId", str)
EdgeInstanceId = NewType("EdgeInstanceId", str)

Revision = NewType("Revision", int)
Generation = NewType("Generation", int)


@dataclass(frozen=True, slots=True)
class ModelKey:
    """The model group that a request asks for."""

    id: ModelId

    def __str__(self) -> str:
        return f"model {self.id!r}"


@dataclass(frozen=True, slots=True)
class RouteKey:
    """The route that a request asks for (POL-10)."""

    id: RouteId

    def __str__(self) -> str:
        return f"route {self.id!r}"


DispatchKey = ModelKey | RouteKey
"""What a request asks the pool for. A model group and a route may share an id; their keys differ."""
