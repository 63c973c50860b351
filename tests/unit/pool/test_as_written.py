"""What came from a reference is printed as that reference, and dispatched by its value (CFG-08)."""

import pytest

from iop_edge.config.pipeline import load_sources
from iop_edge.config.source import Source
from iop_edge.ids import NodeId
from iop_edge.payload import payload_tree
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.pool import ProviderPool
from iop_edge.pool.simulation import Load, simulate
from iop_edge.schema import table
from iop_edge.schema.messages import build
from tests.unit.config.loading import World

VALUE = "value-of-the-variable"
CONFIG = """
edge: {id: e}
nodes:
  - id: n
    address: 127.0.0.1:7400
    providers:
      - {id: p, type: vllm, category: local_inference, base_url: "http://h.test", models: ["${env:M}", plain]}
models:
  - {id: m, providers: [{id: p, target: "${env:M}"}]}
openai:
  model_routes: [{model: r, adapter: p, target: "${env:M}"}]
"""


SNAPSHOT = load_sources([Source("edge.yaml", CONFIG.encode())], World({"M": VALUE}))


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("model", ["m", "r"])
def test_the_explanation_of_a_dispatch_shows_the_reference(model: str) -> None:
    explanation = simulate(SNAPSHOT, Load(), model)

    assert [candidate.target for candidate in explanation.candidates] == ["${env:M}"]
    assert VALUE not in repr(explanation)


@pytest.mark.contract("CFG-08")
def test_the_status_of_a_provider_shows_the_reference() -> None:
    (status,) = ProviderPool(Catalogue.of(SNAPSHOT)).statuses()

    assert sorted(status.models) == ["${env:M}", "plain"]


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("model", ["m", "r"])
def test_a_lease_has_the_value_and_does_not_print_it(model: str) -> None:
    pool = ProviderPool(Catalogue.of(SNAPSHOT))
    pool.set_node_reachable(NodeId("n"), True)
    lease = pool.try_acquire(model)

    assert lease.target == VALUE
    assert VALUE not in repr(lease)


@pytest.mark.contract("CFG-08")
def test_neither_the_config_nor_a_payload_prints_the_value() -> None:
    payload = build(payload_tree(SNAPSHOT, "n"), table.message("NodeConfigPayload"))

    assert VALUE not in repr(payload)
    assert VALUE not in repr(SNAPSHOT.config)
