"""The time of a load, from bytes to a checked snapshot, as a multiple of what PyYAML takes for the bare parse."""

import yaml

from bench import measure
from bench.fleet import fleet
from iop_edge.load.pipeline import check_sources, load_sources
from iop_edge.load.source import Source

_YARDSTICK = "yaml.load(CSafeLoader)"


class Secrets:
    """Resolves every reference to the same text."""

    def env(self, name: str) -> str | None:
        """Return a value for any variable."""
        return f"made-up-{name}"

    def file(self, path: str, base_dir: str) -> str:
        """Return a text for any file."""
        return f"made-up-{base_dir}/{path}"


def main() -> None:
    """Measure, and print."""
    size = measure.options("load", __doc__)
    data = fleet(size.nodes).encode()
    sources = [Source("edge.yaml", data)]
    found = measure.medians(
        {
            _YARDSTICK: lambda: yaml.load(data, yaml.CSafeLoader),
            "load": lambda: load_sources(sources, Secrets()),
            "check, references unresolved": lambda: check_sources(sources, None),
        },
        size.rounds,
    )
    lines = len(data.splitlines())
    measure.show(f"{size.nodes} nodes, {lines} lines", found, _YARDSTICK)


if __name__ == "__main__":
    main()
