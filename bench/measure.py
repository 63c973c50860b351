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
            taken[name].append(_seconds(contender))
    return {name: statistics.median(times) for name, times in taken.items()}


@dataclass(frozen=True)
class Compared:
    """The median seconds of a function, the median of its ratios to a yardstick, and the ratios' quartiles."""

    seconds: float
    ratio: float
    low: float
    high: float


def compared(
    contenders: Mapping[str, Callable[[], object]],
    yardstick: str,
    rounds: int,
    calls: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Compared]:
    """Return how functions compare with one of them, round by round. They take turns; each warms up once.

    Args:
        contenders: the functions.
        yardstick: the name of the one that the others are compared with.
        rounds: how often each has its turn.
        calls: how often a function is called in a turn; many times where a call takes a millisecond.
        clock: what tells the time; `time.process_time` where only this process works.
    """
    for contender in contenders.values():
        contender()
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(max(rounds, 2)):
        for name, contender in contenders.items():
            taken[name].append(_seconds(contender, calls, clock))
    return comparisons(taken, yardstick)


def comparisons(taken: Mapping[str, list[float]], yardstick: str) -> dict[str, Compared]:
    """Return how the times of each round compare with those of a yardstick."""
    return {name: _compared(times, taken[yardstick]) for name, times in taken.items()}


def _compared(times: list[float], yardstick: list[float]) -> Compared:
    ratios = [mine / theirs for mine, theirs in zip(times, yardstick, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Compared(statistics.median(times), middle, low, high)


def _seconds(contender: Callable[[], object], calls: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long a call takes; what the last one returns is given back after that."""
    gc.collect()
    begin = clock()
    for _ in range(calls):
        result = contender()
    seconds = clock() - begin
    del result
    return seconds / calls


def show_compared(title: str, found: Mapping[str, Compared]) -> None:
    """Print how functions compare."""
    print(title)
    for name, one in found.items():
        noise = f"({one.low:.2f} to {one.high:.2f})"
        print(f"  {name:34} {one.seconds * 1000:10.2f} ms {one.ratio:7.2f} x   {noise}", flush=True)


def show(title: str, found: Mapping[str, float], yardstick: str) -> None:
    """Print the medians, each with its ratio to the yardstick's."""
    print(title)
    for name, seconds in found.items():
        print(f"  {name:32} {seconds * 1000:10.2f} ms {seconds / found[yardstick]:8.2f} x")
