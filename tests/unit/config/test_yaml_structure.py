"""How the structure of YAML is read: merges, anchors, documents, tags, encodings; with both parsers."""

import pytest

from iop_edge.config.events import ParserFactory
from tests.unit.config.decoding import both_parsers, decoded, found, tree

pytestmark = pytest.mark.contract("CFG-11")


def rules(text: str | bytes, parser: ParserFactory) -> list[str]:
    return [rule for rule, *_ in found(text, parser)]


@both_parsers
@pytest.mark.case("Y7")
def test_merge_adds_what_is_not_there_and_an_override_is_no_duplicate(parser: ParserFactory) -> None:
    text = """
x-base: &base {capacity: 4, priority: 1, enabled: false}
x-more: &more {capacity: 9, max_queue: 3}
nodes:
  - providers:
      - {id: a, <<: *base, priority: 2}
      - {<<: [*base, *more], id: b}
      - {<<: {id: c, <<: *more}, capacity: 1}
"""
    assert tree(text, parser)["nodes"][0]["providers"] == [
        {"id": "a", "priority": 2, "capacity": 4, "enabled": False},
        {"id": "b", "capacity": 4, "priority": 1, "enabled": False, "max_queue": 3},
        {"id": "c", "capacity": 1, "max_queue": 3},
    ]


@both_parsers
def test_merge_works_in_maps_in_mapping_forms_and_at_the_top(parser: ParserFactory) -> None:
    text = """
x-top: &top {long_context_threshold_tokens: 5}
x-headers: &headers {x-a: "1", X-B: "2"}
x-kinds: &kinds {ollama: {enabled: false}}
<<: *top
nodes:
  - adapters:
      <<: *kinds
      vllm: {headers: {X-A: "9", <<: *headers}}
"""
    read = tree(text, parser)
    assert read["long_context_threshold_tokens"] == 5
    assert read["nodes"][0]["adapters"] == [
        {"type": "vllm", "name": "vllm", "headers": {"X-A": "9", "X-B": "2"}},
        {"type": "ollama", "name": "ollama", "enabled": False},
    ]


@both_parsers
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("edge: {<<: {id: a}, <<: {name: b}}", ("yaml.duplicate_key", 1, 21)),
        ("edge: {<<: 5}", ("yaml.merge", 1, 12)),
        ("edge: {<<: [5]}", ("yaml.merge", 1, 13)),
        ("edge: {<<: [[{id: a}]]}", ("yaml.merge", 1, 13)),
        ("x-a: &a 5\nedge: {<<: *a}", ("yaml.merge", 2, 12)),
        ("x-a: &a [{id: a}]\nedge: {<<: *a}", ("yaml.merge", 2, 12)),
        ("edge: {<<: ~}", ("yaml.merge", 1, 12)),
        ('edge: {"<<": {id: a}}', ("field.unknown", 1, 8)),
        ("edge: {<<: {id: a, id: b}}", ("yaml.duplicate_key", 1, 20)),
        ("edge: {<<: {idd: a}}", ("field.unknown", 1, 13)),
        ("edge: {<<: {name: 1.10}}", ("field.type", 1, 19)),
    ],
)
def test_merge_that_is_none(text: str, place: tuple[str, int, int], parser: ParserFactory) -> None:
    assert [(rule, line, column) for rule, _, line, column in found(text, parser)] == [place]


@both_parsers
def test_what_a_merge_overrides_is_not_read(parser: ParserFactory) -> None:
    text = "x-a: &a {name: 1.10, id: b}\nedge: {<<: *a, name: c}"
    assert tree(text, parser) == {"edge": {"id": "b", "name": "c"}}


@both_parsers
def test_anchor_is_defined_again(parser: ParserFactory) -> None:
    text = "x-a: &a one\nx-b: [*a, &a two]\nedge: {id: *a}"
    assert tree(text, parser) == {"edge": {"id": "two"}}


@both_parsers
def test_alias_means_what_stood_before_it_even_when_it_is_reached_by_another_alias(parser: ParserFactory) -> None:
    text = """
x-outer: &outer {id: &id first, name: *id}
x-later: &id second
edge: *outer
nodes: [{id: *id}]
"""
    assert tree(text, parser) == {"edge": {"id": "first", "name": "first"}, "nodes": [{"id": "second"}]}


@both_parsers
@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("nodes: &a [*a]", 1, 12),
        ("edge: &a {id: x, name: *a}", 1, 24),
        ("x-a: &a {b: *a}", 1, 13),
        ("x-a: &a {<<: *a}", 1, 14),
        ("edge: &a {id: x, <<: *a}", 1, 22),
        ("&a edge: {id: x}\nnodes: *b", 2, 8),
        ("edge: *nope", 1, 7),
        ("x-a: [*nope]", 1, 7),
        ("x-a: {<<: *nope}", 1, 11),
        ("*nope : x", 1, 1),
        ("&root {edge: *root}", 1, 14),
    ],
)
def test_alias_of_itself_or_of_nothing(text: str, line: int, column: int, parser: ParserFactory) -> None:
    assert [(rule, at, col) for rule, _, at, col in found(text, parser)] == [("yaml.alias", line, column)]


@both_parsers
def test_anchor_on_key(parser: ParserFactory) -> None:
    text = "&e edge : {name: x, &i id: *i}\nbootstrap: {artifact_dir: *e}"
    assert tree(text, parser) == {"edge": {"name": "x", "id": "id"}, "bootstrap": {"artifact_dir": "edge"}}


@both_parsers
@pytest.mark.contract("CFG-11")
@pytest.mark.parametrize(
    ("text", "path", "line", "column"),
    [
        ("x-a: &a id\nedge: {*a : e}", "edge", 2, 8),
        ("x-a: &a edge\n*a : {id: e}", "", 2, 1),
        ("x-a: &a {id: e}\nedge: {*a : e}", "edge", 2, 8),
        ("edge: {id: &a e}\nx-m: &m {*a : e}\nlogging: {<<: *m}", "logging", 2, 10),
        ("nodes: [{adapters: [{name: &a b, headers: {*a : v}}]}]", "nodes[0].adapters[0].headers", 1, 44),
        ("edge: {id: &a p}\nmodels: [{id: m, providers: {*a : m}}]", "models[0].providers", 2, 30),
    ],
)
def test_alias_is_no_key(text: str, path: str, line: int, column: int, parser: ParserFactory) -> None:
    assert found(text, parser) == [("yaml.key", path, line, column)]


@both_parsers
def test_tab_indent_is_a_syntax_error_at_the_tab(parser: ParserFactory) -> None:
    assert found("edge:\n\tid: a\n", parser) == [("yaml.syntax", "", 2, 1)]


@both_parsers
@pytest.mark.case("Y9")
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_bom_and_line_breaks_change_no_position(line_break: str, parser: ParserFactory) -> None:
    text = f"\ufeffedgee: a{line_break}nodes:{line_break}  - idd: x{line_break}"
    assert found(text, parser) == [("field.unknown", "edgee", 1, 1), ("field.unknown", "nodes[0].idd", 3, 5)]


@both_parsers
@pytest.mark.parametrize("separator", ["\x85", "\u2028", "\u2029"])
def test_unicode_line_breaks_count(separator: str, parser: ParserFactory) -> None:
    assert found(f"# a{separator}edgee: x\n", parser) == [("field.unknown", "edgee", 2, 1)]


@both_parsers
@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        ("edge: {id: a}".encode("utf-16"), 1, 1),
        ("edge: {id: a}".encode("utf-16-be"), 1, 1),
        (b"edge:\n  id: a\x00b\n", 2, 8),
        ("edge:\n  id: \ufeffa\n".encode(), 2, 7),
        (b"edge:\r\n  id: \x07\n", 2, 7),
        (b"edge: \x7f", 1, 7),
        ("a: \x80".encode(), 1, 4),
        ("서울: \ufffe".encode(), 1, 5),
        ("서울: ".encode() + b"\xff\n", 1, 5),
        (b"edge:\n  id: \xc3\x28\n", 2, 7),
        (b"edge: \xed\xa0\x80\n", 1, 7),
        (b"# \x1b[31m\nedge: {id: a}\n", 1, 3),
    ],
)
def test_bytes_that_are_no_yaml_text_are_located(data: bytes, line: int, column: int, parser: ParserFactory) -> None:
    assert found(data, parser) == [("yaml.encoding", "", line, column)]


@both_parsers
@pytest.mark.parametrize("escape", ["\\uD800", "\\U0011FFFF", "\\UFFFFFFFF", "\\q", "\\xZZ"])
def test_escape_of_no_character_is_a_syntax_error(escape: str, parser: ParserFactory) -> None:
    assert rules(f'edge: {{id: "{escape}"}}', parser) == ["yaml.syntax"]


@both_parsers
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("edge: {id: a?b}", 1),
        ("edge: {id: a? }", 1),
        ("x-a: [a, b?]\nedge: {id: a}", 1),
        ("edge:\n  id: a?b\n  name: x\nnodes: [{providers: [{base_url: http://h/?a=b}]}]", 4),
        ("models: [{usage_attribution: {a?: b}}]", 1),
        (r'edge: {id: "a\/b"}', 1),
        (r'edge: {id: "a\\\/b"}', 1),
    ],
)
def test_what_go_cannot_parse_is_a_syntax_error(text: str, line: int, parser: ParserFactory) -> None:
    rule, _, at, _ = found(text, parser)[-1]
    assert (rule, at) == ("yaml.syntax", line)


@both_parsers
@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("edge:\n  id: a?b", "a?b"),
        ("edge: {id: 'a?b'}", "a?b"),
        ("edge: {? id : a}  # why?", "a"),
        ("x-a: [a, {b: c}]\nedge:\n  id: a?b", "a?b"),
        (r'edge: {id: "a\\/b"}', r"a\/b"),
        (r"edge: {id: 'a\/b'}", r"a\/b"),
        (r"edge: {id: a\/b}", r"a\/b"),
    ],
)
def test_question_mark_or_slash_that_means_itself(text: str, identity: str, parser: ParserFactory) -> None:
    assert tree(text, parser) == {"edge": {"id": identity}}


@both_parsers
def test_second_document_is_an_error_at_its_line(parser: ParserFactory) -> None:
    assert found("edge: {id: a}\n---\nnodes: []\n", parser) == [("yaml.documents", "", 2, 1)]


@both_parsers
def test_one_document_may_be_marked(parser: ParserFactory) -> None:
    assert tree("---\nedge: {id: a}\n...\n", parser) == {"edge": {"id": "a"}}


@both_parsers
@pytest.mark.parametrize("directive", ["%YAML 1.1", "%YAML 1.2", "%TAG ! tag:example.com,2000:"])
def test_directive_is_refused(directive: str, parser: ParserFactory) -> None:
    assert "yaml.directive" in rules(f"{directive}\n---\nedge: {{id: a}}\n", parser)


@both_parsers
def test_unknown_directive_is_a_syntax_error(parser: ParserFactory) -> None:
    assert rules("%FOO bar\n---\nedge: {id: a}\n", parser) == ["yaml.syntax"]


@both_parsers
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("edge: {id: !!str a}", 12),
        ("edge: {id: !foo a}", 12),
        ("edge: {id: ! a}", 12),
        ("edge: !!map {id: a}", 7),
        ("nodes: !!seq [{id: a}]", 8),
        ("nodes: [!x {id: a}]", 9),
        ("edge: {id: !!python/object/apply:os.system [x]}", 12),
        ("edge: {!!str id: a}", 8),
        ("!!map {edge: {id: a}}", 1),
        ("models: [{usage_attribution: {a: !!str b}}]", 34),
        ("models: [{usage_attribution: {!!str a: b}}]", 31),
        ("nodes: [{adapters: {ollama: !x {}}}]", 29),
        ("nodes: [{adapters: {ollama: !x []}}]", 29),
    ],
)
def test_explicit_tag_is_refused(text: str, column: int, parser: ParserFactory) -> None:
    assert [(rule, line, at) for rule, _, line, at in found(text, parser)] == [("yaml.tag", 1, column)]


@both_parsers
@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~", "null\n", "\ufeff", "---\n...\n", "&a ~"])
def test_empty_file(text: str, parser: ParserFactory) -> None:
    outcome = decoded(text, parser)
    assert ([item.rule for item in outcome.findings], outcome.tree) == (["yaml.empty"], None)


@both_parsers
@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize("text", ["- a\n", "[a]", "text", '"text"', "5", '""', "edge:x", "&a [b]"])
def test_root_that_is_no_mapping(text: str, parser: ParserFactory) -> None:
    outcome = decoded(text, parser)
    assert ([item.rule for item in outcome.findings], outcome.tree) == (["yaml.root"], None)


@both_parsers
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("edge:x", "yaml.root"),
        ("edge:\n  id:x\n", "field.type"),
        ("edge: {id:x}", "field.unknown"),
        ("nodes: [{adapters: [{headers: {X-Tenant:a}}]}]", "value.null"),
    ],
)
def test_colon_without_a_space_gets_a_hint(text: str, rule: str, parser: ParserFactory) -> None:
    (finding,) = decoded(text, parser).findings
    assert finding.rule == rule
    assert "space after the colon" in finding.hint


@both_parsers
@pytest.mark.contract("CFG-12")
def test_top_level_extension_keys_are_ignored_and_hold_anchors(parser: ParserFactory) -> None:
    text = "$schema: x\nx-anything: [{any: &n [thing, &i inner]}, 1, ~]\nedge: {id: *i}\nx-: ~"
    assert tree(text, parser) == {"edge": {"id": "inner"}}


@both_parsers
@pytest.mark.contract("CFG-12")
def test_extension_keys_are_for_the_top_level_alone(parser: ParserFactory) -> None:
    assert found("edge: {x-note: a}", parser) == [("field.unknown", "edge.x-note", 1, 8)]


@both_parsers
def test_fault_below_an_anchor_is_reported_once_at_its_own_place(parser: ParserFactory) -> None:
    text = "x-p: &p {capacity: yes}\nnodes: [{providers: [*p, *p, {<<: *p}]}]\n"
    assert found(text, parser) == [("field.type", "nodes[0].providers[0].capacity", 1, 20)]
