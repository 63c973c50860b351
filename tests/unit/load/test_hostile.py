"""Files that mean harm: one clear finding, and no more time or memory than their size is worth (CFG-10)."""

import pytest

from iop_edge.load.parsers import DEFAULT_PARSER, ParserFactory
from iop_edge.load.source import Limits
from tests.unit.load.decoding import both_parsers, decoded, found

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
