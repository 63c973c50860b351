"""Layers merge by key and by identity (CFG-05)."""

from typing import Any

import pytest

from tests.unit.config.loading import BASE, World, check, found, load, rules

OTHER = """\
nodes:
  - id: n2
    address: "127.0.0.1:7502"
"""


@pytest.mark.contract("CFG-05")
def test_tracked_files_bring_items_together() -> None:
    tree = load(BASE, OTHER).tree
    assert [node["id"] for node in tree["nodes"]] == ["n", "n2"]


@pytest.mark.contract("CFG-05")
def test_items_of_one_identity_merge_whatever_their_order() -> None:
    overlay = """\
    nodes:
      - id: n2
        address: "127.0.0.1:7502"
      - id: n
        alias: Rack
        providers:
          - {id: p, capacity: 7}
          - {id: q, type: ollama, category: local_inference, adapter: a, models: [m]}
    models:
      - {id: m, providers: {q: m}}
    """
    tree = load(BASE, private=(overlay,)).tree
    node = tree["nodes"][0]
    assert (node["id"], node["alias"], node["address"]) == ("n", "Rack", "127.0.0.1:7501")
    assert [(p["id"], p["capacity"], p["adapter"]) for p in node["providers"]] == [("p", 7, "a"), ("q", 1, "a")]
    assert [entry["id"] for entry in tree["models"][0]["providers"]] == ["p", "q"]


@pytest.mark.contract("CFG-05")
def test_plain_list_is_replaced() -> None:
    overlay = "nodes: [{id: n, providers: [{id: p, models: [m, k]}]}]"
    assert load(BASE, private=(overlay,)).tree["nodes"][0]["providers"][0]["models"] == ["m", "k"]


@pytest.mark.contract("CFG-05")
@pytest.mark.case("Y6")
def test_headers_merge_without_case_and_take_the_later_spelling() -> None:
    one = "nodes: [{id: n, adapters: [{name: a, headers: {X-Tenant: x, User-Agent: u}}]}]"
    two = "nodes: [{id: n, adapters: [{name: a, headers: {x-tenant: y, Authorization: s}}]}]"
    tree = load(BASE, one, private=(two,)).tree
    assert tree["nodes"][0]["adapters"][0]["headers"] == {"User-Agent": "u", "x-tenant": "y", "Authorization": "s"}


@pytest.mark.contract("CFG-05")
@pytest.mark.parametrize(
    ("overlay", "gone"),
    [
        ("nodes: [{id: n, alias: }]", ("alias",)),
        ("nodes: [{id: n, runtime: ~}]", ("runtime", "concurrency")),
        ("nodes: [{id: n, adapters: [{name: a, headers: {x-tenant: null}}]}]", ("adapters", 0, "headers")),
        ("nodes: [{id: n, adapters: [{name: a, headers: null}]}]", ("adapters", 0, "headers")),
    ],
)
def test_null_in_an_overlay_unsets(overlay: str, gone: tuple[str | int, ...]) -> None:
    more = "nodes: [{id: n, alias: A, runtime: {concurrency: 5}, adapters: [{name: a, headers: {X-Tenant: x}}]}]"
    value: Any = load(BASE, more, private=(overlay,)).tree["nodes"][0]
    for step in gone[:-1]:
        value = value[step]
    assert value.get(gone[-1]) in (None, 0)


@pytest.mark.contract("CFG-05")
def test_later_overlay_sets_again_what_an_earlier_one_unset() -> None:
    tree = load(BASE, private=("nodes: [{id: n, alias: null}]", "nodes: [{id: n, alias: B}]")).tree
    assert tree["nodes"][0]["alias"] == "B"


@pytest.mark.contract("CFG-05")
def test_tracked_files_that_disagree_are_an_error_at_the_second() -> None:
    report = check(BASE, 'nodes:\n  - id: n\n    address: "127.0.0.1:9"\n')
    assert [(v.rule, v.path, str(v.span)) for v in report.violations] == [
        ("layer.conflict", "nodes[0].address", "2.yaml:3:14")
    ]
    assert "1.yaml:4:14" in report.violations[0].message


@pytest.mark.contract("CFG-05")
def test_tracked_files_that_agree_are_none() -> None:
    assert check(BASE, 'nodes: [{id: n, address: "127.0.0.1:7501"}]').ok


@pytest.mark.contract("CFG-05", "NRM-06")
@pytest.mark.parametrize(("first", "second", "expected"), [("ab", "AB", []), ("ab", "AC", ["layer.conflict"])])
def test_hashes_agree_whatever_their_case(first: str, second: str, expected: list[str]) -> None:
    one, two = (
        f"openai: {{principal_tokens: [{{token_ref: t, principal_ref: p, token_hash_sha256: {text * 32}}}]}}"
        for text in (first, second)
    )
    assert rules(check(BASE, one, two)) == expected


@pytest.mark.contract("CFG-05")
def test_disagreement_in_a_map_is_an_error() -> None:
    one = "nodes: [{id: n, adapters: [{name: a, headers: {X-Tenant: x}}]}]"
    two = one.replace("X-Tenant: x", "x-tenant: y")
    assert rules(check(BASE, one, two)) == ["layer.conflict"]


@pytest.mark.contract("CFG-05")
@pytest.mark.case("A12")
def test_identity_twice_in_one_file_is_an_error_that_names_both() -> None:
    report = check(BASE + "  - {id: m, providers: [p]}\n")
    assert found(report) == [("id.duplicate", "models[1].id", 11)]
    assert "1.yaml:10:10" in report.violations[0].message


@pytest.mark.contract("CFG-05")
def test_identity_twice_in_an_overlay_is_an_error_there() -> None:
    report = check(BASE, private=("nodes:\n  - {id: n, alias: A}\n  - {id: n, alias: B}\n",))
    duplicates = [violation for violation in report.violations if violation.rule == "id.duplicate"]
    assert [str(violation.span) for violation in duplicates] == ["p1.yaml:3:10"]


@pytest.mark.contract("CFG-05")
@pytest.mark.parametrize(
    ("private", "place"),
    [
        ("nodes: [{id: n, providers: [{id: p, capacity: 0}]}]", "p1.yaml:1:47"),
        ("nodes:\n- id: x\n  address: unix:/x\n- id: n\n  providers:\n  - {id: p, capacity: 0}", "p1.yaml:6:23"),
        ("nodes: [{id: n, providers: [{id: p, models: []}]}]", "p1.yaml:1:45"),
        ("nodes: [{id: n, adapters: [{name: a, base_url: null}]}]", "p1.yaml:1:48"),
        ("nodes: [{id: n, adapters: [{name: b, type: vllm}]}]", "p1.yaml:1:28"),
    ],
    ids=["scalar", "other index", "list", "unset", "missing in a new item"],
)
def test_error_names_the_file_that_the_value_came_from(private: str, place: str) -> None:
    report = check(BASE, private=(private,))
    assert [str(violation.span) for violation in report.violations] == [place]


@pytest.mark.contract("CFG-05")
def test_path_has_the_indexes_of_the_file_that_is_named() -> None:
    private = "nodes:\n- id: x\n  address: unix:/x\n- id: n\n  providers:\n  - {id: p, capacity: 0}"
    assert check(BASE, private=(private,)).violations[0].path == "nodes[1].providers[0].capacity"


@pytest.mark.contract("CFG-06")
def test_what_an_overlay_replaces_need_not_resolve() -> None:
    tracked = BASE.replace('address: "127.0.0.1:7501"', 'address: "127.0.0.1:7501"\n    token: ${env:GONE}')
    assert rules(check(tracked)) == ["reference.missing"]
    assert load(tracked, private=("nodes: [{id: n, token: t}]",), world=World()).tree["nodes"][0]["token"] == "t"


@pytest.mark.contract("CFG-04")
def test_errors_stand_in_the_order_of_files_then_lines() -> None:
    private = "nodes: [{id: n, providers: [{id: p, priority: -1}]}]\nlong_context_threshold_tokens: 0\n"
    report = check(BASE.replace("models: [m]", "models: [m], capacity: 0"), "opnai: {}", private=(private,))
    assert [str(violation.span) for violation in report.violations] == [
        "1.yaml:8:93",
        "2.yaml:1:1",
        "p1.yaml:1:47",
        "p1.yaml:2:32",
    ]


@pytest.mark.contract("CFG-04")
def test_one_unreadable_file_does_not_hide_the_errors_of_another() -> None:
    report = check("edge: [", "opnai: {}")
    assert {violation.span.file for violation in report.violations if violation.span} == {"1.yaml", "2.yaml"}
    assert rules(report)[-1] == "field.unknown"
