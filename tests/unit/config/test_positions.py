"""Where values and keys stand."""

import re
from typing import Final

import pytest

from iop_edge.config.nodes import compose
from iop_edge.config.positions import Positions
from iop_edge.config.source import Limits, Source
from iop_edge.schema.paths import ROOT, Path

TEXT: Final = """\
x-base: &base {priority: 3, capacity: 9}
edge: {id: e}
nodes:
  - id: n
    address:
    adapters:
      ollama: {enabled: true}
      vllm:
        - {name: a}
        - enabled: false
          headers: {X-Tenant: t}
    providers:
      - <<: *base
        id: p
        capacity: 4
        endpoint: http://h
        health: passive
        models: [m1, m2]
      - *base
models:
  - {id: m, providers: {p: t}}
  - {id: k, providers: [p, {id: q}]}
"""

_STEP: Final = re.compile(r"\[(\d+)\]|\[([^\]]+)\]|\.?(\w+)")


def path_of(text: str) -> Path:
    path = ROOT
    for index, key, name in _STEP.findall(text):
        path = path.index(int(index)) if index else path.key(key) if key else path.child(name)
    return path


def places(text: str, *paths: str, keys: bool = False) -> list[tuple[int, int]]:
    wanted = [path_of(path) for path in paths]
    positions = Positions(compose(Source("edge.yaml", text.encode())), "edge.yaml")
    spans = [positions.of_key(path) if keys else positions.of_value(path) for path in wanted]
    assert all(span.file == "edge.yaml" for span in spans)
    return [(span.line, span.column) for span in spans]


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ("edge.id", (2, 12), (2, 8)),
        ("edge", (2, 7), (2, 1)),
        ("nodes", (4, 3), (3, 1)),
        ("nodes[0]", (4, 5), (4, 5)),
        ("nodes[0].address", (5, 13), (5, 5)),
        ("nodes[0].adapters[0].enabled", (7, 25), (7, 16)),
        ("nodes[0].adapters[0].name", (7, 7), (7, 7)),
        ("nodes[0].adapters[0].type", (7, 7), (7, 7)),
        ("nodes[0].adapters[1].name", (9, 18), (9, 12)),
        ("nodes[0].adapters[1].type", (8, 7), (8, 7)),
        ("nodes[0].adapters[2]", (10, 11), (10, 11)),
        ("nodes[0].adapters[2].headers[X-Tenant]", (11, 31), (11, 21)),
        ("nodes[0].providers[0].priority", (1, 26), (1, 16)),
        ("nodes[0].providers[0].capacity", (15, 19), (15, 9)),
        ("nodes[0].providers[0].base_url", (16, 19), (16, 9)),
        ("nodes[0].providers[0].health", (17, 17), (17, 9)),
        ("nodes[0].providers[0].health.mode", (17, 17), (17, 17)),
        ("nodes[0].providers[0].models[1]", (18, 22), (18, 22)),
        ("nodes[0].providers[1].capacity", (1, 39), (1, 29)),
        ("models[0].providers[0].id", (21, 25), (21, 25)),
        ("models[0].providers[0].target", (21, 28), (21, 28)),
        ("models[1].providers[0].id", (22, 25), (22, 25)),
        ("models[1].providers[1].id", (22, 33), (22, 29)),
    ],
)
def test_place_of_a_value_and_of_its_key(path: str, value: tuple[int, int], key: tuple[int, int]) -> None:
    assert places(TEXT, path) == [value]
    assert places(TEXT, path, keys=True) == [key]


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("nodes[0].token", (4, 5)),
        ("nodes[0].adapters[2].name", (10, 11)),
        ("nodes[0].adapters[7].name", (7, 7)),
        ("nodes[0].adapters[2].headers[Accept]", (11, 20)),
        ("nodes[0].tls.ca", (4, 5)),
        ("listen.grpc", (1, 1)),
        ("", (1, 1)),
    ],
)
def test_what_is_not_there_is_at_the_nearest_thing_around_it(path: str, place: tuple[int, int]) -> None:
    assert places(TEXT, path) == [place]


def test_many_paths_at_once() -> None:
    paths = [f"nodes[{number}].id" for number in range(500)]
    text = "nodes:\n" + "".join(f"- id: n{number}\n" for number in range(500))
    assert places(text, *paths) == [(number + 2, 7) for number in range(500)]


def test_place_in_a_file_with_a_byte_order_mark_and_wide_characters() -> None:
    assert places("\ufeffedge: {name: 서울, id: e}", "edge.id") == [(1, 22)]


@pytest.mark.parametrize("text", ["", "nodes: [", "- a\n", "\x00"])
def test_file_that_cannot_be_read_still_has_a_beginning(text: str) -> None:
    assert places(text, "edge.id") == [(1, 1)]


def test_file_past_the_limit_still_has_a_beginning() -> None:
    document = compose(Source("edge.yaml", TEXT.encode()), Limits(max_bytes=10))
    assert str(Positions(document, "edge.yaml").of_value(path_of("edge.id"))) == "edge.yaml:1:1"
