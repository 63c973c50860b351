"""One fault is reported once, and what is unknown is not judged (CFG-04)."""

import pytest

from iop_edge.config.pipeline import check_sources, snapshot_of
from iop_edge.errors import ConfigError
from tests.unit.config.edits import at_adapter
from tests.unit.config.loading import BASE, World, check, layers, load, rules


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("id: p,", "id: 5,", "nodes[0].providers[0].id"),
        ("name: a,", "name: 5,", "nodes[0].adapters[0].name"),
        ("enabled: true", "enabled: 5", "nodes[0].adapters[0].enabled"),
        ("type: ollama, category", "type: 5, category", "nodes[0].providers[0].type"),
        ("type: ollama, base_url", "type: 5, base_url", "nodes[0].adapters[0].type"),
        ("models: [m]}", "models: 5}", "nodes[0].providers[0].models"),
        ("models: [m]}", "models: [5]}", "nodes[0].providers[0].models[0]"),
        ("adapter: a,", "adapter: 5,", "nodes[0].providers[0].adapter"),
        ("providers: [p]", "providers: 5", "models[0].providers"),
        ("edge: {id: e}", "edge: 5", "edge"),
    ],
)
def test_value_that_cannot_be_read_is_the_only_error(old: str, new: str, path: str) -> None:
    text = at_adapter("enabled: true") + "openai: {model_routes: [{model: r, adapter: a, target: m}]}\n"
    assert check(text).ok
    report = check(text.replace(old, new, 1))
    assert [violation.path for violation in report.violations] == [path]


@pytest.mark.contract("CFG-04")
@pytest.mark.parametrize("name", ["nodes", "models", "listen", "openai"])
def test_section_that_cannot_be_read_is_the_only_error(name: str) -> None:
    text = "\n".join(
        ["edge: {id: e}", f"{name}: 5"] + (["models: [{id: m, providers: [p]}]"] if name == "nodes" else [])
    )
    assert [(v.rule, v.path) for v in check(text).violations] == [("field.type", name)]


@pytest.mark.contract("CFG-04")
def test_fault_behind_an_alias_is_reported_once() -> None:
    text = """\
    edge: {id: e}
    x-headers: &headers {"a b": c}
    nodes:
      - id: n
        address: "h:1"
        adapters:
          - {name: a, type: vllm, base_url: "http://h", headers: &h {"a b": "${env:X}"}}
          - {name: b, type: vllm, base_url: "http://h", headers: *h}
    """
    assert rules(check(text, world=World({"X": "x"}))) == ["value.header_name"]


@pytest.mark.contract("CFG-04")
def test_more_faults_than_are_listed_are_counted() -> None:
    models = "".join(f"  - {{id: m{n}, providers: [p{n}]}}\n" for n in range(1500))
    report = check("edge: {id: e}\nnodes: []\nmodels:\n" + models)
    assert report.total == 1500
    assert len(report.violations) == 1000
    assert report.violations[-1].path == "models[999].providers[0].id"


@pytest.mark.contract("CFG-06")
def test_what_is_unresolved_is_not_judged() -> None:
    text = (
        BASE.replace("type: ollama, category", 'type: "${env:T}", category')
        .replace("models: [m]}", 'models: ["${env:M}"], capacity: "${env:C}", enabled: "${env:E}"}')
        .replace("http://127.0.0.1:11434", "${env:U}")
        .replace("127.0.0.1:7501", "${env:A}")
    )
    assert check_sources(layers(text), None).ok


@pytest.mark.contract("REF-07")
def test_tree_that_breaks_a_rule_is_no_snapshot() -> None:
    tree = dict(load(BASE).tree)
    tree["models"] = [{"id": "m", "providers": [{"id": "gone", "target": "m"}]}]
    with pytest.raises(ConfigError) as failure:
        snapshot_of(tree)
    assert [(v.rule, v.path, v.span) for v in failure.value.violations] == [
        ("ref.unknown", "models[0].providers[0].id", None)
    ]
