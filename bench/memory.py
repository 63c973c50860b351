"""Prints by how many KiB one load lets the peak of this process grow: `python -m bench.memory load edge.yaml`."""

import sys
from collections.abc import Callable
from pathlib import Path

import yaml

import iop_pb.iop.config.v1  # noqa: F401 - what is imported is no part of a load
from bench.contenders import load_messages

CONTENDERS: dict[str, Callable[[bytes], object]] = {
    "base": lambda data: yaml.load(data, yaml.CSafeLoader),
    "load": load_messages,
}


def main() -> None:
    """Load once, and print."""
    name, path = sys.argv[1:]
    data = Path(path).read_bytes()
    load_messages(b"edge: {id: e}\n")
    before = _peak()
    kept = CONTENDERS[name](data)
    print(_peak() - before)
    del kept


def _peak() -> int:
    """Return the peak of this process in KiB. What `getrusage` tells begins with the peak of whoever started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    main()
