"""The ids of the domain, each a type of its own.

Provider ids, model ids and route ids are three name spaces: a function that takes one must not be handed another, and
the type checker is what says so.
"""

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
