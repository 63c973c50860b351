"""Files that mean harm: one clear finding, and no more time or memory than their size is worth (CFG-10)."""

import tracemalloc

import pytest

from iop_edge.config.events import DEFAULT_PARSER, ParserFactory
from iop_edge.config.pipeline import check_sources
from iop_edge.config.source import Limits, Source
from iop_edge.errors import Report
from tests.unit.config.decoding import both_parsers, decoded, found
from tests.unit.config.loading import World

pytestmark = pytest.mark.contract("CFG-10")


def rules(text: str | bytes, parser: ParserFactory, limits: Limits | None = None) -> list[str]:
    return [rule for rule, *_ in found(text, parser, limits=limits or Limits())]


def bomb(levels: int, width: int) -> str:
    lines = ["x-0: &a0 {models: [m]}"]
    lines += [f"x-{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    lines.append(f"nodes: [{{providers: *a{levels - 1}}}]")
    return "\n".join(lines)


@both_parsers
def test_file_past_the_size_limit(parser: ParserFactory) -> None:
    assert found("edge: {id: abc}", parser, limits=Limits(max_bytes=10)) == [("yaml.size", "", 0, 0)]
    assert found("edge: {id: abc}", parser, limits=Limits(max_bytes=15)) == []


@both_parsers
@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
@pytest.mark.parametrize("where", ["x-a:", "edge:", "nodes:", "nope:", "x-a: &a"])
def test_deep_nesting(opening: str, where: str, parser: ParserFactory) -> None:
    assert rules(f"{where}\n  {opening * 500}", parser)[-1] == "yaml.depth"


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
@pytest.mark.parametrize("where", ["x-a:\n  ", ""])
def test_very_deep_nesting(opening: str, where: str) -> None:
    assert rules(where + opening * 100_000, DEFAULT_PARSER)[-1] in ("yaml.depth", "yaml.root")


@both_parsers
@pytest.mark.parametrize(("levels", "expected"), [(63, []), (64, ["yaml.depth"])])
def test_sixty_four_levels_and_no_more(levels: int, expected: list[str], parser: ParserFactory) -> None:
    text = "x-a: " + "[" * levels + "]" * levels
    assert rules(text, parser) == expected
    assert rules("x-b: &b\n" + text.replace("x-a", " a"), parser) == (expected if levels < 63 else ["yaml.depth"])


@both_parsers
def test_alias_bomb_that_nothing_uses_costs_nothing(parser: ParserFactory) -> None:
    text = bomb(levels=40, width=9).rpartition("\n")[0]
    assert rules(text, parser) == []


@both_parsers
def test_alias_bomb_of_mappings(parser: ParserFactory) -> None:
    lines = ["x-0: &a0 {k: v}"]
    lines += [f"x-{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}" for level in range(1, 20)]
    text = "\n".join([*lines, "models: [{usage_attribution: *a19}]"])
    assert rules(text, parser) == ["yaml.aliasing"]


@both_parsers
def test_large_node_that_is_aliased_again_and_again(parser: ParserFactory) -> None:
    items = ", ".join(["m"] * 2_000)
    providers = ", ".join(["*p"] * 2_000)
    text = f"x-p: &p {{models: [{items}]}}\nnodes: [{{providers: [{providers}]}}]"
    assert rules(text, parser) == ["yaml.aliasing"]


@both_parsers
def test_ordinary_aliases_are_fine(parser: ParserFactory) -> None:
    text = "x-p: &p {capacity: 4, models: [m]}\nnodes:\n"
    text += "".join(f"- id: n{number}\n  providers: [{{id: p{number}, <<: *p}}]\n" for number in range(1_000))
    assert rules(text, parser) == []


@both_parsers
def test_merges_of_merges_without_end(parser: ParserFactory) -> None:
    lines = ["x-0: &a0 {k: v}"]
    lines += [f"x-{level}: &a{level} {{<<: *a{level - 1}}}" for level in range(1, 500)]
    text = "\n".join([*lines, "models: [{usage_attribution: *a499}]"])
    assert rules(text, parser) == ["yaml.depth"]


@both_parsers
def test_merge_of_many_into_a_large_map(parser: ParserFactory) -> None:
    keys = ", ".join(f"k{number}: v" for number in range(3_000))
    merges = ", ".join(["*m"] * 3_000)
    text = f"x-m: &m {{}}\nmodels: [{{usage_attribution: {{{keys}, <<: [{merges}]}}}}]"
    assert rules(text, parser) == []


@both_parsers
def test_anchor_over_more_than_is_worth_keeping(parser: ParserFactory) -> None:
    text = "x-a: &a [" + "b, " * 500 + "&c d]\n"
    assert rules(text, parser, Limits(max_recorded=100)) == ["yaml.aliasing"]
    assert rules(text, parser) == []


@both_parsers
def test_very_many_faults_are_counted_not_kept(parser: ParserFactory) -> None:
    outcome = decoded("nodes: [" + "1, " * 5_000 + "]", parser)
    assert (outcome.total, len(outcome.findings)) == (5_000, 1_000)


@both_parsers
def test_very_long_key_is_cut_in_what_is_said_of_it(parser: ParserFactory) -> None:
    (finding,) = decoded(f"? {'k' * 100_000}\n: 1\n", parser).findings
    assert len(finding.message) < 200
    assert len(str(finding.path)) < 200


@both_parsers
def test_unknown_subtree_of_any_size_is_one_finding(parser: ParserFactory) -> None:
    assert rules("nope: [" + "{a: [b, *x, !t c]}, " * 50 + "]", parser).count("field.unknown") == 1


@both_parsers
def test_values_that_overrides_hide_are_passed_over_only_so_often(parser: ParserFactory) -> None:
    hidden = "x-m: &m {k: [" + "v, " * 1_000 + "]}"
    text = f"{hidden}\nmodels: [{{usage_attribution: {{k: v, <<: [{'*m, ' * 90}]}}}}]"
    assert rules(text, parser) == []
    assert rules(text.replace("*m, ", "*m, *m, "), parser) == ["yaml.aliasing"]


@pytest.mark.parametrize(
    ("template", "rule"),
    [
        ("edge: {name: %s}", "field.type"),
        ("edge: {id: x%s}", "value.identifier"),
        ("? x%s\n: v", "field.unknown"),
        ("bootstrap: {enabled: x%s}", "field.type"),
        ("long_context_threshold_tokens: %s", "value.range"),
        ("logging: {level: %s}", "value.enum"),
        ("control_plane: {url: 'ftp://h/?a=%s'}", "value.url"),
        ("listen: {grpc: 'h:%s'}", "value.address"),
        ("nodes: [{token: %s.%s}]", "field.type"),
        ("nodes: [{token: 'x%s'}]", "credential.tracked"),
        ("openai: {principal_tokens: [{token_hash_sha256: x%s}]}", "value.sha256"),
        ("edge: {name: '${x%s'}", "reference.syntax"),
        ("edge:\n  name: |\n    a\n %s", "yaml.syntax"),
        ("edge: '%s", "yaml.syntax"),
        ("edge: {name: *x%s}", "yaml.alias"),
    ],
)
def test_scalar_of_a_megabyte_makes_no_long_report(template: str, rule: str) -> None:
    scalar = "7" * 1_000_000
    report = checked(template.replace("%s", scalar).encode())
    assert rule in [violation.rule for violation in report.violations]
    assert all(len(str(violation)) < 1_000 for violation in report.violations)
    assert all(len(excerpt.text) < 400 for excerpt in report.excerpts.values())


def test_two_hundred_thousand_keys_of_a_map() -> None:
    keys = "".join(f"    key-{number}: v\n" for number in range(200_000))
    outcome = decoded(f"models:\n- id: m\n  usage_attribution:\n{keys}")
    assert outcome.findings == []
    assert outcome.tree is not None
    assert len(outcome.tree["models"][0]["usage_attribution"]) == 200_000


@pytest.mark.parametrize(
    "text",
    [
        "models: [{id: m, usage_attribution: {%s}}]",
        "models: [{id: m, providers: {%s}}]",
        "nodes: [{adapters: {%s}}]",
        "{%s}",
        "edge: {%s}",
    ],
)
def test_very_many_keys_that_are_wrong_are_counted(text: str) -> None:
    report = checked((text % ", ".join(f"key-{number}: 7" for number in range(4_000))).encode())
    assert report.total >= 4_000
    assert len(report.violations) == 1_000


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"edge: {id: '" + b"\xe9" * 1_000_000 + b"'}", 1, 13),
        (("edge: {id: a}\n" * 80_000).encode("utf-16"), 1, 1),
        (("edge: {id: a}\n" * 80_000).encode("utf-32"), 1, 1),
        (b"\0" * 1_000_000, 1, 1),
        (b"\n" * 1_000_000 + b"\xff", 1_000_001, 1),
        ("\u2028".encode() * 300_000 + b"\x1b", 300_001, 1),
        (b"\xef\xbb\xbf" * 300_000, 1, 1),
    ],
)
def test_very_many_bytes_that_are_no_text_are_one_fault(data: bytes, line: int, column: int) -> None:
    (violation,) = checked(data).violations
    assert violation.rule == "yaml.encoding"
    assert violation.span is not None
    assert (violation.span.line, violation.span.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        bomb(levels=40, width=9),
        "edge: {name: " + "7" * 1_000_000 + "}",
        "edge: {name: '" + "$${" * 30_000 + "'}",
        "edge: {id: a, nope: [" + "{a: b}, " * 5_000 + "]}",
        "edge: {id: a}\nnodes: [" + "7, " * 5_000 + "]",
        "x-a: " + "[" * 1_000_000,
    ],
)
def test_memory_that_a_check_takes_is_bounded(text: str) -> None:
    checked(b"edge: {id: a}")
    tracemalloc.start()
    checked(text.encode())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000 + 20 * len(text)


def checked(data: bytes) -> Report:
    return check_sources([Source("edge.yaml", data)], World())
