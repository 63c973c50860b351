"""Times functions against each other in one run: a ratio says more than seconds of a machine that others use too."""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """The size of a measurement."""

    nodes: int
    rounds: int


def options(name: str, doc: str | None) -> Options:
    """Read the size of a measurement from the command line."""
    parser = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=doc)
    parser.add_argument("--nodes", type=int, default=300, help="nodes of the fleet (300)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each; the median counts (5)")
    given = parser.parse_args()
    return Options(given.nodes, given.rounds)


def medians(contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each function. They take turns, so that a slow minute is slow for all."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            gc.collect()
            begin = time.perf_counter()
            contender()
            taken[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) for name, times in taken.items()}


def show(title: str, found: Mapping[str, float], yardstick: str) -> None:
    """Print the medians, each with its ratio to the yardstick's."""
    print(title)
    for name, seconds in found.items():
        print(f"  {name:32} {seconds * 1000:10.2f} ms {seconds / found[yardstick]:8.2f} x")
