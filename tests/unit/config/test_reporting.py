"""Reports of many faults, of layers with one name, and of warnings that nobody has asked for yet."""

import gc
import json
from functools import partial
from typing import Any

import pytest

from iop_edge.config.excerpt import REACH
from iop_edge.config.pipeline import check_sources, load_sources
from iop_edge.config.source import Limits, Source
from iop_edge.errors import MAX_LISTED, Report
from iop_edge.schema.values import REDACTED
from tests.support import calls_of
from tests.unit.config.loading import BASE, World


def _fleet(nodes: int, address: str = "127.0.0.1") -> dict[str, Any]:
    return {
        "edge": {"id": "e"},
        "nodes": [{"id": f"n{place}", "address": f"{address}:{place + 1}"} for place in range(nodes)],
    }


def _source(text: str, name: str = "edge.yaml", *, private: bool = False) -> Source:
    return Source(name, text.encode(), private=private)


@pytest.mark.contract("CFG-04")
def test_faults_beyond_those_listed_are_counted() -> None:
    config = _fleet(2 * MAX_LISTED)
    for node in config["nodes"]:
        node["runtime"] = {"concurrency": -1}
    report = check_sources([_source(json.dumps(config))], World())
    assert report.total == 2 * MAX_LISTED
    assert len(report.violations) == len(report.excerpts) == MAX_LISTED


@pytest.mark.contract("CFG-04")
def test_of_a_line_with_a_whole_config_only_what_is_near_is_shown() -> None:
    report = check_sources([_source(json.dumps(_fleet(300, "10.0.0.1")))], World())
    assert len(report.warnings) == len(report.excerpts) == 300
    for warning in report.warnings:
        assert warning.span is not None
        excerpt = report.excerpts[warning.span]
        assert excerpt.text[excerpt.caret :].startswith(
            f'"10.0.0.1:{int(warning.path.split("[")[1].split("]")[0]) + 1}"'
        )
        assert len(excerpt.text) <= 2 * REACH + 2 * len("...") + 4 * len(REDACTED)


@pytest.mark.contract("CFG-04")
def test_thousands_of_bad_keys_of_one_map_are_placed_each() -> None:
    headers = {f"X {place}": "${env:A}" for place in range(2 * MAX_LISTED)}
    adapter = {"name": "a", "type": "ollama", "base_url": "http://a", "headers": headers}
    config = {"edge": {"id": "e"}, "nodes": [{"id": "n", "address": "127.0.0.1:1", "adapters": [adapter]}]}
    report = check_sources([_source(json.dumps(config, indent=1))], None)
    assert report.total == 2 * MAX_LISTED
    lines = [violation.span.line for violation in report.violations if violation.span]
    assert lines == list(range(lines[0], lines[0] + MAX_LISTED))


@pytest.mark.contract("CFG-08")
def test_layers_with_one_name_do_not_show_each_others_lines() -> None:
    tracked = "edge: {id: e}\nnodes:\n  - {id: n, address: '127.0.0.1:1', nope: 1}\n"
    private = "edge: {id: e}\nnodes:\n  - {id: n, token: hush, x: '127', nope: 1}\nmodels: 7\n"
    report = check_sources([_source(tracked), _source(private, private=True)], World())
    unknown = [item for item in report.violations if item.rule == "field.unknown"]
    assert [item.span.column for item in unknown if item.span] == [37, 26, 36]
    shown = {str(span): excerpt.text for span, excerpt in report.excerpts.items()}
    assert shown["edge.yaml:3:37"].startswith("  - {id: n, address: '127.0.0.1:1', nope:")
    assert "hush" not in "".join(shown.values())
    assert shown["edge.yaml:4:9"] == f"models: {REDACTED}"


@pytest.mark.contract("CFG-08")
def test_place_that_two_layers_with_one_name_have_is_shown_for_none() -> None:
    sources = [_source("edge: {id: e}\nnope: 1\n"), _source("edge: {id: e}\nnope: 2\n", private=True)]
    report = check_sources(sources, World())
    assert len(report.violations) == 2
    assert dict(report.excerpts) == {}


@pytest.mark.contract("CFG-10")
def test_limits_hold_while_a_report_is_made() -> None:
    text = "edge: {id: e}\nmodels: [[nope]]\n"
    report = check_sources([_source(text)], World(), Limits(max_depth=2))
    assert [(item.rule, str(item.span)) for item in report.violations] == [
        ("field.type", "edge.yaml:2:10"),
        ("yaml.depth", "edge.yaml:2:10"),
    ]
    assert [excerpt.text for excerpt in report.excerpts.values()] == ["models:"]


@pytest.mark.contract("CFG-10")
def test_one_file_more_than_the_limit_is_an_error_whatever_is_in_them() -> None:
    sources = [_source(BASE), _source("nope: [", "b.yaml"), _source("edge: {id: z}", "c.yaml")]
    report = check_sources(sources, World(), Limits(max_layers=2))
    assert [(item.rule, str(item.span)) for item in report.violations] == [("layer.limit", "c.yaml")]
    assert check_sources(sources[:1], World(), Limits(max_layers=1)).ok


@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize(
    ("rule", "item"),
    [
        ("field.required", "{{id: n{0}}}"),
        ("id.duplicate", "{{id: n{0}, address: '127.0.0.1:1'}}"),
        ("field.unknown", "{{id: n{0}, address: '127.0.0.1:1{0}', nope: 1}}"),
        ("value.address", "{{id: n{0}, address: '127.0.0.1:x{0}'}}"),
        ("node.plain_text", "{{id: n{0}, address: 'h.example:1{0}'}}"),
    ],
)
def test_cost_of_a_report_grows_with_the_layers_and_no_faster(rule: str, item: str) -> None:
    def report_of(layers: int) -> Report:
        sources = [_source("edge: {id: e}", "first.yaml")]
        sources += [_source(f"nodes: [{item.format(number)}]", f"{number}.yaml") for number in range(layers)]
        return check_sources(sources, World())

    report = report_of(2)
    assert rule in {found.rule for found in (*report.violations, *report.warnings)}
    few, many = calls_of(partial(report_of, 60)), calls_of(partial(report_of, 240))
    assert many < 5 * few


@pytest.mark.contract("VAL-11")
def test_warnings_are_those_of_a_check_whenever_they_are_asked_for() -> None:
    tracked = BASE.replace("127.0.0.1:7501", "10.0.0.1:7501")
    sources = [_source(tracked), _source("nodes: [{id: n, alias: A}, {id: o, address: '10.0.0.2:1'}]", "private.yaml")]
    snapshot = load_sources(sources, World())
    expected = check_sources(sources, World()).warnings
    assert [(item.rule, item.path, str(item.span)) for item in expected] == [
        ("node.plain_text", "nodes[0].address", "edge.yaml:4:14"),
        ("node.plain_text", "nodes[1].address", "private.yaml:1:45"),
    ]
    assert snapshot.warnings == expected
    assert snapshot.warnings is snapshot.warnings


@pytest.mark.parametrize("text", [BASE, "nope"], ids=["loads", "fails"])
def test_a_load_leaves_the_garbage_collector_of_the_process_alone(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("enable", "disable", "freeze", "set_threshold"):
        monkeypatch.setattr(gc, name, lambda *_: pytest.fail("a library does not decide that"))
    assert check_sources([_source(text)], World()).ok is (text == BASE)
