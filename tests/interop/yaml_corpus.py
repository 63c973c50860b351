"""Configs as YAML, right and wrong: the rows of the unit tests, the examples, and mutants."""

import random
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Final

import yaml

from iop_edge.config.decode import decode
from iop_edge.config.source import Source
from tests.support import EXAMPLES
from tests.tricky import CHARACTERS, SCALARS
from tests.unit.config import test_yaml_rules, test_yaml_structure

_FORMS: Final = """\
x-provider: &provider
  category: api
  capacity: 4
  queue_timeout_ms: 30000
x-queue: &queue {max_queue: 7, priority: +3}
edge: {id: &edge 'one', name: "Edge\\tone \\u00e9"}
a2a: {path: /a2a, enabled: True}
nodes:
  - id: gpu-a
    alias: >-
      folded
      text
    adapters:
      <<: {vllm: {enabled: FALSE}}
      ollama:
        - name: 12:30
          headers:
            X-A: |-
              block
                text
            "x-b": plain
              text
        - {name: o-2, max_queue: -0}
    providers:
      - {<<: [*provider, *queue], id: a, health: {mode: active, interval_ms: 5000}, models: [m, *edge, 'm 2']}
      - <<: *provider
        id: b
        capacity: 0
        health: passive
        lifecycle_capabilities: [load, pull]
        endpoint: http://127.0.0.1:1
        headers: {}
  - ? id
    : *edge
    tls: ~
models:
  - {id: m, usage_attribution: {1: "1", true: yes, on: off}, providers: [a, {id: b}, {id: c, target: t}]}
  - {id: n, providers: {a: t, b: '2'}, context_window_tokens: 2147483647}
  - {id: o, usage_attribution: {<<: {a: b}, c: d}, display_name: on}
"""
"""What the examples do not show: merges, anchors, block scalars, other forms of messages and lists."""

_OTHERS: Final = (
    "edge: {id: a}\n---\nnodes: []\n",
    "edge: {id: a}\n---\n}",
    "%YAML 1.1\n---\nedge: {id: a}\n",
    "%TAG ! tag:example.com,2000:\n---\nedge: {id: a}\n",
    "nodes: [{adapters: [{headers: {X-Key: a, x-key: b}}]}]\n",
    "nodes: [{providers: [{base_url: a, endpoint: b}]}]\n",
    "nodes: [{providers: [{base_url: http://127.0.0.1:1/?a=b}]}]\n",
    "edge: {name: ?a}\n",
    "edge: {name: <redacted>}\n",
    "logging: {level: loud}\n",
    "models: [{providers: {'${env:A}': t}}]\n",
    r'edge: {name: "a\/b"}',
)
"""What no table has: it is about a whole file, about two keys, or not about YAML alone."""


def rows() -> list[bytes]:
    """The texts of every row that the unit tests of YAML's rules have."""
    tables = [_OTHERS, *_tables_of(test_yaml_rules), *_tables_of(test_yaml_structure)]
    return [text.encode() if isinstance(text, str) else text for table in tables for text in table]


def examples() -> list[bytes]:
    """The example files."""
    return [path.read_bytes() for path in sorted(EXAMPLES.glob("*.yaml"))]


def mutants(count: int) -> Iterator[bytes]:
    """Texts with one scalar replaced and up to two damages more, the same ones each time."""
    originals = [_FORMS] * 4 + [text.decode() for text in examples() if decode(Source("edge.yaml", text)).total == 0]
    scalars = [_scalars_of(text) for text in originals]
    for number in range(count):
        chance = random.Random(number)
        which = chance.randrange(len(originals))
        text = _with_another_scalar(originals[which], scalars[which], chance)
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            text = chance.choice(_DAMAGES)(text, chance)
        yield text.encode()


def _tables_of(module: ModuleType) -> Iterator[Sequence[str | bytes]]:
    """Yield the texts of each table that a test of a module is parametrized with."""
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", ()):
            if mark.name == "parametrize":
                yield _texts_of(*mark.args)


def _texts_of(names: str | tuple[str, ...], rows: list[Any]) -> list[str | bytes]:
    if isinstance(names, str):
        names, rows = (names,), [(row,) for row in rows]
    cells = [dict(zip(names, row, strict=True)) for row in rows]
    if "template" in names:
        return [row["template"] % row["text"] for row in cells]
    return [row[name] for row in cells for name in ("text", "data") if name in row]


def _scalars_of(text: str) -> list[tuple[int, int]]:
    """Return where the scalars of a text begin and end."""
    tokens = yaml.scan(text, Loader=yaml.SafeLoader)
    return [(t.start_mark.index, t.end_mark.index) for t in tokens if isinstance(t, yaml.ScalarToken)]


def _with_another_scalar(text: str, scalars: list[tuple[int, int]], chance: random.Random) -> str:
    """Replace a scalar by a tricky one, by a random one, by another one of the text, or by itself in quotes."""
    start, stop = chance.choice(scalars)
    other_start, other_stop = chance.choice(scalars)
    old, other = text[start:stop], text[other_start:other_stop]
    noise = "".join(chance.choices(CHARACTERS, k=chance.randint(1, 3)))
    tricky = chance.choice(SCALARS)
    new = chance.choice((tricky, tricky, old[:1] + noise + old[1:], other, f"'{old}'", f'"{old}"', old.strip("'\"")))
    return text[:start] + new + text[stop:]


def _insert(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(CHARACTERS) + text[place:]


def _remove(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text))
    return text[:place] + text[place + chance.randint(1, 3) :]


def _repeat_line(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return "".join(lines)


def _drop_line(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    return "".join(lines)


def _indent_line(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    which = chance.randrange(len(lines))
    lines[which] = chance.choice((" ", "  ", "\t", "- ")) + lines[which]
    return "".join(lines)


_DAMAGES: Final[tuple[Callable[[str, random.Random], str], ...]] = (
    _insert,
    _remove,
    _repeat_line,
    _drop_line,
    _indent_line,
)
