"""Loads texts as if they were files, and reads off what a report says."""

from collections.abc import Mapping
from textwrap import dedent

from iop_edge.config.pipeline import check_sources, load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from iop_edge.errors import Report
from iop_edge.schema.references import ReferenceFailure

BASE = """\
edge: {id: e}
nodes:
  - id: n
    address: "127.0.0.1:7501"
    adapters:
      - {name: a, type: ollama, base_url: "http://127.0.0.1:11434"}
    providers:
      - {id: p, type: ollama, category: local_inference, adapter: a, models: [m]}
models:
  - {id: m, providers: [p]}
"""
"""A small config that breaks no rule and warns of nothing."""


class World:
    """What references resolve against in a test."""

    def __init__(
        self, env: Mapping[str, str] | None = None, files: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        self._env = env or {}
        self._files = files or {}

    def env(self, name: str) -> str | None:
        return self._env.get(name)

    def file(self, path: str, base_dir: str) -> str:
        try:
            return self._files[base_dir, path]
        except KeyError:
            raise ReferenceFailure("no such file") from None


def layers(*tracked: str, private: tuple[str, ...] = ()) -> list[Source]:
    """Tracked files `1.yaml`, `2.yaml`, ... and private overlays `p1.yaml`, ..., in directories `dir1`, ..."""
    sources = [Source(f"{i}.yaml", dedent(t).encode(), False, f"/dir{i}") for i, t in enumerate(tracked, 1)]
    sources += [Source(f"p{i}.yaml", dedent(t).encode(), True, f"/priv{i}") for i, t in enumerate(private, 1)]
    return sources


def load(*tracked: str, private: tuple[str, ...] = (), world: World | None = None) -> Snapshot:
    return load_sources(layers(*tracked, private=private), world or World())


def check(*tracked: str, private: tuple[str, ...] = (), world: World | None = None) -> Report:
    return check_sources(layers(*tracked, private=private), world or World())


def found(report: Report) -> list[tuple[str, str, int]]:
    """The violations as (rule, path, line)."""
    return [(v.rule, v.path, v.span.line if v.span else 0) for v in report.violations]


def rules(report: Report) -> list[str]:
    return [violation.rule for violation in report.violations]


def warned(report: Report) -> list[tuple[str, str]]:
    """The warnings as (rule, path)."""
    return [(warning.rule, warning.path) for warning in report.warnings]
