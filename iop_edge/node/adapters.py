"""The adapters of a payload: built aside, swapped as a whole, drained (PSH-02)."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from iop_edge.ids import AdapterName, ProviderId
from iop_edge.node.inspect import violation
from iop_edge.rules import Rule
from iop_edge.schema.paths import ROOT
from iop_pb.iop.runtime.v1 import AdapterConfig, NodeConfigPayload, NodeViolation, Resource


class Adapter(Protocol):
    """A running adapter."""

    async def close(self) -> None:
        """Release its resources. Called once, when nothing uses it any more."""


class AdapterError(Exception):
    """An adapter cannot be built. The text is sent to the Edge, so it must hold no secret."""


class RestartNeededError(AdapterError):
    """An adapter cannot be built while the Node runs."""


Builder = Callable[[AdapterConfig], Adapter]
"""Builds an adapter, or raises `AdapterError`."""


class Connector:
    """The reference adapter: it holds its config, and connects only when a request arrives."""

    def __init__(self, config: AdapterConfig) -> None:
        self.config = config

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


class AdapterSet:
    """The adapters and resources of one payload."""

    def __init__(self, adapters: Mapping[AdapterName, Adapter], resources: Mapping[ProviderId, Resource]) -> None:
        self.adapters = adapters
        self.resources = resources
        self._in_use = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def use(self, provider_id: ProviderId) -> Iterator[Adapter]:
        """Run one request on a resource's adapter; the set stays open until it ends.

        Raises:
            KeyError: there is no such resource, or it has no enabled adapter.
        """
        adapter = self.adapters[AdapterName(self.resources[provider_id].adapter)]
        self._in_use += 1
        self._idle.clear()
        try:
            yield adapter
        finally:
            self._in_use -= 1
            if not self._in_use:
                self._idle.set()

    async def drain(self) -> None:
        """Wait until the set is idle, or the wait is cancelled, then close it. Nothing may begin to use it any more."""
        try:
            await self._idle.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Close all adapters."""
        await asyncio.gather(*(adapter.close() for adapter in self.adapters.values()))


class BuildError(Exception):
    """Adapters cannot be built; `restart` says whether a restart of the Node would help."""

    def __init__(self, violations: list[NodeViolation], *, restart: bool) -> None:
        super().__init__(violations)
        self.violations = violations
        self.restart = restart


async def build(payload: NodeConfigPayload, builder: Builder) -> AdapterSet:
    """Build the adapters of a payload beside those that run. If one fails, the others are closed again.

    Raises:
        BuildError: adapters cannot be built.
    """
    built: dict[AdapterName, Adapter] = {}
    failed: list[AdapterError] = []
    violations: list[NodeViolation] = []
    for index, config in enumerate(payload.adapters):
        try:
            built[AdapterName(config.name)] = builder(config)
        except AdapterError as error:
            failed.append(error)
            path = ROOT.child("payload").child("adapters").index(index)
            violations.append(violation(Rule.NODE_ADAPTER, path, str(error)))
    adapters = AdapterSet(built, {ProviderId(item.provider_id): item for item in payload.resources})
    if failed:
        await adapters.close()
        raise BuildError(violations, restart=all(isinstance(error, RestartNeededError) for error in failed))
    return adapters
