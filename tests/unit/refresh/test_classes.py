"""Every field of the schema: what its change costs, and what a refresh with that change alone would say.

The table is written down from the contract, not from the protos: a field that is in one of them only fails here.
"""

import copy
from typing import Final

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.refresh.plan import Plan, plan
from iop_edge.refresh.result import ChangeKind, Status
from iop_edge.schema import table
from iop_edge.schema.paths import schema_names
from tests.trees import full_tree, full_value, holder

LIVE: Final = [
    "long_context_threshold_tokens",
    "models[].id",
    "models[].display_name",
    "models[].context_window_tokens",
    "models[].default_max_tokens",
    "models[].min_max_tokens",
    "models[].default_thinking_token_budget",
    "models[].usage_attribution[]",
    "models[].providers[].id",
    "models[].providers[].target",
    "nodes[].runtime.concurrency",
    "nodes[].providers[].enabled",
    "nodes[].providers[].capacity",
    "nodes[].providers[].priority",
    "nodes[].providers[].max_queue",
    "nodes[].providers[].queue_timeout_ms",
]

RESTART: Final = [
    "edge.id",
    "edge.name",
    "listen.grpc",
    "listen.admin",
    "listen.tls.ca",
    "listen.tls.cert",
    "listen.tls.key",
    "listen.tls.server_name",
    "bootstrap.enabled",
    "bootstrap.listen",
    "bootstrap.artifact_dir",
    "logging.level",
    "logging.format",
    "metrics.enabled",
    "metrics.listen",
    "console.enabled",
    "console.listen",
    "control_plane.enabled",
    "control_plane.url",
    "openai.enabled",
    "openai.listen",
    "openai.model_routes[].model",
    "openai.model_routes[].adapter",
    "openai.model_routes[].target",
    "openai.principal_tokens[].token_ref",
    "openai.principal_tokens[].token_hash_sha256",
    "openai.principal_tokens[].principal_ref",
    "openai.principal_tokens[].principal_alias",
    "openai.provider_auth.enabled",
    "openai.provider_auth.from_header",
    "openai.provider_auth.target_header",
    "openai.provider_auth.scheme",
    "openai.provider_auth.required",
    "openai.provider_auth.providers[]",
    "a2a.enabled",
    "a2a.listen",
    "a2a.path",
    "nodes[].id",
    "nodes[].alias",
    "nodes[].agent_kind",
    "nodes[].address",
    "nodes[].token",
    "nodes[].tls.ca",
    "nodes[].tls.cert",
    "nodes[].tls.key",
    "nodes[].tls.server_name",
    "nodes[].adapters[].name",
    "nodes[].adapters[].type",
    "nodes[].adapters[].enabled",
    "nodes[].adapters[].provider",
    "nodes[].adapters[].protocol_profile",
    "nodes[].adapters[].base_url",
    "nodes[].adapters[].headers[]",
    "nodes[].adapters[].request_timeout_ms",
    "nodes[].adapters[].max_queue",
    "nodes[].adapters[].queue_timeout_ms",
    "nodes[].adapters[].profile",
    "nodes[].providers[].id",
    "nodes[].providers[].type",
    "nodes[].providers[].category",
    "nodes[].providers[].adapter",
    "nodes[].providers[].models[]",
    "nodes[].providers[].health.mode",
    "nodes[].providers[].health.path",
    "nodes[].providers[].health.interval_ms",
    "nodes[].providers[].health.timeout_ms",
    "nodes[].providers[].health.healthy_threshold",
    "nodes[].providers[].health.unhealthy_threshold",
    "nodes[].providers[].lifecycle_capabilities[]",
    "nodes[].providers[].context_size",
]

SHORTHANDS: Final = [
    "nodes[].providers[].provider",
    "nodes[].providers[].base_url",
    "nodes[].providers[].headers[]",
    "nodes[].providers[].request_timeout_ms",
]
"""Read from a file and turned into an adapter instance, so that a normalized config never holds them."""

CLASSES: Final = dict.fromkeys(LIVE, "live") | dict.fromkeys(RESTART + SHORTHANDS, "restart")
STATUSES: Final = {"live": Status.APPLIED, "restart": Status.RESTART_REQUIRED}
LEAVES: Final = {leaf.pattern: leaf for leaf in table.leaves()}


@pytest.mark.contract("REF-02")
@pytest.mark.contract("REF-03")
@pytest.mark.contract("REF-04")
def test_the_table_has_every_leaf_of_the_schema_once_and_no_other() -> None:
    assert sorted(LIVE + RESTART + SHORTHANDS) == sorted(LEAVES)


@pytest.mark.contract("REF-02")
def test_every_field_of_the_schema_declares_a_class_in_its_proto() -> None:
    assert [pattern for pattern, leaf in LEAVES.items() if leaf.field.refresh is None] == []


def plan_of_change(pattern: str) -> Plan:
    """The plan of changing one leaf of a tree in which all are set, and nothing else."""
    field = LEAVES[pattern].field
    running = full_tree()
    if field.shorthand_for:
        holder(running, pattern)[field.name] = full_value(field, "old")
    candidate = copy.deepcopy(running)
    holder(candidate, pattern)[field.name] = full_value(field, "new")
    return plan(Snapshot(running), Snapshot(candidate))


def names_an_item(pattern: str) -> bool:
    """Whether the leaf is what tells an item of a list from the others."""
    return LEAVES[pattern].field.identity and schema_names(pattern)[:-1] != ("edge",)


@pytest.mark.contract("REF-03")
@pytest.mark.contract("REF-04")
@pytest.mark.parametrize(("pattern", "refresh_class"), CLASSES.items())
def test_changing_one_leaf_costs_what_the_contract_says(pattern: str, refresh_class: str) -> None:
    outcome = plan_of_change(pattern)

    assert {change.refresh_class.value for change in outcome.changes} == {refresh_class}
    assert outcome.status is STATUSES[refresh_class]
    assert (outcome.live, outcome.restart) == (
        (outcome.changes, ()) if refresh_class == "live" else ((), outcome.changes)
    )


@pytest.mark.contract("REF-01")
@pytest.mark.parametrize("pattern", [pattern for pattern in CLASSES if not names_an_item(pattern)])
def test_changing_one_leaf_is_one_modification_at_its_path(pattern: str) -> None:
    (change,) = plan_of_change(pattern).changes

    assert change.kind is ChangeKind.MODIFIED
    assert schema_names(change.path) == schema_names(pattern)


@pytest.mark.case("R9")
@pytest.mark.contract("REF-01")
@pytest.mark.parametrize("pattern", [pattern for pattern in CLASSES if names_an_item(pattern)])
def test_changing_an_identity_removes_one_item_and_adds_another(pattern: str) -> None:
    changes = plan_of_change(pattern).changes

    assert [change.kind for change in changes] == [ChangeKind.ADDED, ChangeKind.REMOVED]
    assert {schema_names(change.path) for change in changes} == {schema_names(pattern)[:-1]}


@pytest.mark.contract("REF-01")
@pytest.mark.parametrize(("pattern", "refresh_class"), CLASSES.items())
def test_changing_one_leaf_gives_one_mask_of_one_field(pattern: str, refresh_class: str) -> None:
    (mask,) = plan_of_change(pattern).masks
    names = schema_names(pattern)
    if names_an_item(pattern):
        names = names[:-1]

    assert schema_names(mask.path) == names[:-1]
    assert (mask.live, mask.restart) == ((names[-1:], ()) if refresh_class == "live" else ((), names[-1:]))


@pytest.mark.contract("REF-06")
@pytest.mark.parametrize("pattern", CLASSES)
def test_changing_one_leaf_names_the_items_that_it_is_in(pattern: str) -> None:
    outcome = plan_of_change(pattern)

    assert outcome.changed_nodes == touched("nodes[]", pattern)
    assert outcome.changed_models == touched("models[]", pattern)
    if pattern == "nodes[].id":  # the provider goes with the one node, and comes with the other
        assert outcome.changed_providers == ("id-old",)
    else:
        assert outcome.changed_providers == touched("nodes[].providers[]", pattern)


def touched(item: str, pattern: str) -> tuple[str, ...]:
    """The identities that a change of the leaf touches in a list of items."""
    if pattern == f"{item}.id":
        return ("id-new", "id-old")
    return ("id-old",) if pattern.startswith(f"{item}.") else ()
