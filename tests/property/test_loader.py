"""What holds for every config that is loaded."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.config.pipeline import check_sources, load_sources, snapshot_of
from iop_edge.config.source import Source
from iop_edge.errors import ConfigError
from tests.property.configs import valid_config
from tests.support import EXAMPLES
from tests.unit.config.loading import World, layers, load


def written(config: dict[str, Any]) -> str:
    """The config as YAML, of which JSON is a part."""
    return json.dumps(config, ensure_ascii=False)


@pytest.mark.contract("NRM-07")
@given(valid_config())
def test_normalizing_is_idempotent(config: dict[str, Any]) -> None:
    snapshot = load(written(config))
    again = load(snapshot.dump())
    assert again == snapshot
    assert again.dump() == snapshot.dump()
    assert snapshot_of(dict(snapshot.tree)) == snapshot


@pytest.mark.contract("REF-01")
@given(valid_config(), st.randoms(use_true_random=False))
def test_hash_does_not_depend_on_the_order_of_identities_or_keys(config: dict[str, Any], random: Any) -> None:
    shuffled = dict(random.sample(sorted(deepcopy(config).items()), len(config)))
    for one in shuffled["nodes"]:
        random.shuffle(one["adapters"])
        random.shuffle(one["providers"])
    random.shuffle(shuffled["nodes"])
    assert load(written(shuffled)).digest(b"k") == load(written(config)).digest(b"k")


@pytest.mark.contract("NRM-03")
@pytest.mark.contract("REF-03")
@given(valid_config(), st.data())
def test_toggling_a_provider_changes_nothing_but_its_enabled(config: dict[str, Any], data: st.DataObject) -> None:
    places = [(n, p) for n, node in enumerate(config["nodes"]) for p in range(len(node["providers"]))]
    if not places:
        return
    n, p = data.draw(st.sampled_from(places))
    toggled = deepcopy(config)
    provider = toggled["nodes"][n]["providers"][p]
    provider["enabled"] = not provider.get("enabled", True)
    before, after = load(written(config)).tree, load(written(toggled)).tree
    changed: Any = deepcopy(before)
    changed["nodes"][n]["providers"][p]["enabled"] = provider["enabled"]
    assert after == changed


@pytest.mark.contract("CFG-05")
@given(valid_config(), st.data())
def test_config_split_over_layers_is_the_whole(config: dict[str, Any], data: st.DataObject) -> None:
    base = deepcopy(config)
    overlay: dict[str, Any] = {"nodes": []}
    for node in base["nodes"]:
        moved: dict[str, Any] = {"id": node["id"], "providers": []}
        for provider in node["providers"]:
            keys = [key for key in provider if key != "id"]
            taken = data.draw(st.lists(st.sampled_from(keys), unique=True))
            moved["providers"].append({"id": provider["id"]} | {key: provider.pop(key) for key in taken})
        overlay["nodes"].append(moved)
    assert load(written(base), private=(written(overlay),)) == load(written(config))


@pytest.mark.contract("CFG-10")
@given(st.data())
def test_damaged_file_gives_located_errors_and_never_a_traceback(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["edge.yaml", "edge.legacy.yaml", "edge.rejected.yaml"]))
    content = bytearray((EXAMPLES / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        piece = data.draw(
            st.sampled_from([b"", b"\n", b" ", b":", b"[", b"}", b"'", b"null", b"7", b"&a ", b"*a", b"\xff", b"${"])
        )
        content[place : place + data.draw(st.integers(0, 9))] = piece
    source = Source(name, bytes(content))
    report = check_sources([source], World())
    assert report == check_sources([source], World())
    lines = max(bytes(content).count(b"\n"), 1) + 1
    for violation in report.violations:
        assert violation.span is not None
        assert 0 <= violation.span.line <= lines + bytes(content).count(b"\r")
    assert report.total >= len(report.violations)
    assert report.ok or _error(source).total == report.total


def _error(source: Source) -> ConfigError:
    with pytest.raises(ConfigError) as failure:
        load_sources([source], World())
    return failure.value


@pytest.mark.contract("CFG-07")
@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=12).map("s3cr3t-".__add__))
def test_secret_of_an_overlay_is_in_nothing_that_is_shown(secret: str) -> None:
    overlay = written(
        {"nodes": [{"id": "n", "token": secret, "adapters": [{"name": "a", "headers": {"X-Key": secret}}]}]}
    )
    base = (
        '{"edge": {"id": "e"}, "nodes": [{"id": "n", "address": "h:1", "adapters": [{"name": "a", "type": "vllm"}]}]}'
    )
    report = check_sources(layers(base, private=(overlay,)), World())
    assert [violation.rule for violation in report.violations] == ["field.required"]
    assert secret not in repr(report)
    fixed = base.replace('"vllm"', '"vllm", "base_url": "http://h"')
    snapshot = load(fixed, private=(overlay,))
    assert secret not in f"{snapshot!r}{snapshot.dump()}{snapshot.config!r}"
