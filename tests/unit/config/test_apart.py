"""A loaded config holds plain values, and apart from them the references that they came from."""

from collections.abc import Iterator
from typing import Any

import pytest

from iop_edge.config.pipeline import load_sources
from iop_edge.config.snapshot import Snapshot
from tests.unit.config.loading import World, layers, load

TEXT = """
edge: {id: e}
models:
- {id: m, providers: [{id: p, target: "${env:TARGET}"}]}
nodes:
- id: n
  address: 127.0.0.1:7501
  token: ${env:TOKEN}
  providers:
  - id: p
    type: ${env:TYPE}
    category: api
    endpoint: ${env:URL}
    headers: {Authorization: "Bearer ${env:KEY}", X-Tenant: t}
    models: [other, "${env:TARGET}"]
    lifecycle_capabilities: [pull, "${env:FIRST}"]
    capacity: "${env:CAPACITY}"
"""
ENV = {
    "TARGET": "m",
    "TOKEN": "s3cr3t-token",
    "TYPE": "seulgivibe_openai",
    "URL": "http://127.0.0.1:8000",
    "KEY": "s3cr3t-key",
    "FIRST": "load",
    "CAPACITY": "4",
}


def online() -> Snapshot:
    return load(TEXT, world=World(ENV))


def offline() -> Snapshot:
    return load_sources(layers(TEXT), None)


def scalars(value: Any) -> Iterator[object]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from scalars(item)
    else:
        yield value


@pytest.mark.contract("CFG-06")
def test_a_reference_is_found_where_normalizing_has_moved_its_value() -> None:
    found = {str(path): reference.text for path, reference in online().references.items()}
    assert found == {
        "models[m].providers[p].target": "${env:TARGET}",
        "nodes[n].token": "${env:TOKEN}",
        "nodes[n].providers[p].type": "${env:TYPE}",
        "nodes[n].providers[p].models[1]": "${env:TARGET}",
        "nodes[n].providers[p].lifecycle_capabilities[0]": "${env:FIRST}",
        "nodes[n].providers[p].capacity": "${env:CAPACITY}",
        "nodes[n].adapters[p].type": "${env:TYPE}",
        "nodes[n].adapters[p].base_url": "${env:URL}",
        "nodes[n].adapters[p].headers[Authorization]": "Bearer ${env:KEY}",
    }


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize("make", [online, offline])
def test_a_tree_holds_values_alone(make: Any) -> None:
    snapshot = make()
    assert {type(value) for value in scalars(snapshot.tree)} <= {str, int, float, bool}
    assert snapshot.is_offline == (make is offline)
    assert snapshot == make()


@pytest.mark.contract("NRM-07", "CFG-08")
@pytest.mark.parametrize("make", [online, offline])
def test_what_is_shown_loads_again_with_the_same_references(make: Any) -> None:
    shown = make().dump()
    assert "s3cr3t" not in shown
    again = load(shown, world=World(ENV))
    assert again == online()
    assert dict(again.references) == dict(online().references)
