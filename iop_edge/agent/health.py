"""The health of a Node's resources, and who watches it (PSH-05)."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from iop_edge.ids import Generation, ProviderId
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import Resource, ResourceHealth, ResourceHealthState, WatchHealthResponse


class HealthBook:
    """What is known of each resource: one without a check counts as healthy, of others nothing is known at first."""

    def __init__(self) -> None:
        self._generation = Generation(0)
        self._resources: dict[ProviderId, Resource] = {}
        self._known: dict[ProviderId, ResourceHealth] = {}
        self._changed = asyncio.Event()

    def follow(self, generation: Generation, resources: Iterable[Resource]) -> None:
        """Keep the book of these resources from now on. What is known of one that stays as it was is kept."""
        self._generation = generation
        followed = {ProviderId(item.provider_id): item for item in resources}
        self._known = {provider_id: self._carried_over(provider_id, item) for provider_id, item in followed.items()}
        self._resources = followed
        self._tell()

    def report(self, provider_id: ProviderId, state: ResourceHealthState, detail: str = "") -> None:
        """Note what a probe or a request has shown of a resource. One that is gone is passed over.

        `detail` goes to the Edge: it holds no secret.
        """
        if provider_id in self._known:
            self._known[provider_id] = ResourceHealth(provider_id=provider_id, state=state, detail=detail)
            self._tell()

    async def watch(self) -> AsyncIterator[WatchHealthResponse]:
        """Yield the health of all resources, then of each that changes, without end."""
        sent: dict[ProviderId, ResourceHealth] = {}
        generation: Generation | None = None
        while True:
            changed = self._changed
            news = [health for provider_id, health in self._known.items() if sent.get(provider_id) != health]
            if news or generation != self._generation:
                generation, sent = self._generation, dict(self._known)
                yield WatchHealthResponse(generation=generation, resources=news)
            else:
                await changed.wait()

    def _carried_over(self, provider_id: ProviderId, resource: Resource) -> ResourceHealth:
        if self._resources.get(provider_id) == resource:
            return self._known[provider_id]
        unchecked = resource.health is not None and resource.health.mode is HealthMode.NONE
        state = ResourceHealthState.HEALTHY if unchecked else ResourceHealthState.UNKNOWN
        return ResourceHealth(provider_id=provider_id, state=state)

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
