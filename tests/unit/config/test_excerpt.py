"""Source lines as they are shown."""

from typing import Final

import pytest

from iop_edge.config.excerpt import Disclosure
from iop_edge.config.nodes import compose
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.errors import Excerpt, Span

SECRET: Final = "s3cr3t"


def excerpts(data: bytes, *spans: Span, limits: Limits = DEFAULT_LIMITS) -> dict[Span, Excerpt]:
    return Disclosure(compose(Source("edge.yaml", data), limits)).excerpts(spans)


def excerpt(text: str | bytes, line: int, column: int = 1) -> Excerpt | None:
    span = Span("edge.yaml", line, column)
    data = text if isinstance(text, bytes) else text.encode()
    return excerpts(data, span).get(span)


def shown(text: str | bytes, line: int, column: int = 1) -> str:
    found = excerpt(text, line, column)
    assert found is not None
    return found.text


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("edge: {id: a, name: 'b c'}", "edge: {id: a, name: 'b c'}"),
        ("edge: {id: a}   # a comment", "edge: {id: a}"),
        ("nodes: [{alias: 'a # b'}]", "nodes: [{alias: 'a # b'}]"),
        ("long_context_threshold_tokens: 0x10", "long_context_threshold_tokens: 0x10"),
        ("nodes: [{token: s3cr3t, id: n}]", "nodes: [{token: <redacted>, id: n}]"),
        ("nodes: [{token: '${env:A:-s3cr3t}'}]", "nodes: [{token: <redacted>}]"),
        ("nodes: [{token: 12345}]", "nodes: [{token: <redacted>}]"),
        ("nodes: [{token: ~}]", "nodes: [{token: ~}]"),
        ("nodes: [{tokn: s3cr3t}]", "nodes: [{tokn: <redacted>}]"),
        (
            "nodes: [{command: [s3cr3t, {s3cr3t: s3cr3t}]}]",
            "nodes: [{command: [<redacted>, {<redacted>: <redacted>}]}]",
        ),
        (
            "openai: {principal_tokens: [{token_hash_sha256: s3cr3t}]}",
            "openai: {principal_tokens: [{token_hash_sha256: <redacted>}]}",
        ),
        ("nodes: [{adapters: [{headers: {X-Key: s3cr3t}}]}]", "nodes: [{adapters: [{headers: {X-Key: <redacted>}}]}]"),
        ("nodes: [{adapters: [{headers: {X-Tenant: t}}]}]", "nodes: [{adapters: [{headers: {X-Tenant: t}}]}]"),
        ("nodes: [{adapters: [{base_url: 'http://u:s3cr3t@h'}]}]", "nodes: [{adapters: [{base_url: <redacted>}]}]"),
        (
            "nodes: [{adapters: [{base_url: 'http://h/?api_key=s3cr3t'}]}]",
            "nodes: [{adapters: [{base_url: <redacted>}]}]",
        ),
        ("nodes: [{adapters: [{base_url: 'http://h/v1'}]}]", "nodes: [{adapters: [{base_url: 'http://h/v1'}]}]"),
        ("nodes: [{adapters: [{headers: s3cr3t}]}]", "nodes: [{adapters: [{headers: <redacted>}]}]"),
        ("nodes: [{adapters: [{headers: {Authorization:s3cr3t}}]}]", "nodes: [{adapters: [{headers: {<redacted>}}]}]"),
        ("nodes: [{token:s3cr3t, id: n}]", "nodes: [{<redacted>, id: n}]"),
        ("nodes: [{token: *s3cr3t, id: n}]", "nodes: [{token: <redacted>, id: n}]"),
        ("nodes: [{token: &s3cr3t {a: b}, id: n}]", "nodes: [{token: <redacted> {<redacted>: <redacted>}, id: n}]"),
        ("nodes: [{token: !s3cr3t {a: b}, id: n}]", "nodes: [{token: <redacted> {<redacted>: <redacted>}, id: n}]"),
        ("nodes: [{token: &s3cr3t , id: n}]", "nodes: [{token: <redacted> , id: n}]"),
        ("nodes: [{token: !s3cr3t , id: n}]", "nodes: [{token: <redacted> , id: n}]"),
        ("nodes: [{token s3cr3t, id: n}]", "nodes: [{<redacted>, id: n}]"),
        ("nodes: [{token: , s3cr3t, id: n}]", "nodes: [{token: , <redacted>, id: n}]"),
        ("edge: {id: a, id: b}", "edge: {id: a, id: b}"),
        ("x-note: s3cr3t", "x-note: <redacted>"),
        ("nodes: [{adapters: {ollama: {}}}]", "nodes: [{adapters: {ollama: {}}}]"),
        ("models: [{providers: {p: t}}]", "models: [{providers: {p: t}}]"),
    ],
)
def test_line_shows_what_is_known_to_be_no_secret(text: str, expected: str) -> None:
    assert shown(text, 1) == expected
    assert shown(text + "\n", 1) == expected


@pytest.mark.contract("CFG-08")
def test_scalar_that_a_secret_field_takes_by_an_alias_is_hidden_where_it_stands() -> None:
    text = "x-a: &a {name: &t s3cr3t}\nedge: {name: *t, id: e}\nnodes: [{token: *t}]\n"
    assert shown(text, 1) == "x-a: <redacted> {name: <redacted>}"
    assert shown(text, 2) == "edge: {name: <redacted>, id: e}"


def test_alias_of_a_mapping_is_shown() -> None:
    text = "x-a: &a {id: e}\nedge: {<<: *a, name: n}\n"
    assert shown(text, 2) == "edge: {<<: *a, name: n}"


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("line", [2, 3, 4])
def test_no_line_of_a_secret_that_takes_several_is_shown(line: int) -> None:
    text = "nodes:\n- token: |\n    s3cr3t: one\n    edge: s3cr3t\n  id: n\n"
    assert SECRET not in shown(text, line)
    assert "one" not in shown(text, line)


def test_lines_of_a_text_that_takes_several() -> None:
    text = "edge:\n  name: >-\n    one\n    two\n  id: e\n"
    assert [shown(text, line).strip() for line in (2, 3, 4, 5)] == ["name: >-", "one", "two", "id: e"]


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("nodes: [{token: s3cr3t", 1, "nodes:"),
        ("nodes:\n  - token: 's3cr3t", 2, "  - token:"),
        ("nodes:\n\t- token: s3cr3t", 2, "    - token:"),
        ("edge: {id: a}\nnodes: s3cr3t: x\n", 2, "nodes:"),
        ('nodes:\n  - token: "s3cr3t\\q"\n', 2, "  - token:"),
        ("nodes: @s3cr3t\n", 1, "nodes:"),
        ("edge: {id: a}\n---\nnodes: s3cr3t\n", 3, "nodes:"),
        (b"nodes: s3cr3t\xff\n", 1, "nodes:"),
        (b"nodes: s3cr3t\x00\n", 1, "nodes:"),
    ],
)
def test_line_of_a_syntax_error_is_shown_up_to_its_first_colon(text: str | bytes, line: int, expected: str) -> None:
    assert shown(text, line) == expected


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('nodes:\n- token: "one\n    s3cr3t: foo" bar\n', 3),
        ("nodes:\n- token: 'one\n    s3cr3t", 3),
        ("s3cr3t", 1),
        ("- s3cr3t\n", 1),
    ],
)
def test_line_of_a_syntax_error_that_may_begin_in_a_secret_is_not_shown(text: str, line: int) -> None:
    found = excerpt(text, line)
    assert found is None or SECRET not in found.text


def test_lines_before_a_syntax_error_are_shown() -> None:
    assert shown("edge: {id: a, nme: x}\nnodes:\n- id: n\n  alias: [\n", 1) == "edge: {id: a, nme: <redacted>}"


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("text", "column", "text_before_caret"),
    [
        ("edge: {id: a, nme: b}", 15, "edge: {id: a, "),
        ("edge: {name: 서울, nme: b}", 18, "edge: {name: 서울, "),
        ('edge: {name: "e\u0301", nme: b}', 20, 'edge: {name: "e\u0301", '),
        ("edge:\t{id: a}", 7, "edge:    "),
        ("edge: {name: 서울}", 14, "edge: {name: "),
        ("edge: {name: 서울}", 15, "edge: {name: 서"),
        ("nodes: [{token: s3cr3t, idd: n}]", 25, "nodes: [{token: <redacted>, "),
        ("nodes: [{token: s3cr3t}]", 20, "nodes: [{token: "),
        ("edge: {id: a}", 14, "edge: {id: a}"),
    ],
)
def test_caret_stands_under_its_column(text: str, column: int, text_before_caret: str) -> None:
    cells = {"서": 2, "울": 2, "\u0301": 0}
    found = excerpt(text, 1, column)
    assert found is not None
    assert found.text.startswith(text_before_caret)
    assert found.caret == sum(cells.get(char, 1) for char in text_before_caret)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_lines_are_counted_as_the_parser_counts_them(line_break: str) -> None:
    text = f"# one{line_break}# two\nedge: {{id: a}}\n"
    assert shown(text, 3) == "edge: {id: a}"


def test_characters_that_steer_a_terminal_are_replaced() -> None:
    assert shown('edge: {name: "a\u202eb\u200bc"}', 1) == 'edge: {name: "a\ufffdb\ufffdc"}'


def test_long_line_is_cut_around_the_caret() -> None:
    text = f"edge: {{id: {'a' * 5000}, nme: x, name: {'b' * 5000}}}"
    column = text.index("nme") + 1
    found = excerpt(text, 1, column)
    assert found is not None
    assert len(found.text) < 250
    assert found.text[found.caret :].startswith("nme: <redacted>")
    assert found.text.startswith("...")
    assert found.text.endswith("...")


def test_secret_that_is_cut_stays_hidden() -> None:
    text = "nodes: [{token: %s, idd: x}]" % (SECRET * 500)
    assert SECRET not in shown(text, 1, text.index("idd") + 1)
    assert SECRET not in shown(text, 1, 300)


def test_comment_that_is_cut_stays_hidden() -> None:
    assert SECRET not in shown("edge: {id: a} # " + SECRET * 500, 1, 400)


def test_several_spans_of_one_line() -> None:
    text = "edge: {idd: a, nme: b}\n"
    spans = [Span("edge.yaml", 1, 8), Span("edge.yaml", 1, 16)]
    found = excerpts(text.encode(), *spans)
    assert [found[span].caret for span in spans] == [7, 24]


@pytest.mark.parametrize(("line", "column"), [(0, 0), (99, 1), (1, 999)])
def test_span_outside_of_the_file(line: int, column: int) -> None:
    found = excerpt("edge: {id: a}\n", line, column)
    assert found is None or found.text.startswith("edge") or found.text.startswith("...")


def test_file_past_the_limit_shows_nothing() -> None:
    span = Span("edge.yaml", 1, 1)
    assert excerpts(b"edge: {id: a}\n", span, limits=Limits(max_bytes=3)) == {}


@pytest.mark.contract("CFG-08")
def test_of_a_file_with_two_byte_order_marks_nothing_is_shown_but_known_keys() -> None:
    """Offsets of the parser are not those of the text there: masks would stand beside the secrets."""
    assert excerpt("\ufeff\ufeffnodes: [{token: s3cr3t}]", 1) is None
    assert shown("\ufeff\ufeffedge: {id: a}\nnodes: [{token: s3cr3t}]", 2) == "nodes:"


def test_line_of_which_nothing_is_left_is_not_shown() -> None:
    assert excerpt("# s3cr3t\nedge: {id: a}", 1, 3) is None
