"""The words for the state of Nodes and providers, and the status of a provider."""

from dataclasses import dataclass
from enum import StrEnum

from iop_edge.ids import NodeId, ProviderId


class NodeConnection(StrEnum):
    """The state of the Edge's connection to a Node."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    DIVERGED = "diverged"


class ProviderState(StrEnum):
    """What a provider can do for a new request; where several hold, the lowest counts."""

    AVAILABLE = "available"
    BUSY = "busy"
    UNHEALTHY = "unhealthy"
    UNREACHABLE = "unreachable"
    DISABLED = "disabled"


class Health(StrEnum):
    """The health of a provider. `DISABLED` is shown, never reported."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """One provider at one moment. A disabled one shows capacity 0 (POL-04).

    `health_detail` is what its Node saw last, for a person.
    """

    provider_id: ProviderId
    node_id: NodeId
    status: ProviderState
    health: Health
    capacity: int
    in_flight: int
    queued: int
    priority: int
    models: tuple[str, ...]
    health_detail: str = ""
