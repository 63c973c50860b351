"""References resolve after parsing and merging, in scalar values only (CFG-06)."""

import re

import pytest

from iop_edge.config.events import ParserFactory
from iop_edge.config.pipeline import check_sources, load_sources
from iop_edge.schema.references import absolute_files, escape, parse
from tests.unit.config import decoding
from tests.unit.config.decoding import both_parsers
from tests.unit.config.loading import BASE, World, check, found, layers, load, rules


def with_alias(text: str) -> str:
    return BASE.replace("- id: n\n", f"- id: n\n    alias: {text}\n", 1)


def with_capacity(text: str) -> str:
    return BASE.replace("models: [m]}", f"models: [m], capacity: {text}}}", 1)


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:A}", "one"),
        ("x-${env:A}-${env:B}", "x-one-two"),
        ("${env:EMPTY}", ""),
        ("${env:EMPTY:-d}", "d"),
        ("${env:GONE:-d}", "d"),
        ("${env:GONE:-}", ""),
        ("${env:GONE:-a:b c}", "a:b c"),
        ("${env:A:-d}", "one"),
        ("${file:f.txt}", "text"),
        ("$${env:A}", "${env:A}"),
        ("$$", "$"),
        ("$$$${env:A}", "$${env:A}"),
        ("$$${env:A}", "$one"),
        ("a$b $ 5$", "a$b $ 5$"),
        ("${env:SPECIAL}", "a > b \\ ${env:A} *x: [1"),
    ],
)
@pytest.mark.case("Y5")
def test_text_resolves(text: str, value: str) -> None:
    env = {"A": "one", "B": "two", "EMPTY": "", "SPECIAL": "a > b \\ ${env:A} *x: [1"}
    world = World(env, {("/dir1", "f.txt"): "text"})
    assert load(with_alias(f"'{text}'"), world=world).tree["nodes"][0]["alias"] == value


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("${A}", "reference.syntax"),
        ("${env:}", "reference.syntax"),
        ("${env:1A}", "reference.syntax"),
        ("${env:A", "reference.syntax"),
        ("${file:}", "reference.syntax"),
        ("${vault:x}", "reference.syntax"),
        ("${env:A:-${env:B}}", "reference.syntax"),
        ("${}", "reference.syntax"),
        ("${env:GONE}", "reference.missing"),
        ("${file:gone}", "reference.missing"),
    ],
)
def test_text_that_is_no_reference_or_resolves_to_nothing_is_an_error(text: str, rule: str) -> None:
    report = check(with_alias(f"'{text}'"), world=World({"A": "one", "B": "two"}))
    assert found(report) == [(rule, "nodes[0].alias", 4)]


@pytest.mark.contract("CFG-06")
@pytest.mark.case("A9")
def test_each_reference_that_is_missing_is_named() -> None:
    report = check(with_alias("${env:GONE}${env:LOST}"))
    assert ["GONE" in v.message or "LOST" in v.message for v in report.violations] == [True, True]


@pytest.mark.contract("CFG-06")
def test_bare_name_gets_a_hint() -> None:
    (violation,) = check(with_alias("${HOME}")).violations
    assert "${env:HOME}" in violation.hint


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("headers: {X-Key: '${s3cr3t}'}", False),
        ("headers: {X-Tenant: '${s3cr3t}'}", True),
        ("base_url: 'http://u:${s3cr3t}@h'", False),
    ],
)
def test_hint_repeats_nothing_that_may_be_a_secret(text: str, *, is_shown: bool) -> None:
    overlay = f"nodes: [{{id: n, adapters: [{{name: a, {text}}}]}}]"
    (violation,) = check(BASE, private=(overlay,)).violations
    assert violation.rule == "reference.syntax"
    assert ("s3cr3t" in repr(violation)) is is_shown
    assert "${env:" in violation.hint


@pytest.mark.contract("CFG-06")
@pytest.mark.case("Y4")
@pytest.mark.parametrize(("text", "value"), [("4", 4), ("+4", 4)])
def test_text_takes_the_type_of_its_field(text: str, value: int) -> None:
    tree = load(with_capacity('"${env:N}"'), world=World({"N": text})).tree
    assert tree["nodes"][0]["providers"][0]["capacity"] == value


@pytest.mark.contract("CFG-06")
@pytest.mark.case("Y4")
def test_number_stays_text_where_the_field_holds_text() -> None:
    assert load(with_alias("${env:N}"), world=World({"N": "0123"})).tree["nodes"][0]["alias"] == "0123"


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    ("text", "rule"),
    [("s3cr3t", "field.type"), ("0x10", "field.type"), ("0", "value.gte"), ("99999999999", "value.range")],
)
def test_value_of_the_wrong_type_is_an_error_that_names_the_reference(text: str, rule: str) -> None:
    (violation,) = check(with_capacity('"${env:N}"'), world=World({"N": text})).violations
    assert (violation.rule, violation.path) == (rule, "nodes[0].providers[0].capacity")
    assert "${env:N}" in violation.message


@pytest.mark.contract("CFG-08")
def test_value_of_the_wrong_type_is_not_shown() -> None:
    assert "s3cr3t" not in repr(check(with_capacity('"${env:N}"'), world=World({"N": "s3cr3t"})))


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("edge: {id: e}", "edge: {id: '${env:A}'}", "edge.id"),
        ("- {name: a, type", "- {name: '${env:A}', type", "nodes[0].adapters[0].name"),
        ("adapter: a,", "adapter: '${env:A}',", "nodes[0].providers[0].adapter"),
        ("providers: [p]", "providers: ['${env:A}']", "models[0].providers[0].id"),
    ],
)
def test_no_reference_in_an_identity_or_in_the_name_of_one(old: str, new: str, path: str) -> None:
    report = check(BASE.replace(old, new), world=World({"A": "a"}))
    assert [(v.rule, v.path) for v in report.violations] == [("reference.not_allowed", path)]


@pytest.mark.contract("CFG-06")
def test_no_reference_in_a_map_key() -> None:
    report = check(BASE.replace("providers: [p]", "providers: [p], usage_attribution: {'${env:A}': x}"))
    assert rules(report) == ["reference.not_allowed"]


@both_parsers
@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("nodes: [{adapters: {'${env:T}': {base_url: 'http://h'}}}]", "nodes[0].adapters[0].type"),
        ("nodes: [{adapters: {'${env:T:-vllm}': [{}, {name: b}]}}]", "nodes[0].adapters[0].type"),
        ("models: [{providers: {'${env:P}': t}}]", "models[0].providers[0].id"),
    ],
)
def test_no_reference_in_a_key_that_stands_for_an_item(text: str, path: str, parser: ParserFactory) -> None:
    assert {(rule, at) for rule, at, *_ in decoding.found(text, parser)} == {("reference.not_allowed", path)}


@pytest.mark.contract("CFG-06")
def test_reference_in_place_of_an_adapter_type_is_one_violation() -> None:
    adapters = "    adapters: {'${env:T}': {name: a, base_url: 'http://h'}}\n"
    text = re.sub(r" +adapters:\n.*\n", adapters, BASE)
    assert rules(check(text, world=World({"T": "ollama"}))) == ["reference.not_allowed"]


@pytest.mark.contract("CFG-06")
def test_file_is_sought_beside_the_file_that_names_it() -> None:
    overlay = "nodes: [{id: n, token: '${file:secret}'}]"
    world = World(files={("/priv1", "secret"): "t"})
    assert load(BASE, private=(overlay,), world=world).tree["nodes"][0]["token"] == "t"


@pytest.mark.contract("CFG-06")
def test_references_in_lists_and_maps_resolve() -> None:
    text = BASE.replace("models: [m]", "models: [m, '${env:A}']").replace(
        "providers: [p]", "providers: [p], usage_attribution: {k: '${env:A}'}"
    )
    tree = load(text, world=World({"A": "one"})).tree
    assert tree["nodes"][0]["providers"][0]["models"] == ["m", "one"]
    assert tree["models"][0]["usage_attribution"] == {"k": "one"}


@pytest.mark.contract("CFG-06")
def test_environment_that_is_not_utf8_is_an_error() -> None:
    assert rules(check(with_alias("${env:A}"), world=World({"A": "\udcff"}))) == ["reference.missing"]


@pytest.mark.contract("CFG-06")
def test_offline_leaves_references_and_still_finds_bad_ones() -> None:
    snapshot = load_sources(layers(with_capacity('"${env:N}"')), None)
    value: object = snapshot.tree["nodes"][0]["providers"][0]["capacity"]
    assert (value, snapshot.is_offline) == ("${env:N}", True)
    assert rules(check_sources(layers(with_alias("${N}")), None)) == ["reference.syntax"]


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize("text", ["", "$", "$$", "${", "$${", "a$b", "$$$", "${env:A}", "x$${y}$", "$5.00"])
def test_escaped_text_reads_as_itself(text: str) -> None:
    assert parse(escape(text)) == (text,)


@pytest.mark.contract("REF-11")
@pytest.mark.parametrize(
    ("text", "absolute"),
    [
        ("${file:a/b}", "${file:/conf/a/b}"),
        ("${file:/a/b}", "${file:/a/b}"),
        ("$${x} ${env:A:-d} ${file:b}", "$${x} ${env:A:-d} ${file:/conf/b}"),
    ],
)
def test_file_references_become_absolute(text: str, absolute: str) -> None:
    assert absolute_files(text, "/conf") == absolute
