from bench.contenders import Secrets
from bench.fleet import fleet
from iop_edge.config.pipeline import load_sources
from iop_edge.config.source import Source


def test_equal_numbers_give_equal_text() -> None:
    assert fleet(3) == fleet(3)


def test_other_seed_gives_other_text() -> None:
    assert fleet(3, seed=1) != fleet(3, seed=2)


def test_fleet_is_a_valid_config_of_its_size() -> None:
    tree = load_sources([Source("edge.yaml", fleet(4, providers=10).encode())], Secrets()).tree
    assert [len(node["providers"]) for node in tree["nodes"]] == [10, 10, 10, 10]


def test_fleet_without_nodes_is_a_valid_config() -> None:
    assert load_sources([Source("edge.yaml", fleet(0).encode())], Secrets()).tree.get("nodes") is None
