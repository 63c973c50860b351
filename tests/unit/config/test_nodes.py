"""What is composed of a text, whatever is in it."""

import tracemalloc
from functools import partial

import pytest

from iop_edge.config.events import ParserFactory
from iop_edge.config.nodes import ALIAS, MAPPING, SEQUENCE, Document, compose
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from tests.support import calls_of
from tests.unit.config.decoding import both_parsers

_NAMES = {MAPPING: "mapping", SEQUENCE: "list", ALIAS: "alias"}


def document(text: str, parser: ParserFactory | None = None, limits: Limits = DEFAULT_LIMITS) -> Document:
    source = Source("edge.yaml", text.encode())
    return compose(source, limits) if parser is None else compose(source, limits, parser)


def described(nodes: Document) -> list[tuple[str, str]]:
    """What each node is, or stands for if it is a scalar, and the text that it takes up."""
    return [
        (_NAMES.get(nodes.traits[node] & 15, nodes.values[node]), nodes.text[nodes.starts[node] : nodes.stops[node]])
        for node in range(len(nodes.values))
    ]


@both_parsers
def test_node_takes_up_its_own_text(parser: ParserFactory) -> None:
    text = "\ufeffa: 'b c' # d\r\n서울:\r\n  - &x {e: f}\r\n  - *x\r\n  - |\r\n    g\r\n\r\n"
    assert described(document(text, parser)) == [
        ("mapping", "a: 'b c' # d\r\n서울:\r\n  - &x {e: f}\r\n  - *x\r\n  - |\r\n    g"),
        ("a", "a"),
        ("b c", "'b c'"),
        ("서울", "서울"),
        ("list", "- &x {e: f}\r\n  - *x\r\n  - |\r\n    g"),
        ("mapping", "&x {e: f}"),
        ("e", "e"),
        ("f", "f"),
        ("alias", "*x"),
        ("g\n", "|\r\n    g"),
    ]


@pytest.mark.contract("CFG-10")
@both_parsers
@pytest.mark.parametrize(
    ("text", "values", "read"),
    [
        ("a: b\nc: [d, 'e\n", "a b c  d", "a: b\nc: [d"),
        ("a: {b: c]", "a  b c", "a: {b: c"),
        ("a: b\n---\nc: d\n", "a b", "a: b\n---"),
        ("", "", ""),
        ("@", "", ""),
    ],
)
def test_what_comes_before_a_fault_is_composed(text: str, values: str, read: str, parser: ParserFactory) -> None:
    nodes = document(text, parser)
    assert " ".join(nodes.values).strip() == values
    assert text[: nodes.read_to if nodes.read_to is not None else 0].strip() == read


@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize("data", [b"a: \xff", b"\xff\xfea\x00", b"a: \x00"])
def test_bytes_that_are_no_text_have_no_nodes(data: bytes) -> None:
    assert not compose(Source("edge.yaml", data)).values


@pytest.mark.contract("CFG-10")
def test_bounds_of_a_load_hold() -> None:
    text = "a: [[b]]"
    assert len(document(text, limits=Limits(max_depth=3)).values) == 5
    assert len(document(text, limits=Limits(max_depth=2)).values) == 3
    assert not document(text, limits=Limits(max_bytes=7)).values
    assert len(document("[" * 500).values) == 64


@pytest.mark.contract("CFG-10")
def test_alias_stands_for_the_last_anchor_before_it_and_for_nothing_around_it() -> None:
    nodes = document("[&a b, *a, &a [*a], *a, *c]")
    targets = [nodes.target(node) for node in range(len(nodes.values)) if nodes.has(node, ALIAS)]
    assert targets == [1, None, 3, None]


@pytest.mark.contract("CFG-10")
def test_time_and_memory_grow_with_the_text_and_no_faster() -> None:
    def aliases(count: int) -> str:
        levels = (f"x{level}: &a{level} [{f'*a{level - 1}, ' * 9}]\n" for level in range(1, count))
        return f"x0: &a0 [b]\n{''.join(levels)}"

    assert calls_of(partial(document, aliases(400))) < 5 * calls_of(partial(document, aliases(100)))
    tracemalloc.start()
    nodes = document("a: [" + "b, " * 100_000 + "]")
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert size < 40 * len(nodes.values)
