"""A snapshot: compared by meaning, hashed without giving secrets away, never showing them."""

import pytest

from iop_edge.config.snapshot import Snapshot
from tests.unit.config.loading import BASE, World, load

OVERLAY = "nodes: [{id: n, token: hush, adapters: [{name: a, headers: {Authorization: hush, X-Tenant: t}}]}]"


def secret(token: str = "hush", tenant: str = "t") -> Snapshot:
    return load(
        BASE, private=(OVERLAY.replace("token: hush", f"token: {token}").replace("X-Tenant: t", f"X-Tenant: {tenant}"),)
    )


@pytest.mark.contract("REF-01")
@pytest.mark.case("R3")
def test_order_of_things_with_an_identity_does_not_change_the_hash() -> None:
    second = '  - {id: n2, address: "127.0.0.1:2"}\n'
    before = BASE.replace("nodes:\n", "nodes:\n" + second, 1)
    after = BASE.replace("models:\n", second + "models:\n", 1)
    assert load(before).digest(b"k") == load(after).digest(b"k")


@pytest.mark.contract("REF-01")
def test_order_of_a_plain_list_does() -> None:
    one, two = (load(BASE.replace("models: [m]", f"models: [{models}]")) for models in ("m, k", "k, m"))
    assert one.digest(b"k") != two.digest(b"k")


@pytest.mark.contract("CFG-08")
def test_every_value_changes_the_hash_and_secrets_do_by_the_key() -> None:
    hashes = [
        secret().digest(b"k"),
        secret(token="hash").digest(b"k"),
        secret(tenant="u").digest(b"k"),
        secret().digest(b"other"),
        load(BASE).digest(b"k"),
    ]
    assert len(set(hashes)) == len(hashes)


def test_key_matters_only_where_there_are_secrets() -> None:
    assert load(BASE).digest(b"k") == load(BASE).digest(b"other")


@pytest.mark.contract("REF-09")
@pytest.mark.case("R13")
def test_hash_goes_by_what_references_resolve_to() -> None:
    text = BASE.replace("- id: n\n", "- id: n\n    alias: ${env:A}\n", 1)
    first, second = (load(text, world=World({"A": value})) for value in ("one", "two"))
    written = load(text.replace("${env:A}", "one"))
    assert first.digest(b"k") == written.digest(b"k") != second.digest(b"k")
    assert first == written != second


@pytest.mark.contract("CFG-08")
def test_snapshot_shows_its_size_and_no_secret() -> None:
    assert repr(secret()) == "Snapshot(edge='e', nodes=1, models=1)"


def test_snapshot_is_no_key_and_equals_only_snapshots() -> None:
    with pytest.raises(TypeError):
        hash(load(BASE))
    assert load(BASE) != load(BASE).tree


def test_message_is_built_once() -> None:
    snapshot = load(BASE)
    assert snapshot.config is snapshot.config
    assert snapshot.config.nodes[0].providers[0].capacity == 1
