"""How scalars, nulls and keys are read, a row a rule, with both parsers."""

from dataclasses import replace
from typing import Any

import pytest

from iop_edge.config import scalars
from iop_edge.config.events import C_PARSER, DEFAULT_PARSER, ParserFactory
from iop_edge.config.scalars import ScalarError
from iop_edge.schema import table
from iop_edge.schema.table import Kind
from tests.unit.config.decoding import Found, both_parsers, decoded, found, tree

pytestmark = pytest.mark.contract("CFG-11")

BOOL = "bootstrap: {enabled: %s}"
STRING = "edge:\n  name: %s"
INT32 = "long_context_threshold_tokens: %s"
INT64 = "nodes: [{adapters: [{request_timeout_ms: %s}]}]"


def only_value(node: Any) -> Any:
    """Return the one leaf of a tree."""
    while isinstance(node, dict | list):
        (node,) = node.values() if isinstance(node, dict) else node
    return node


def rules(text: str | bytes, parser: ParserFactory) -> list[str]:
    return [rule for rule, *_ in found(text, parser)]


@pytest.mark.case("Y3")
@both_parsers
@pytest.mark.parametrize(
    ("template", "text", "value"),
    [
        (BOOL, "true", True),
        (BOOL, "True", True),
        (BOOL, "TRUE", True),
        (BOOL, "false", False),
        (BOOL, "False", False),
        (BOOL, "FALSE", False),
        *((STRING, word, word) for word in ("yes", "on", "NO", "off", "y", "n", "Yes", "tRUE", "nULL")),
        *((STRING, text, text) for text in ("12:30:45", "2122:22", "=", "a_1", "_1", "1.2.3", "v1", "--", "+")),
        *((STRING, text, text) for text in ("1e", "0xG", "1-2", ".a", "2024-1", "NaN", "nan", "inf", "...", "a b")),
        *((STRING, f'"{text}"', text) for text in ("1.10", "0777", "true", "null", "~", "2024-01-02", "")),
        (STRING, "'1e3'", "1e3"),
        (STRING, "|-\n    007", "007"),
        (STRING, ">-\n    true\n", "true"),
        (STRING, "a$b", "a$b"),
        (STRING, '"$5"', "$5"),
        (INT32, "7", 7),
        (INT32, "+7", 7),
        (INT32, "-7", -7),
        (INT32, "0", 0),
        (INT32, "-0", 0),
        (INT32, "2147483647", 2147483647),
        (INT32, "-2147483648", -2147483648),
        (INT64, "9223372036854775807", 2**63 - 1),
    ],
)
def test_scalar_that_its_field_takes(template: str, text: str, value: Any, parser: ParserFactory) -> None:
    read = only_value(tree(template % text, parser))
    assert (read, type(read)) == (value, type(value))


@pytest.mark.case("Y8")
@both_parsers
@pytest.mark.parametrize(
    ("template", "text", "rule"),
    [
        *(
            (BOOL, text, "field.type")
            for text in ("yes", "on", "No", "off", "y", "n", '"yes"', '"true"', "1", "0", "tRue")
        ),
        *((STRING, text, "field.type") for text in ("1.10", "0777", "1e3", "true", "FALSE", ".5", "+1", "0x1F", "-1")),
        *(
            (STRING, text, "field.type")
            for text in ("1_000", "0b11", "0o17", "1.", "-.5e+3", "1_0.5", "+_1", "0x", "12e03")
        ),
        *((STRING, text, "field.type") for text in (".inf", "-.INF", "+.Inf", ".nan", ".NaN", "01443e5", "685_230.15")),
        *(
            (STRING, text, "field.type")
            for text in ("2024-01-02", "2024-1-2", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05")
        ),
        *(
            (INT32, text, "field.type")
            for text in ("0777", "0xFF", "0b11", "1_000", "0o777", "08", "1e3", "1.9", "1.0")
        ),
        *(
            (INT32, text, "field.type")
            for text in ('"7"', "'7'", "seven", "true", "+", "12:30", "2024-01-02", ".inf", "\uff17")
        ),
        (INT32, "2147483648", "value.range"),
        (INT32, "-2147483649", "value.range"),
        (INT64, "9223372036854775808", "value.range"),
        (INT64, "-9223372036854775809", "value.range"),
    ],
)
def test_scalar_that_its_field_refuses(template: str, text: str, rule: str, parser: ParserFactory) -> None:
    assert rules(template % text, parser) == [rule]


@both_parsers
def test_integer_of_very_many_digits_is_out_of_range(parser: ParserFactory) -> None:
    assert found(INT64 % ("9" * 100_000), parser) == [("value.range", "nodes[0].adapters[0].request_timeout_ms", 1, 42)]


@pytest.mark.case("Y1")
@pytest.mark.parametrize(
    ("text", "value"),
    [("1e3", 1000.0), ("1.5e-06", 1.5e-06), ("+.5", 0.5), ("1.", 1.0), (".5", 0.5), ("3", 3.0), ("-0.25", -0.25)],
)
def test_number_that_a_float_field_takes(text: str, value: float) -> None:
    field = replace(table.root().fields["long_context_threshold_tokens"], kind=Kind.DOUBLE)
    assert scalars.read(field, text, plain=True) == value


@pytest.mark.parametrize(
    ("text", "plain", "rule"),
    [
        *(
            (text, True, "field.type")
            for text in (".inf", "-.inf", ".nan", "0777", "1_0.5", "0x1F", "e5", ".", "1e", "x", "")
        ),
        ("1.5", False, "field.type"),
        ("1e400", True, "value.range"),
        ("-1e400", True, "value.range"),
        ("9" * 500, True, "value.range"),
    ],
)
def test_number_that_a_float_field_refuses(text: str, plain: bool, rule: str) -> None:
    field = replace(table.root().fields["long_context_threshold_tokens"], kind=Kind.DOUBLE)
    with pytest.raises(ScalarError) as caught:
        scalars.read(field, text, plain=plain)
    assert caught.value.rule == rule


@both_parsers
@pytest.mark.parametrize("null", ["~", "", "null", "Null", "NULL"])
@pytest.mark.parametrize("key", ["long_context_threshold_tokens", "edge", "nodes", "openai"])
def test_null_field_is_unset(null: str, key: str, parser: ParserFactory) -> None:
    assert tree(f"bootstrap: {{enabled: true}}\n{key}: {null}", parser) == {"bootstrap": {"enabled": True}}


@both_parsers
@pytest.mark.case("Y10")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("nodes:\n  - id: a\n  -\n  - id: b\n", ("value.null", "nodes[1]", 3, 4)),
        ("nodes: [{id: a}, ~]", ("value.null", "nodes[1]", 1, 18)),
        ("nodes: [{providers: [{models: [a, null]}]}]", ("value.null", "nodes[0].providers[0].models[1]", 1, 35)),
        ("models:\n- usage_attribution:\n    a:\n", ("value.null", "models[0].usage_attribution[a]", 3, 7)),
        ("models: [{usage_attribution: {a: ~}}]", ("value.null", "models[0].usage_attribution[a]", 1, 34)),
        ("models: [{providers: {p: ~}}]", ("value.null", "models[0].providers[0].target", 1, 26)),
        ("models: [{providers: [~]}]", ("value.null", "models[0].providers[0]", 1, 23)),
        ("nodes:\n- adapters:\n    ollama:\n", ("value.null", "nodes[0].adapters[0]", 3, 12)),
        ("nodes: [{adapters: {ollama: [~]}}]", ("value.null", "nodes[0].adapters[0]", 1, 30)),
    ],
)
def test_null_in_a_list_or_map(text: str, place: tuple[str, str, int, int], parser: ParserFactory) -> None:
    assert found(text, parser) == [place]


@both_parsers
@pytest.mark.contract("CFG-02")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("edge:\n  id: a\n  name: x\n  id: b\n", ("yaml.duplicate_key", "edge.id", 4, 3)),
        ("edge: {id: a}\n" + "# far\n" * 500 + "edge: {id: b}\n", ("yaml.duplicate_key", "edge", 502, 1)),
        ("edge: {id: a, 'id': b}", ("yaml.duplicate_key", "edge.id", 1, 15)),
        ("edge: {id: ~, id: b}", ("yaml.duplicate_key", "edge.id", 1, 15)),
        (
            "models: [{usage_attribution: {a: x, a: y}}]",
            ("yaml.duplicate_key", "models[0].usage_attribution[a]", 1, 37),
        ),
        ("models: [{providers: {p: x, p: y}}]", ("yaml.duplicate_key", "models[0].providers[p]", 1, 29)),
        ("x-a: 1\nx-a: 2\n", ("yaml.duplicate_key", "x-a", 2, 1)),
    ],
)
def test_duplicate_key_is_found_and_names_the_first_line(
    text: str, place: tuple[str, str, int, int], parser: ParserFactory
) -> None:
    outcome = decoded(text, parser)
    assert found(text, parser) == [place]
    assert f"on line {1 if place[2] != 4 else 2}" in outcome.findings[0].message


@both_parsers
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("models: [{usage_attribution: {1: a, true: b, 1.0: c}}]", []),
        ("models: [{usage_attribution: {~: a}}]", [("yaml.key", "models[0].usage_attribution", 1, 31)]),
        ("edge: {null: a}", [("yaml.key", "edge", 1, 8)]),
        ("edge: {? ~ : a}", [("yaml.key", "edge", 1, 10)]),
        ("edge: {[a, b]: c, id: x}", [("yaml.key", "edge", 1, 8)]),
        ("edge: {? {a: b} : c, id: x}", [("yaml.key", "edge", 1, 10)]),
        ("x-a: &a [b]\nedge: {*a : c, id: x}", [("yaml.key", "edge", 2, 8)]),
        ("edge: {1: a, id: x}", [("field.unknown", "edge[1]", 1, 8)]),
    ],
)
def test_key_that_is_no_text(text: str, expected: Found, parser: ParserFactory) -> None:
    assert found(text, parser) == expected


@both_parsers
def test_map_keys_that_look_like_numbers_stay_apart(parser: ParserFactory) -> None:
    text = "models: [{usage_attribution: {1: a, true: b, 1.0: c, '': d}}]"
    assert tree(text, parser)["models"][0]["usage_attribution"] == {"1": "a", "true": "b", "1.0": "c", "": "d"}


@both_parsers
@pytest.mark.case("Y6")
def test_header_names_are_kept_as_written_and_compared_without_case(parser: ParserFactory) -> None:
    text = "nodes: [{adapters: [{headers: {X-Key: a, x.dotted.KEY: b}}]}]"
    assert tree(text, parser)["nodes"][0]["adapters"][0]["headers"] == {"X-Key": "a", "x.dotted.KEY": "b"}
    twice = "nodes: [{adapters: [{headers: {X-Key: a, x-key: b}}]}]"
    assert rules(twice, parser) == ["yaml.duplicate_key"]


def test_the_parser_in_c_is_used_where_there_is_one() -> None:
    assert C_PARSER is not None
    assert DEFAULT_PARSER is C_PARSER
