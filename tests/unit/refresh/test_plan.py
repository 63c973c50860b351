"""Plans: what differs, under which path, and with which values shown."""

import copy
import json
from typing import Any

import pytest

from iop_edge.config.marks import UNRESOLVED, Sourced
from iop_edge.documents import document
from iop_edge.refresh.plan import Plan, plan
from iop_edge.refresh.result import Change, ChangeKind, Mask, Mode, Status
from iop_edge.schema.table import RefreshClass
from iop_edge.schema.values import Tree
from tests import trees
from tests.trees import adapter, edge, full_tree, items, model, node, normal, provider

ADDED, REMOVED, MODIFIED = ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.MODIFIED
LIVE, RESTART = RefreshClass.LIVE, RefreshClass.RESTART


def plan_of(running: Tree, candidate: Tree) -> Plan:
    return plan(trees.snapshot(running), trees.snapshot(candidate))


def seen(outcome: Plan) -> list[tuple[str, str, Any, Any]]:
    return [(change.path, str(change.kind), change.before, change.after) for change in outcome.changes]


def paths(outcome: Plan) -> list[tuple[str, str]]:
    return [(change.path, str(change.kind)) for change in outcome.changes]


@pytest.mark.case("R1")
@pytest.mark.contract("REF-09")
def test_an_equal_config_has_no_change_and_would_be_applied() -> None:
    outcome = plan_of(full_tree(), full_tree())

    assert outcome == Plan((), (), (), (), ())
    assert outcome.status is Status.APPLIED


@pytest.mark.contract("REF-01")
def test_a_changed_field_has_the_path_of_identities_and_both_values() -> None:
    outcome = plan_of(edge(node("gpu-a", provider("a-qwen"))), edge(node("gpu-a", provider("a-qwen", capacity=4))))

    assert outcome.changes == (Change("nodes[gpu-a].providers[a-qwen].capacity", MODIFIED, 1, 4, LIVE),)
    assert outcome.masks == (Mask("nodes[gpu-a].providers[a-qwen]", live=("capacity",)),)
    assert (outcome.changed_nodes, outcome.changed_providers) == (("gpu-a",), ("a-qwen",))


@pytest.mark.contract("REF-01")
@pytest.mark.parametrize(
    ("identity", "shown"),
    [
        ("Qwen/Qwen3-Coder:30b", "Qwen/Qwen3-Coder:30b"),
        ("a@b+c-d_e.f", "a@b+c-d_e.f"),
        ("seoul,1", '"seoul,1"'),
        ('a"b]', '"a\\"b]"'),
        ("서울", '"서울"'),
    ],
)
def test_an_identity_is_quoted_where_it_could_be_mistaken(identity: str, shown: str) -> None:
    outcome = plan_of(edge(node(identity)), edge(node(identity, alias="x")))

    assert paths(outcome) == [(f"nodes[{shown}].alias", "modified")]


@pytest.mark.contract("REF-01")
def test_an_added_item_is_one_change_with_the_item_and_its_parent_has_the_mask() -> None:
    outcome = plan_of(edge(node("n")), edge(node("n", provider("p"))))

    assert outcome.changes == (Change("nodes[n].providers[p]", ADDED, None, provider("p"), RESTART),)
    assert outcome.masks == (Mask("nodes[n]", restart=("providers",)),)


@pytest.mark.case("R5")
@pytest.mark.contract("REF-01")
@pytest.mark.parametrize(
    ("running", "candidate", "path"),
    [
        (edge(node("n")), edge(), "nodes[n]"),
        (edge(node("n", provider("p"))), edge(node("n")), "nodes[n].providers[p]"),
        (edge(models=[model("m", "p")]), edge(), "models[m]"),
        (
            edge(models=[model("m", usage_attribution={"k": "v"})]),
            edge(models=[model("m")]),
            "models[m].usage_attribution[k]",
        ),
    ],
    ids=["node", "provider", "model", "map-key"],
)
def test_removing_the_last_item_is_a_removal(running: Tree, candidate: Tree, path: str) -> None:
    outcome = plan_of(running, candidate)

    assert paths(outcome) == [(path, "removed")]
    assert outcome.changes[0].after is None
    assert outcome.changes[0].before is not None


@pytest.mark.case("R5")
def test_removing_the_last_entry_of_a_plain_list_shows_an_empty_list() -> None:
    running = edge(node("n", provider("p", lifecycle_capabilities=["load"])))

    assert seen(plan_of(running, edge(node("n", provider("p"))))) == [
        ("nodes[n].providers[p].lifecycle_capabilities", "modified", ["load"], [])
    ]


@pytest.mark.case("R3")
@pytest.mark.contract("REF-01")
def test_reordering_every_list_with_identities_is_no_change() -> None:
    running = edge(
        node("a", provider("a1"), provider("a2"), adapters=[adapter("x"), adapter("y")]),
        node("b", provider("b1"), provider("b2")),
        models=[model("m", "a1", "b1"), model("n", "a2", "b2")],
    )
    candidate = copy.deepcopy(running)
    for _, value in items(candidate):
        value.reverse()

    assert plan_of(running, candidate).changes == ()


@pytest.mark.case("R2")
@pytest.mark.contract("REF-01")
def test_reordering_a_plain_list_while_a_live_field_changes_reports_both() -> None:
    running = edge(node("n", provider("p", models=["a", "b"])))
    candidate = edge(node("n", provider("p", models=["b", "a"], capacity=2)))
    outcome = plan_of(running, candidate)

    assert seen(outcome) == [
        ("nodes[n].providers[p].capacity", "modified", 1, 2),
        ("nodes[n].providers[p].models", "modified", ["a", "b"], ["b", "a"]),
    ]
    assert outcome.masks == (Mask("nodes[n].providers[p]", live=("capacity",), restart=("models",)),)


@pytest.mark.case("R4")
@pytest.mark.contract("REF-01")
def test_editing_an_item_while_references_to_it_are_reordered_reports_the_edit() -> None:
    running = edge(node("n", provider("p"), provider("q")), models=[model("m", "p", "q")])
    candidate = edge(
        node("n", provider("q"), provider("p", priority=3)), models=[model("m", "q", "p", display_name="M")]
    )

    assert paths(plan_of(running, candidate)) == [
        ("models[m].display_name", "modified"),
        ("nodes[n].providers[p].priority", "modified"),
    ]


@pytest.mark.case("A1")
@pytest.mark.contract("REF-01")
def test_editing_all_of_an_item_but_its_identity_never_removes_it() -> None:
    running = edge(node("n", provider("p"), address="a:1"))
    candidate = edge(node("n", provider("p", models=["x"], capacity=9, category="api"), address="b:2", alias="N"))

    assert {kind for _, kind in paths(plan_of(running, candidate))} == {"modified"}


@pytest.mark.case("R9")
@pytest.mark.contract("REF-01")
def test_a_rename_is_a_removal_and_an_addition_however_alike_the_items_are() -> None:
    outcome = plan_of(edge(models=[model("old", "p")]), edge(models=[model("new", "p")]))

    assert paths(outcome) == [("models[new]", "added"), ("models[old]", "removed")]
    assert outcome.changed_models == ("new", "old")


@pytest.mark.contract("REF-01")
def test_an_item_that_moves_to_another_parent_is_removed_and_added() -> None:
    outcome = plan_of(edge(node("a", provider("p")), node("b")), edge(node("a"), node("b", provider("p"))))

    assert paths(outcome) == [("nodes[a].providers[p]", "removed"), ("nodes[b].providers[p]", "added")]
    assert (outcome.changed_nodes, outcome.changed_providers) == (("a", "b"), ("p",))


@pytest.mark.contract("REF-06")
@pytest.mark.parametrize("kind", ["added", "removed"])
def test_providers_that_come_or_go_with_their_node_are_among_the_changed(kind: str) -> None:
    small = edge(node("b", provider("r")))
    large = edge(node("a", provider("p"), provider("q")), node("b", provider("r")))
    outcome = plan_of(small, large) if kind == "added" else plan_of(large, small)

    assert paths(outcome) == [("nodes[a]", kind)]
    assert (outcome.changed_nodes, outcome.changed_providers) == (("a",), ("p", "q"))


@pytest.mark.case("R8")
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("required", None, False),
        ("required", False, None),
        ("required", None, True),
        ("required", True, False),
        ("scheme", None, ""),
        ("scheme", "", None),
    ],
)
def test_a_value_that_is_set_differs_from_one_that_is_not(name: str, before: object, after: object) -> None:
    def config(value: object) -> Tree:
        auth = normal("ProviderAuth", **({} if value is None else {name: value}))
        return edge(openai=normal("OpenAI", provider_auth=auth))

    assert seen(plan_of(config(before), config(after))) == [(f"openai.provider_auth.{name}", "modified", before, after)]


@pytest.mark.case("R8")
def test_a_queue_of_zero_differs_from_no_bound_and_is_live() -> None:
    (change,) = plan_of(edge(node("n", provider("p"))), edge(node("n", provider("p", max_queue=0)))).changes

    assert change == Change("nodes[n].providers[p].max_queue", MODIFIED, None, 0, LIVE)


@pytest.mark.contract("REF-01")
def test_a_map_differs_by_its_keys() -> None:
    running = edge(models=[model("m", usage_attribution={"group": "a", "old key": "b", "same": "c"})])
    candidate = edge(models=[model("m", usage_attribution={"same": "c", "group": "x", "team": "d"})])

    assert seen(plan_of(running, candidate)) == [
        ('models[m].usage_attribution["old key"]', "removed", "b", None),
        ("models[m].usage_attribution[group]", "modified", "a", "x"),
        ("models[m].usage_attribution[team]", "added", None, "d"),
    ]


def headers(**values: Any) -> Tree:
    named = {name.replace("_", "-"): value for name, value in values.items()}
    return edge(node("n", adapters=[adapter("main", headers=named)]))


@pytest.mark.case("Y6")
def test_names_of_headers_that_differ_in_case_only_are_the_same() -> None:
    running, candidate = headers(X_Tenant="a"), headers(x_tenant="a")

    assert plan_of(running, candidate).changes == ()
    assert trees.snapshot(running).digest(b"key") == trees.snapshot(candidate).digest(b"key")
    assert paths(plan_of(running, headers(x_tenant="b"))) == [("nodes[n].adapters[main].headers[X-Tenant]", "modified")]


@pytest.mark.case("R6")
@pytest.mark.contract("CFG-08")
def test_a_changed_secret_has_a_path_and_no_value() -> None:
    running = edge(node("n", token="s3cr3t-1", adapters=[adapter("main", headers={"Authorization": "s3cr3t-2"})]))
    candidate = edge(node("n", token="s3cr3t-3", adapters=[adapter("main", headers={"Authorization": "s3cr3t-4"})]))

    assert seen(plan_of(running, candidate)) == [
        ("nodes[n].adapters[main].headers[Authorization]", "modified", None, None),
        ("nodes[n].token", "modified", None, None),
    ]


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(("before", "after"), [(None, "s3cr3t"), ("s3cr3t", None)])
def test_a_secret_that_is_set_or_unset_is_modified_without_a_value(before: str | None, after: str | None) -> None:
    def config(token: str | None) -> Tree:
        return edge(node("n", **({} if token is None else {"token": token})))

    assert seen(plan_of(config(before), config(after))) == [("nodes[n].token", "modified", None, None)]


@pytest.mark.contract("CFG-08")
def test_a_secret_header_that_comes_is_redacted_and_a_harmless_one_is_shown() -> None:
    assert seen(
        plan_of(edge(node("n", adapters=[adapter("main")])), headers(Authorization="s3cr3t", X_Tenant="t"))
    ) == [
        ("nodes[n].adapters[main].headers[Authorization]", "added", None, "<redacted>"),
        ("nodes[n].adapters[main].headers[X-Tenant]", "added", None, "t"),
    ]


@pytest.mark.contract("CFG-08")
def test_a_harmless_header_that_changes_shows_both_values() -> None:
    assert seen(plan_of(headers(X_Tenant="a"), headers(X_Tenant="b"))) == [
        ("nodes[n].adapters[main].headers[X-Tenant]", "modified", "a", "b")
    ]


@pytest.mark.contract("CFG-08")
def test_a_url_that_carries_a_key_is_not_shown() -> None:
    def config(url: str) -> Tree:
        return edge(node("n", adapters=[adapter("main", base_url=url)]))

    outcome = plan_of(config("http://h.test/v1"), config("http://user:s3cr3t@h.test/v1"))

    assert seen(outcome) == [("nodes[n].adapters[main].base_url", "modified", "http://h.test/v1", None)]


@pytest.mark.contract("CFG-08")
def test_an_added_item_is_shown_without_the_secrets_in_it() -> None:
    added = node("n", token="s3cr3t", adapters=[adapter("main", headers={"X-Api-Key": "s3cr3t", "X-Tenant": "t"})])
    (change,) = plan_of(edge(), edge(added)).changes

    assert change.after["token"] == "<redacted>"
    assert change.after["adapters"][0]["headers"] == {"X-Api-Key": "<redacted>", "X-Tenant": "t"}
    assert "s3cr3t" not in json.dumps(document(plan_of(edge(), edge(added)).result(Mode.DRY_RUN)))


@pytest.mark.case("R13")
@pytest.mark.contract("CFG-08")
def test_a_change_behind_an_unchanged_reference_is_a_change_shown_by_the_reference() -> None:
    running = edge(node("n", token=Sourced("${file:token}", "s3cr3t-1")))
    candidate = edge(node("n", token=Sourced("${file:token}", "s3cr3t-2")))

    assert seen(plan_of(running, candidate)) == [("nodes[n].token", "modified", "${file:token}", "${file:token}")]
    assert trees.snapshot(running).digest(b"key") != trees.snapshot(candidate).digest(b"key")


@pytest.mark.contract("CFG-08")
def test_a_reference_with_a_secret_in_it_is_no_more_shown_than_the_secret() -> None:
    running = edge(node("n", token="s3cr3t-1"))
    candidate = edge(node("n", token=Sourced("${env:TOKEN:-s3cr3t-2}", "s3cr3t-2")))

    assert seen(plan_of(running, candidate)) == [("nodes[n].token", "modified", None, None)]


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Sourced("${env:A}", "same"), Sourced("${env:B}", "same")),
        (Sourced("${env:A}", "same"), "same"),
        ("same", Sourced("${env:B}", "same")),
        (Sourced("${env:A}", UNRESOLVED), Sourced("${env:A}", UNRESOLVED)),
    ],
)
def test_equal_values_are_no_change_however_they_were_written(before: object, after: object) -> None:
    assert plan_of(edge(node("n", alias=before)), edge(node("n", alias=after))).changes == ()


@pytest.mark.case("R7")
@pytest.mark.contract("REF-07")
@pytest.mark.parametrize(
    ("candidate", "status"),
    [
        (edge(node("n", provider("p"))), Status.APPLIED),
        (edge(node("n", provider("p", capacity=2))), Status.APPLIED),
        (edge(node("n", provider("p", capacity=2, models=["x"]))), Status.RESTART_REQUIRED),
        (edge(node("n", provider("p"), alias="x")), Status.RESTART_REQUIRED),
    ],
    ids=["no-change", "live", "live-and-restart", "restart"],
)
def test_the_status_follows_from_the_changes(candidate: Tree, status: Status) -> None:
    outcome = plan_of(edge(node("n", provider("p"))), candidate)

    assert outcome.status is status
    assert (outcome.status is Status.RESTART_REQUIRED) == bool(outcome.restart)
    assert sorted(map(repr, outcome.live + outcome.restart)) == sorted(map(repr, outcome.changes))


@pytest.mark.contract("REF-06")
def test_changes_are_sorted_and_do_not_depend_on_the_order_of_the_files() -> None:
    nodes = [node("b", provider("z"), provider("y")), node("a", provider("x"))]
    changed = [node("a", provider("x", capacity=2)), node("b", provider("y", capacity=2), provider("z", capacity=2))]
    outcomes = [plan_of(edge(*nodes), edge(*changed)), plan_of(edge(*nodes[::-1]), edge(*changed[::-1]))]

    assert outcomes[0] == outcomes[1]
    assert [path for path, _ in paths(outcomes[0])] == sorted(path for path, _ in paths(outcomes[0]))


@pytest.mark.contract("REF-01")
def test_each_message_with_a_change_has_a_mask_of_its_own() -> None:
    running = edge(node("n", provider("p")), models=[model("m")])
    candidate = edge(
        node("n", provider("p", priority=1, capacity=2, context_size=9), alias="N"),
        models=[model("m", usage_attribution={"a": "1", "b": "2"})],
        long_context_threshold_tokens=5,
    )
    candidate["nodes"][0]["providers"][0]["health"]["mode"] = "active"

    assert plan_of(running, candidate).masks == (
        Mask("", live=("long_context_threshold_tokens",)),
        Mask("models[m]", live=("usage_attribution",)),
        Mask("nodes[n]", restart=("alias",)),
        Mask("nodes[n].providers[p]", live=("capacity", "priority"), restart=("context_size",)),
        Mask("nodes[n].providers[p].health", restart=("mode",)),
    )


@pytest.mark.contract("REF-01")
def test_one_capacity_in_a_thousand_nodes_is_the_only_change() -> None:
    def fleet() -> list[Tree]:
        return [node(f"n{n}", *(provider(f"n{n}-p{p}") for p in range(10))) for n in range(1000)]

    changed = fleet()
    changed[617]["providers"][4]["capacity"] = 7

    assert seen(plan_of(edge(*fleet()), edge(*changed))) == [
        ("nodes[n617].providers[n617-p4].capacity", "modified", 1, 7)
    ]


@pytest.mark.contract("REF-01")
def test_a_node_that_leaves_the_front_of_the_list_is_the_only_change() -> None:
    nodes = [node(f"n{n}", provider(f"p{n}")) for n in range(50)]

    assert paths(plan_of(edge(*nodes), edge(*nodes[1:]))) == [("nodes[n0]", "removed")]
