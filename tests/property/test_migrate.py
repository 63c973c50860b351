"""A migration changes how a file is written, and nothing of what it means."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from iop_edge.config.migrate import migrate
from iop_edge.config.pipeline import load_sources
from iop_edge.config.source import Source
from iop_edge.schema import table
from tests.property.configs import ALIASES, valid_config

LEGACY = sorted(table.message("Provider").legacy)
VALUES = st.sampled_from(["x", ["a", "b c"], {"K": "v", "L": ["w"]}, None, True, "a\nb\n"])


@st.composite
def old_config(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A valid config in spellings of old releases, and the same one with keys in it that were removed since."""
    config = draw(valid_config())
    for node in config["nodes"]:
        if draw(st.booleans()):
            node["adapters"] = _mapping_form(draw, node["adapters"])
        for provider in node["providers"]:
            if "base_url" in provider and draw(st.booleans()):
                provider["endpoint"] = provider.pop("base_url")
    burdened = _copy(config)
    for node in burdened["nodes"]:
        adapters = node["adapters"]
        mappings = [*node["providers"], *(adapters if isinstance(adapters, list) else [])]
        for mapping in mappings:
            mapping.update(draw(st.dictionaries(st.sampled_from(LEGACY), VALUES, max_size=2)))
            if draw(st.booleans()):
                items = draw(st.permutations(list(mapping.items())))
                mapping.clear()
                mapping.update(items)
    return config, burdened


def _mapping_form(draw: st.DrawFn, instances: list[dict[str, Any]]) -> dict[str, Any]:
    by_type: dict[str, list[dict[str, Any]]] = {}
    for instance in instances:
        by_type.setdefault(instance["type"], []).append({k: v for k, v in instance.items() if k != "type"})
    return {kind: items[0] if len(items) == 1 and draw(st.booleans()) else items for kind, items in by_type.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


@st.composite
def written(draw: st.DrawFn, config: dict[str, Any]) -> str:
    """A config as text, in some style."""
    return yaml.dump(
        config,
        default_flow_style=draw(st.sampled_from([None, True, False])),
        indent=draw(st.sampled_from([2, 4, 7])),
        width=draw(st.sampled_from([20, 80, 1000])),
        sort_keys=False,
        allow_unicode=True,
        Dumper=draw(st.sampled_from([yaml.SafeDumper, IndentedDumper])),
    )


class IndentedDumper(yaml.SafeDumper):
    """Indents lists below their keys."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - the base's form
        super().increase_indent(flow, False)


def source(text: str) -> Source:
    return Source("edge.yaml", text.encode())


@pytest.mark.contract("NRM-01", "NRM-02", "NRM-03")
@settings(max_examples=50, deadline=None)
@given(st.data())
def test_result_loads_to_the_same_config_without_old_spellings(data: st.DataObject) -> None:
    plain, burdened = data.draw(old_config())
    text = data.draw(written(burdened))
    migration = migrate(source(text))
    assert [violation.rule for violation in migration.lost if violation.rule != "field.legacy"] == []
    assert migration.report.ok
    expected = load_sources([source(yaml.safe_dump(plain, sort_keys=False))], None)
    assert load_sources([migration.source], None) == expected
    assert migrate(migration.source).source == migration.source
    nodes = yaml.safe_load(migration.source.data)["nodes"]
    assert all(isinstance(node["adapters"], list) for node in nodes)
    items = [item for node in nodes for item in (*node["adapters"], *node["providers"])]
    assert [item for item in items if "endpoint" in item or item["type"] in ALIASES or {*LEGACY} & {*item}] == []
