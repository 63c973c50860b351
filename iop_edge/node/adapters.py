"""What a Node runs: built aside, swapped whole, drained (PSH-02)."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from iop_edge.ids import AdapterName, ProviderId
from iop_edge.node.refusal import Refusal
from iop_edge.schema.paths import ROOT
from iop_pb.iop.runtime.v1 import AdapterConfig, NodeConfigPayload, Resource


class Adapter(Protocol):
    """A connector that runs."""

    async def close(self) -> None:
        """Give up what it holds. Called once, when nothing uses it any more."""


class AdapterError(Exception):
    """An adapter cannot be built. The text goes to the Edge: it holds no secret."""


class RestartNeededError(AdapterError):
    """An adapter cannot be built while the Node runs."""


Builder = Callable[[AdapterConfig], Adapter]
"""Builds an adapter, or raises `AdapterError`."""


class Connector:
    """The reference adapter: it holds its config and connects when a request comes."""

    def __init__(self, config: AdapterConfig) -> None:
        self.config = config

    async def close(self) -> None:
        """Nothing is held."""


class AdapterSet:
    """All that one payload makes a Node run."""

    def __init__(self, adapters: Mapping[AdapterName, Adapter], resources: Mapping[ProviderId, Resource]) -> None:
        self.adapters = adapters
        self.resources = resources
        self._in_use = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def use(self, provider_id: ProviderId) -> Iterator[Adapter]:
        """Run one request on a resource's adapter; the set is not closed before it ends.

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
        """Wait until nothing uses the set, or the wait is cancelled, then close it. It is not handed out any more."""
        try:
            await self._idle.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Close all adapters."""
        await asyncio.gather(*(adapter.close() for adapter in self.adapters.values()))


class BuildError(Exception):
    """A set cannot be built."""

    def __init__(self, refusals: list[Refusal], *, restart: bool) -> None:
        super().__init__(refusals)
        self.refusals = refusals
        self.restart = restart


async def build(payload: NodeConfigPayload, builder: Builder) -> AdapterSet:
    """Build the set of a payload beside the one that runs; what is built of a set that fails is closed again.

    Raises:
        BuildError: adapters cannot be built.
    """
    built: dict[AdapterName, Adapter] = {}
    refusals: list[Refusal] = []
    restart = True
    for index, config in enumerate(payload.adapters):
        try:
            built[AdapterName(config.name)] = builder(config)
        except AdapterError as error:
            path = ROOT.child("payload").child("adapters").index(index)
            refusals.append(Refusal("node.adapter", str(path), str(error)))
            restart = restart and isinstance(error, RestartNeededError)
    adapters = AdapterSet(built, {ProviderId(item.provider_id): item for item in payload.resources})
    if refusals:
        await adapters.close()
        raise BuildError(refusals, restart=restart)
    return adapters
