"""A provider that cannot work is refused with its reason before anything starts, and not found out by its callers."""

from pathlib import Path

import pytest

from tests.unit.cli.invoke import invoke
from tests.unit.config.loading import BASE

_PROVIDER = "{id: p, type: ollama, category: local_inference, adapter: a, models: [m]}"
_PATH = "nodes[0].providers[0]"

INVALID = [
    pytest.param(
        "{id: p, type: ollama, category: local_inference, models: [m]}", "adapter", "field.required", id="alone"
    ),
    pytest.param(_PROVIDER.replace("adapter: a", "adapter: b"), "adapter", "ref.unknown", id="unknown adapter"),
    pytest.param(_PROVIDER.replace("type: ollama", "type: vllm"), "type", "ref.type", id="type of another adapter"),
    pytest.param(_PROVIDER.replace("type: ollama", "type: olama"), "type", "value.enum", id="unknown type"),
    pytest.param(_PROVIDER.replace("local_inference", "cloud"), "category", "value.enum", id="unknown category"),
    pytest.param(_PROVIDER.replace("category: local_inference, ", ""), "category", "field.required", id="no category"),
    pytest.param(_PROVIDER.replace("[m]", "[]"), "models", "value.min_items", id="no models"),
    pytest.param(_PROVIDER.replace("[m]", "m"), "models", "field.type", id="models are no list"),
    pytest.param(_PROVIDER.replace("[m]", "[m, {}]"), "models[1]", "field.type", id="model is a mapping"),
    pytest.param(_PROVIDER.replace("}", ", capacity: 0}"), "capacity", "value.gte", id="no capacity"),
    pytest.param(_PROVIDER.replace("}", ", capacity: many}"), "capacity", "field.type", id="capacity is no number"),
    pytest.param(_PROVIDER.replace("id: p", "id: 'p q'"), "id", "value.identifier", id="id with a space"),
    pytest.param("just-a-name", "", "field.type", id="no mapping"),
]


@pytest.mark.case("A11")
@pytest.mark.contract("VAL-03")
@pytest.mark.parametrize("command", [["config", "check"], ["serve"]], ids=["check", "serve"])
@pytest.mark.parametrize(("provider", "field", "rule"), INVALID)
def test_invalid_provider_is_an_error_with_its_place_and_reason(
    tmp_path: Path, command: list[str], provider: str, field: str, rule: str
) -> None:
    file = tmp_path / "edge.yaml"
    assert BASE.count(_PROVIDER) == 1
    file.write_text(BASE.replace(_PROVIDER, provider))
    state = ["--state-dir", str(tmp_path / "state")] if command == ["serve"] else []
    ended = invoke(*command, str(file), *state)
    assert ended.code == 1
    told = ended.out + ended.err
    path = f"{_PATH}.{field}" if field else _PATH
    assert [
        line for line in told.splitlines() if line.startswith(f"{file}:8:") and f" {path}: " in line and rule in line
    ]
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == [file]
