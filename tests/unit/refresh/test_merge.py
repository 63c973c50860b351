"""The merge by field mask, and the live part of a candidate that is made by it."""

import copy

import pytest

from iop_edge.config.marks import Sourced
from iop_edge.config.pipeline import snapshot_of
from iop_edge.refresh.diff import merge
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import Status
from iop_edge.schema.values import Tree
from tests import trees
from tests.trees import adapter, edge, model, node, provider


def mix(running: Tree, candidate: Tree) -> Tree:
    before, after = trees.snapshot(running), trees.snapshot(candidate)
    return merge(before.tree, after.tree, plan(before, after).live_masks)


@pytest.mark.contract("REF-07")
def test_live_changes_are_taken_and_the_others_left() -> None:
    running = edge(node("n", provider("p")), models=[model("m", "p")])
    candidate = edge(
        node("n", provider("p", capacity=4, models=["x"]), alias="N", address="elsewhere:1"),
        models=[model("m", "p", display_name="M")],
    )

    assert mix(running, candidate) == edge(
        node("n", provider("p", capacity=4)), models=[model("m", "p", display_name="M")]
    )


@pytest.mark.contract("REF-07")
def test_items_that_come_or_go_are_taken_where_their_list_is_live() -> None:
    running = edge(node("n", provider("p"), provider("q")), models=[model("old", "p"), model("kept", "p", "q")])
    candidate = edge(node("n", provider("p"), provider("r")), models=[model("kept", "p"), model("new", "p")])

    assert mix(running, candidate) == edge(
        node("n", provider("p"), provider("q")), models=[model("kept", "p"), model("new", "p")]
    )


@pytest.mark.contract("REF-07")
def test_the_last_live_item_can_go_and_leaves_no_empty_list() -> None:
    assert mix(edge(models=[model("m")]), edge(logging={"level": "debug"})) == edge()


@pytest.mark.contract("REF-07")
def test_values_can_be_unset_live() -> None:
    running = edge(node("n", provider("p", max_queue=3)), models=[model("m", "p", usage_attribution={"a": "1"})])
    candidate = edge(node("n", provider("p")), models=[model("m", "p")])

    assert mix(running, candidate) == candidate


@pytest.mark.contract("REF-07")
def test_a_secret_of_what_runs_stays_until_the_restart() -> None:
    running = edge(node("n", provider("p"), token="old", adapters=[adapter("main", headers={"Authorization": "old"})]))
    candidate = edge(
        node("n", provider("p", priority=2), token="new", adapters=[adapter("main", headers={"Authorization": "new"})])
    )

    (mixed,) = mix(running, candidate)["nodes"]

    assert mixed == {**running["nodes"][0], "providers": [provider("p", priority=2)]}


@pytest.mark.contract("REF-07")
def test_a_live_value_from_a_reference_still_knows_its_reference() -> None:
    running = edge(models=[model("m")])
    candidate = edge(models=[model("m", display_name=Sourced("${env:NAME}", "M"))])

    mixed = snapshot_of(mix(running, candidate), trees.snapshot(running), trees.snapshot(candidate))

    assert {str(path): found.text for path, found in mixed.references.items()} == {
        "models[m].display_name": "${env:NAME}"
    }


@pytest.mark.contract("REF-07")
def test_mixing_changes_neither_config() -> None:
    running, candidate = edge(node("n", provider("p"))), edge(node("n", provider("p", capacity=4)), models=[model("m")])
    before = copy.deepcopy((running, candidate))

    mix(running, candidate)

    assert (running, candidate) == before


@pytest.mark.case("R15")
@pytest.mark.contract("REF-07")
def test_after_the_live_part_is_applied_only_the_rest_is_left() -> None:
    running = edge(node("n", provider("p"), provider("q")))
    candidate = edge(node("n", provider("p", capacity=4), provider("q", context_size=9)))
    mixed = trees.snapshot(mix(running, candidate))

    rest = plan(mixed, trees.snapshot(candidate))

    assert [change.path for change in rest.changes] == ["nodes[n].providers[q].context_size"]
    assert rest.status is Status.RESTART_REQUIRED
    assert rest.changed_providers == ("q",)
