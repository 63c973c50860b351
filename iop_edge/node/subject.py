"""What health is of."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from iop_edge.ids import ProviderId
from iop_edge.node.standing import Thresholds
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import AdapterConfig, NodeConfigPayload, Resource, ResourceHealthCheck


@dataclass(frozen=True, slots=True)
class Subject:
    """A resource and the adapter that it runs on, if it has one: when either changes, what was known is of no use."""

    resource: Resource = field(repr=False)
    adapter: AdapterConfig | None = field(repr=False)

    @property
    def provider_id(self) -> ProviderId:
        """The id of the resource."""
        return ProviderId(self.resource.provider_id)

    @property
    def check(self) -> ResourceHealthCheck:
        """How its health is found out."""
        return self.resource.health or ResourceHealthCheck()

    @property
    def mode(self) -> HealthMode:
        """The way."""
        return self.check.mode

    @property
    def thresholds(self) -> Thresholds:
        """How many results change its health."""
        return Thresholds.of(self.check)


def subjects_of(payload: NodeConfigPayload) -> Iterator[Subject]:
    """Yield what a payload has."""
    adapters = {adapter.name: adapter for adapter in payload.adapters}
    for resource in payload.resources:
        yield Subject(resource, adapters.get(resource.adapter))
