"""The cost of a load, from bytes to a snapshot with its messages, as a multiple of what PyYAML takes for a bare parse.

All that is compared takes turns in one run, and is measured in CPU time. A ratio is the median of the ratios of the
rounds; the range of the middle half of them is shown too, since that is the machine's noise. Memory is by how much the
peak of a process grows.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import yaml
from yaml.events import StreamEndEvent

from bench import alternatives, contenders, measure
from bench.fleet import fleet
from iop_edge.config.decode import decode
from iop_edge.config.events import DEFAULT_PARSER
from iop_edge.config.pipeline import check_sources
from iop_edge.config.source import Source

_YARDSTICK: Final = "yaml.load(CSafeLoader)"
_PROVIDERS: Final = 10
_SMALL: Final = (1, 2)
"""Nodes, and providers on each, of a config of about a hundred lines."""

_CALLS_OF_SMALL: Final = 100
"""How often a small config is loaded in one turn."""


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="*", default=[100, 1000], help="sizes of fleets (100 1000)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each (5)")
    given = parser.parse_args()
    small = fleet(*_SMALL).encode()
    _measure("a small config", small, given.rounds, _CALLS_OF_SMALL)
    for nodes in given.nodes:
        _measure(f"{nodes} nodes x {_PROVIDERS} providers", fleet(nodes, _PROVIDERS).encode(), given.rounds)
    _measure_processes(small, given.rounds * 3)


def _measure(title: str, data: bytes, rounds: int, calls: int = 1) -> None:
    source = Source("edge.yaml", data)
    loads: Mapping[str, Callable[[], object]] = {
        _YARDSTICK: lambda: yaml.load(data, yaml.CSafeLoader),
        "load": partial(contenders.load, data),
        "load, with messages": partial(contenders.load_messages, data),
        "check, references unresolved": lambda: check_sources([source], None),
        "the decoder alone": lambda: decode(source),
        "the parser's events alone": partial(_read_events, data),
        "CSafeLoader + pydantic models": partial(alternatives.with_pydantic, data),
        "CSafeLoader + protobuf ParseDict": partial(alternatives.with_protobuf, data),
    }
    found = measure.compared(loads, _YARDSTICK, rounds, calls, time.process_time)
    measure.show_compared(f"{title}, {len(data.splitlines())} lines", found)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        base, ours = (_extra_memory(name, file.name) for name in ("base", "load"))
    if base:  # what fits into what a process has anyway is not seen
        print(f"  peak memory: {base / 1024:.1f} MiB, {ours / 1024:.1f} MiB with messages, {ours / base:.2f} x")


def _read_events(data: bytes) -> None:
    """Read the events of a file and do nothing with them: no load can take less."""
    next_event = DEFAULT_PARSER(data).get_event
    while next_event().__class__ is not StreamEndEvent:
        pass


def _extra_memory(name: str, path: str) -> int:
    command = [sys.executable, "-m", "bench.memory", name, path]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _measure_processes(data: bytes, rounds: int) -> None:
    command = Path(sys.executable).with_name("iop-edge")
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(data)
        file.flush()
        processes: Mapping[str, Callable[[], object]] = {
            "import yaml, pydantic": partial(_run, sys.executable, "-c", "import yaml, pydantic"),
            "iop-edge config check": partial(_run, str(command), "config", "check", "--offline", file.name),
            "python -c pass": partial(_run, sys.executable, "-c", "pass"),
        }
        found = measure.compared(processes, "import yaml, pydantic", rounds)
    measure.show_compared("whole processes, a small config", found)


def _run(*command: str) -> None:
    # With bytecode, as an installed package has it: else this measures the compiler.
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environ)


if __name__ == "__main__":
    main()
