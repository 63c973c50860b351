"""References stand beside the values of a tree."""

import pickle
from typing import Any

import pytest

from iop_edge.config.marks import UNRESOLVED, Sourced
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT
from iop_edge.schema.values import Reference, References, inherited, rewritten
from tests.trees import adapter, apart, edge, model, node, provider, snapshot

TREE = edge(
    node(
        "n",
        provider("p", models=["m", Sourced("${env:M}", "x")], capacity=Sourced("${env:C}", 5)),
        token=Sourced("${file:token}", "s3cr3t", "/etc"),
        adapters=[adapter("main", headers={"X-Key": Sourced("Bearer ${env:K}", "Bearer s3cr3t")})],
    ),
    models=[model("m", "p")],
)
PLAIN, FOUND = apart(TREE, table.root())
REFERENCES = References(FOUND)
NODE = ROOT.child("nodes").key("n")


def test_references_are_found_by_path() -> None:
    assert {str(path): reference.text for path, reference in REFERENCES.items()} == {
        "nodes[n].adapters[main].headers[X-Key]": "Bearer ${env:K}",
        "nodes[n].providers[p].capacity": "${env:C}",
        "nodes[n].providers[p].models[1]": "${env:M}",
        "nodes[n].token": "${file:token}",
    }
    assert REFERENCES[NODE.child("token")] == Reference("${file:token}", "/etc")
    assert len(REFERENCES) == 4
    for path in (ROOT, NODE, NODE.child("alias"), NODE.child("token").child("x")):
        assert path not in REFERENCES


@pytest.mark.contract("CFG-08")
def test_a_reference_prints_without_what_may_be_a_secret() -> None:
    assert repr(Reference("${env:KEY}")) == "Reference(${env:KEY})"
    for text in ("${env:KEY:-s3cr3t}", "s3cr3t${env:KEY}", "${env:A}s3cr3t", "${env:A}${env:B}"):
        assert repr(Reference(text)) == "Reference(...)"
    assert "s3cr3t" not in repr(REFERENCES)


def test_a_tree_is_rewritten_where_it_has_references_and_nowhere_else() -> None:
    def sourced(_field: table.Field, value: Any, reference: Reference) -> Sourced:
        return Sourced(reference.text, value, reference.base_dir)

    again = rewritten(PLAIN, table.root(), FOUND, sourced)
    assert apart(again, table.root()) == (PLAIN, FOUND)
    assert again["models"] is PLAIN["models"]


def test_a_mix_has_the_reference_of_the_first_that_has_its_value() -> None:
    def with_alias(alias: Any, capacity: Any) -> Any:
        return apart(edge(node("n", provider("p", capacity=capacity), alias=alias)), table.root())

    one = with_alias(Sourced("${env:A}", "same"), Sourced("${env:B}", 1))
    other = with_alias(Sourced("${env:C}", "same"), Sourced("${env:D}", 2))
    mix, _ = with_alias("same", 2)
    found = References(inherited(mix, table.root(), [one, other]))
    assert {str(path): reference.text for path, reference in found.items()} == {
        "nodes[n].alias": "${env:A}",
        "nodes[n].providers[p].capacity": "${env:D}",
    }
    raw, _ = with_alias("same", 1)
    assert not References(inherited(raw, table.root(), [(raw, {}), one]))


def test_a_snapshot_with_unresolved_values_says_so_and_holds_their_references() -> None:
    offline = snapshot(edge(node("n", alias=Sourced("${env:A}", UNRESOLVED))))
    assert offline.is_offline
    assert offline.tree["nodes"][0]["alias"] == "${env:A}"
    assert not snapshot(TREE).is_offline


@pytest.mark.contract("CFG-08")
def test_a_snapshot_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="secrets"):
        pickle.dumps(snapshot(TREE))
