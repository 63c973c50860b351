"""Monitors the health of a Node's resources, and streams it to the Edge (PSH-05)."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from iop_edge.clock import SYSTEM_CLOCK, Clock
from iop_edge.ids import Generation, ProviderId
from iop_edge.node.probe import Probe, Prober, probe_of
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    NodeConfigPayload,
    Resource,
    ResourceHealth,
    ResourceHealthCheck,
    ResourceHealthState,
    WatchHealthResponse,
)

MAX_REPORTED: Final = 1000
"""The maximum number of resources in one report. It keeps messages small, however much a Node runs."""

FIRST_WITHIN_SECONDS: Final = 1.0
"""The first probes of a payload are spread over this time, so that they do not all start at once."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How many consecutive results change a state: good ones to healthy, bad ones to unhealthy."""

    healthy: int
    unhealthy: int


@dataclass(frozen=True, slots=True)
class ThresholdState:
    """A health state, and how many consecutive results have contradicted it."""

    state: ResourceHealthState = ResourceHealthState.UNKNOWN
    against: int = 0

    def after(self, thresholds: Thresholds, *, good: bool) -> "ThresholdState":
        """Return the state after one more result. A single good result makes an unknown resource healthy."""
        if self.state is ResourceHealthState.UNHEALTHY:
            return self._counted(HEALTHY, thresholds.healthy) if good else UNHEALTHY
        return HEALTHY if good else self._counted(UNHEALTHY, thresholds.unhealthy)

    def half_open(self, thresholds: Thresholds) -> "ThresholdState":
        """Return a state that admits requests again, and that the next bad result ends."""
        return ThresholdState(against=thresholds.unhealthy - 1)

    def _counted(self, other: "ThresholdState", threshold: int) -> "ThresholdState":
        against = self.against + 1
        return other if against >= threshold else ThresholdState(self.state, against)


UNKNOWN: Final = ThresholdState()
HEALTHY: Final = ThresholdState(ResourceHealthState.HEALTHY)
UNHEALTHY: Final = ThresholdState(ResourceHealthState.UNHEALTHY)


@dataclass(frozen=True, slots=True)
class MonitoredResource:
    """A resource and its adapter, if it has one. When either changes, earlier results no longer apply."""

    resource: Resource = field(repr=False)
    adapter: AdapterConfig | None = field(repr=False)

    @property
    def provider_id(self) -> ProviderId:
        """The id of the resource."""
        return ProviderId(self.resource.provider_id)

    @property
    def check(self) -> ResourceHealthCheck:
        """The health check of the resource."""
        return self.resource.health or ResourceHealthCheck()

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the check; at least one result is needed to change a state."""
        return Thresholds(max(self.check.healthy_threshold, 1), max(self.check.unhealthy_threshold, 1))


def monitored_resources(payload: NodeConfigPayload) -> Iterator[MonitoredResource]:
    """Yield the resources of a payload with their adapters."""
    adapters = {adapter.name: adapter for adapter in payload.adapters}
    for resource in payload.resources:
        yield MonitoredResource(resource, adapters.get(resource.adapter))


class _Entry:
    """What the registry knows of one resource."""

    def __init__(self, monitored: MonitoredResource) -> None:
        self.monitored = monitored
        self.unhealthy = asyncio.Event()
        self.set(HEALTHY if monitored.check.mode is HealthMode.NONE else UNKNOWN, "")

    def set(self, state: ThresholdState, detail: str) -> None:
        self.state = state
        self.health = ResourceHealth(provider_id=self.monitored.provider_id, state=state.state, detail=detail)
        if state.state is ResourceHealthState.UNHEALTHY:
            self.unhealthy.set()
        else:
            self.unhealthy.clear()


class HealthRegistry:
    """The health of each resource. Without a check a resource is healthy; otherwise it starts as unknown."""

    def __init__(self) -> None:
        self._generation = Generation(0)
        self._entries: dict[ProviderId, _Entry] = {}
        self._changed = asyncio.Event()

    def replace(self, generation: Generation, resources: Iterable[MonitoredResource]) -> None:
        """Track these resources from now on. One that has not changed keeps its state."""
        self._generation = generation
        old = self._entries
        self._entries = {}
        for monitored in resources:
            entry = old.get(monitored.provider_id)
            kept = entry is not None and entry.monitored == monitored
            self._entries[monitored.provider_id] = entry if entry is not None and kept else _Entry(monitored)
        self._notify()

    def observe(self, provider_id: ProviderId, *, good: bool, detail: str = "") -> None:
        """Record the result of a probe or of a request. Resources that are gone or have no check are ignored.

        Args:
            provider_id: the resource.
            good: whether the backend worked. A request that was itself at fault says nothing about the backend.
            detail: what was seen, for a person. It is sent to the Edge, so it must hold no secret.
        """
        entry = self._entries.get(provider_id)
        if entry is not None and entry.monitored.check.mode is not HealthMode.NONE:
            self._set(entry, entry.state.after(entry.monitored.thresholds, good=good), detail)

    async def wait_unhealthy(self, provider_id: ProviderId) -> None:
        """Wait until a resource is unhealthy.

        Raises:
            KeyError: there is no such resource.
        """
        await self._entries[provider_id].unhealthy.wait()

    def half_open(self, provider_id: ProviderId) -> None:
        """Admit requests to an unhealthy resource again: the next result decides."""
        entry = self._entries.get(provider_id)
        if entry is not None and entry.state.state is ResourceHealthState.UNHEALTHY:
            self._set(entry, entry.state.half_open(entry.monitored.thresholds), entry.health.detail)

    async def watch(self) -> AsyncIterator[WatchHealthResponse]:
        """Yield the health of all resources, again for each new generation, and of each resource that changes."""
        sent: dict[ProviderId, ResourceHealth] = {}
        generation: Generation | None = None
        while True:
            changed = self._changed
            if is_new := generation != self._generation:
                generation, sent = self._generation, {}
            known = {provider_id: entry.health for provider_id, entry in self._entries.items()}
            news = [health for provider_id, health in known.items() if sent.get(provider_id) != health]
            if not (is_new or news):
                await changed.wait()
                continue
            sent = known
            for start in range(0, len(news) or 1, MAX_REPORTED):
                yield WatchHealthResponse(generation=generation or 0, resources=news[start : start + MAX_REPORTED])

    def _set(self, entry: _Entry, state: ThresholdState, detail: str) -> None:
        before = entry.health
        entry.set(state, detail)
        if before.state is not entry.health.state:
            level = logging.WARNING if state.state is ResourceHealthState.UNHEALTHY else logging.INFO
            _log.log(level, "provider %s: %s: %s", before.provider_id, str(state.state.name).lower(), detail)
        if before != entry.health:
            self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class HealthMonitor:
    """Runs one task for each resource that needs one, for as long as the resource stays as it is.

    An active resource is probed at its interval, one probe at a time. An unhealthy passive resource gets no requests
    that could show its recovery, so after its interval it is half open: the next request decides.

    Args:
        registry: takes the results.
        prober: sends the probes.
        clock: times the probes.
        chance: returns a random number from 0 to 1, which spreads the first probes.
    """

    def __init__(
        self,
        registry: HealthRegistry,
        prober: Prober,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._registry = registry
        self._prober = prober
        self._clock = clock
        self._chance = chance
        self._tasks: dict[ProviderId, tuple[MonitoredResource, asyncio.Task[None]]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def replace(self, resources: Iterable[MonitoredResource]) -> None:
        """Monitor these resources, which the registry tracks already. One that has not changed is not disturbed."""
        old, self._tasks = self._tasks, {}
        for monitored in resources:
            kept = old.get(monitored.provider_id)
            if kept is not None and kept[0] == monitored:
                self._tasks[monitored.provider_id] = old.pop(monitored.provider_id)
            elif (work := self._work(monitored)) is not None:
                task = asyncio.create_task(work, name=f"the health check of {monitored.provider_id}")
                task.add_done_callback(_log_failure)
                self._tasks[monitored.provider_id] = monitored, task
        for _, task in old.values():
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all tasks and the probes that they run."""
        self.replace(())
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _work(self, monitored: MonitoredResource) -> Coroutine[None, None, None] | None:
        if monitored.check.mode is HealthMode.PASSIVE:
            return self._retry(monitored)
        probe = probe_of(monitored.resource, monitored.adapter)
        return self._probe(probe, monitored.check.interval_ms / 1000) if probe is not None else None

    async def _probe(self, probe: Probe, interval: float) -> None:
        await self._clock.sleep(self._chance() * min(interval, FIRST_WITHIN_SECONDS))
        while True:
            due = self._clock.monotonic() + interval
            good, detail = await self._prober.probe(probe)
            self._registry.observe(probe.provider_id, good=good, detail=detail)
            await self._clock.sleep(max(0.0, due - self._clock.monotonic()))

    async def _retry(self, monitored: MonitoredResource) -> None:
        while True:
            await self._registry.wait_unhealthy(monitored.provider_id)
            await self._clock.sleep(monitored.check.interval_ms / 1000)
            self._registry.half_open(monitored.provider_id)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        # Only the type: the text of a library's error may quote secret arguments.
        _log.error("%s failed: %s", task.get_name(), type(error).__name__)
