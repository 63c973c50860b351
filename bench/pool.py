"""The time of dispatch: against a semaphore, with many providers, with many who wait, and while a config changes."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from bench import measure
from bench.contenders import Secrets
from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.ids import NodeId
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.dispatcher import Dispatcher
from iop_edge.pool.errors import NoProviderError
from iop_edge.pool.pool import ProviderPool
from iop_edge.pool.slots import Lease, Waiter

_REQUESTS: Final = 10_000
_FEW_REQUESTS: Final = 1_000
_PROVIDERS: Final = 10_000
_ON_A_NODE: Final = 100
_SEMAPHORE: Final = "asyncio.Semaphore"

Times = dict[str, list[float]]


def main() -> None:
    """Measure, and print."""
    rounds = max(measure.options("pool", __doc__).rounds, 2)
    _show(f"{_REQUESTS:,} times acquire and release, nobody waits", asyncio.run(_uncontended(rounds)), _SEMAPHORE)
    _show(f"{_FEW_REQUESTS:,} requests that wait, are served in order, and end", _drained(rounds), "as few wait")
    _show(f"reconfigure one of {_PROVIDERS:,} providers", _reconfigured(rounds), "while nobody waits")


def _show(title: str, taken: Times, yardstick: str) -> None:
    measure.show_compared(title, measure.comparisons(taken, yardstick))


async def _uncontended(rounds: int) -> Times:
    semaphore = asyncio.Semaphore(1)
    contenders: dict[str, Callable[[], Awaitable[None]]] = {_SEMAPHORE: lambda: _use_semaphore(semaphore)}
    for count in (1, 10, 1_000):
        contenders[f"pool, {count:,} in the group"] = _user(_pool(_config(count)))
    taken: Times = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            gc.collect()
            begin = time.perf_counter()
            await contender()
            taken[name].append(time.perf_counter() - begin)
    return taken


async def _use_semaphore(semaphore: asyncio.Semaphore) -> None:
    for _ in range(_REQUESTS):
        async with semaphore:
            pass


def _user(pool: ProviderPool) -> Callable[[], Awaitable[None]]:
    async def use() -> None:
        for _ in range(_REQUESTS):
            async with pool.acquire("m"):
                pass

    return use


def _drained(rounds: int) -> Times:
    """Return the seconds for a few of those who wait, by how many do."""
    taken: Times = {"as few wait": [], "ten times as many wait": []}
    dispatcher = _dispatcher(_config(1))
    for _ in range(rounds):
        for count, times in zip((_FEW_REQUESTS, 10 * _FEW_REQUESTS), taken.values(), strict=True):
            gc.collect()
            begin = time.perf_counter()
            _drain(dispatcher, count)
            times.append((time.perf_counter() - begin) * _FEW_REQUESTS / count)
    return taken


def _drain(dispatcher: Dispatcher, count: int) -> None:
    lease = dispatcher.take("m")
    for waiter in [dispatcher.take_or_wait("m") for _ in range(count)]:
        lease.release()
        assert isinstance(waiter, Waiter)
        assert isinstance(waiter.outcome, Lease)
        lease = waiter.outcome
    lease.release()


def _reconfigured(rounds: int) -> Times:
    first, second = (_config(_PROVIDERS, capacity=capacity) for capacity in (1, 2))
    taken: Times = {}
    dispatchers = {
        "while nobody waits": _dispatcher(first),
        f"while {_REQUESTS:,} wait elsewhere": _crowded(_dispatcher(first)),
    }
    for _ in range(rounds):
        for name, dispatcher in dispatchers.items():
            gc.collect()
            begin = time.perf_counter()
            for snapshot in (second, first):
                dispatcher.reconfigure(Catalogue.of(snapshot, dispatcher.catalogue))
            taken.setdefault(name, []).append((time.perf_counter() - begin) / 2)
    return taken


def _crowded(dispatcher: Dispatcher) -> Dispatcher:
    with suppress(NoProviderError):
        while True:
            dispatcher.take("n")
    for _ in range(_REQUESTS):
        assert isinstance(dispatcher.take_or_wait("n"), Waiter)
    return dispatcher


def _pool(snapshot: Snapshot) -> ProviderPool:
    pool = ProviderPool(Catalogue.of(snapshot))
    for node in snapshot.tree["nodes"]:
        pool.set_node_reachable(NodeId(node["id"]), reachable=True)
    return pool


def _dispatcher(snapshot: Snapshot) -> Dispatcher:
    dispatcher = Dispatcher(time.monotonic, lambda _deadline: None)
    dispatcher.reconfigure(Catalogue.of(snapshot))
    for node_id in dispatcher.catalogue.nodes:
        dispatcher.set_reachable(node_id, reachable=True)
    return dispatcher


def _config(providers: int, *, capacity: int = 1) -> Snapshot:
    """Return a config of so many providers, of which the first one has that capacity.

    At most a thousand serve `m`; the last one alone serves `n`.
    """
    lines = ["edge:", "  id: bench", "nodes:"]
    for number in range(providers):
        if number % _ON_A_NODE == 0:
            node = number // _ON_A_NODE
            lines += [f"  - id: n{node}", f"    address: 127.0.0.1:{7000 + node}", "    adapters:"]
            lines += ["      - name: a", "        type: ollama", "        base_url: http://127.0.0.1:11434"]
            lines += ["    providers:"]
        lines += [f"      - id: p{number}", "        type: ollama", "        category: local_inference"]
        lines += ["        adapter: a", "        models: [big]", f"        max_queue: {_REQUESTS}"]
        lines += [f"        capacity: {1 if number else capacity}"]
    lines += ["models:"]
    lines += ["  - id: m", "    providers:"]
    for number in range(min(providers, 1_000)):
        lines += [f"      - id: p{number}", "        target: big"]
    lines += ["  - id: n", "    providers:", f"      - id: p{providers - 1}", "        target: big"]
    return load_sources([Source("edge.yaml", "\n".join(lines).encode())], Secrets())


if __name__ == "__main__":
    main()
