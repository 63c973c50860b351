"""Changes of the config while streams run: nothing is cut, and no limit is exceeded."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import pytest

from iop_edge.ids import DispatchKey
from iop_edge.pool.slots import Group, Lease, Slot
from tests.gateway.rig import Rig, loaded, rig
from tests.support import run

STREAMS = 200
WAITING = 60
REFRESHES = 50
TOKENS = 4


class Watch:
    """Stands beside the pool: who came in which order, who was served in which, and whether there was room."""

    def __init__(self, gateway: Rig, patch: pytest.MonkeyPatch) -> None:
        self.grants: list[int] = []
        self.excess: list[str] = []
        self._rig = gateway
        self._held: Counter[str] = Counter()
        self._arrivals = 0
        self._news = asyncio.Event()
        pool = gateway.edge.pool
        self._acquire, self._grant = pool.acquire, pool._dispatcher._grant
        patch.setattr(pool, "acquire", self._watched_acquire)
        patch.setattr(pool._dispatcher, "_grant", self._watched_grant)

    async def until_arrived(self, requests: int) -> None:
        """Wait until so many requests have come in all."""
        while self._arrivals < requests:
            self._news.clear()
            await self._news.wait()

    @asynccontextmanager
    async def _watched_acquire(self, model: str | DispatchKey, *, avoid: Collection[str] = ()) -> AsyncIterator[Lease]:
        number = self._arrivals
        self._arrivals += 1
        self._news.set()
        async with self._acquire(model, avoid=avoid) as lease:
            self.grants.append(number)
            try:
                yield lease
            finally:
                self._held[lease.provider_id] -= 1

    def _watched_grant(self, slot: Slot, group: Group) -> Lease:
        self._held[slot.id] += 1
        capacity = capacities(self._rig.edge.snapshot.tree)[slot.id]
        # What the backend has is what counts; what it will have soon is known here alone.
        has = max(self._held[slot.id], self._rig.backends[slot.id].running + 1)
        if has > capacity:
            self.excess.append(f"{slot.id} with a capacity of {capacity} was given a request as number {has}")
        return self._grant(slot, group)


def capacities(config: Mapping[str, Any]) -> dict[str, int]:
    """Return how many requests a config lets each provider have."""
    providers = [provider for node in config["nodes"] for provider in node["providers"]]
    return {each["id"]: each["capacity"] if each["enabled"] else 0 for each in providers}


def candidates(config: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    """Make configs that each differ from the one before; the last provider is always enabled."""
    draw = random.Random(7)
    for _ in range(count):
        config = deepcopy(config)
        providers = [provider for node in config["nodes"] for provider in node["providers"]]
        chosen = draw.choice(providers)
        chosen["capacity"] = chosen["capacity"] % 100 + draw.randint(1, 60)
        chosen["priority"] = draw.randint(0, 3)
        toggled = draw.choice(providers[:-1])
        toggled["enabled"] = not toggled["enabled"]
        yield config


def crowded(config: dict[str, Any]) -> None:
    """Give the providers as much capacity as there are streams at first."""
    for provider, capacity in zip(
        (provider for node in config["nodes"] for provider in node["providers"]), (100, 60, 40), strict=True
    ):
        # A time limit of 0 is none: the machine may be as slow as it likes.
        provider.update(capacity=capacity, enabled=True, priority=0, max_queue=WAITING, queue_timeout_ms=0)


@pytest.mark.contract("REF-08")
@pytest.mark.contract("POL-02")
@pytest.mark.contract("POL-04")
@pytest.mark.contract("POL-05")
@pytest.mark.case("A5")
def test_refreshes_under_load_cut_no_stream_exceed_no_limit_and_keep_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with rig(2, 1, change=crowded) as gateway:
            watch, highest = Watch(gateway, monkeypatch), Counter(capacities(gateway.config))
            gateway.gate.let(0)
            streams = [asyncio.create_task(gateway.streamed(max_tokens=TOKENS)) for _ in range(STREAMS)]
            await gateway.gate.until_waiting(STREAMS)
            streams += [asyncio.create_task(gateway.streamed(max_tokens=TOKENS)) for _ in range(WAITING)]
            await watch.until_arrived(STREAMS + WAITING)
            assert {name: backend.running for name, backend in gateway.backends.items()} == highest
            assert {(status.in_flight, status.queued) for status in gateway.edge.pool.statuses()} == {
                (slots, WAITING) for slots in highest.values()
            }

            for number, candidate in enumerate(candidates(gateway.config, REFRESHES)):
                gateway.gate.let(TOKENS * number / REFRESHES * 2)
                result = await gateway.edge.refresh(loaded(candidate))
                assert (result.status, result.committed) == ("applied", True), result
                highest |= Counter(capacities(candidate))
            gateway.gate.let(TOKENS)

            expected = "".join(f"{token} " for token in range(TOKENS))
            assert Counter(await asyncio.gather(*streams)) == {expected: STREAMS + WAITING}
            assert watch.excess == []
            assert watch.grants == sorted(watch.grants)
            assert len(watch.grants) == STREAMS + WAITING
            for provider_id, backend in gateway.backends.items():
                assert 0 < backend.most <= highest[provider_id]
            assert {(status.in_flight, status.queued) for status in gateway.edge.pool.statuses()} == {(0, 0)}

    run(test())
