"""What holds for the diff of any two configs that the schema allows."""

import copy
import json
import operator
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iop_edge.config.marks import Sourced
from iop_edge.config.snapshot import Snapshot
from iop_edge.documents import document
from iop_edge.refresh.diff import Difference, diff, merge
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import ChangeKind, Mode
from iop_edge.schema import table
from iop_edge.schema.values import References, Tree, inherited
from tests import trees
from tests.trees import items

SECRET = "s3cr3t"
IDENTITIES = st.sampled_from(["a", "b", "c d", 'q"]', "é"])
TEXTS = st.sampled_from(["", "x", "y"])
MAP_KEYS = st.sampled_from(["X-Tenant", "x-tenant", "Authorization", "k.1"])
SECRETS = st.sampled_from([f"{SECRET}-1", f"{SECRET}-2"])
URLS = st.sampled_from(["http://h.test/", f"http://u:{SECRET}@h.test/", f"http://h.test/?api_key={SECRET}"])


def sourced(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The values, some of them behind a reference, or written with one that has them as its default."""
    references = st.sampled_from(["${env:A}", "${file:b}"])
    return values | st.builds(Sourced, references, values) | values.map(defaulted)


def defaulted(value: Any) -> Sourced:
    return Sourced(f"${{env:A:-{value}}}", value)


def scalars(field: table.Field) -> st.SearchStrategy[Any]:
    if field.identity:
        return IDENTITIES
    if field.kind is table.Kind.BOOL:
        return st.booleans()
    if field.kind is table.Kind.ENUM:
        return st.sampled_from(sorted(field.enum().words))
    if field.kind.is_integer:
        return sourced(st.integers(0, 2))
    if field.format == "http_url":
        return sourced(URLS)
    return sourced(SECRETS if field.sensitive else TEXTS)


def maps(field: table.Field) -> st.SearchStrategy[Any]:
    def pair(key: str) -> st.SearchStrategy[tuple[str, Any]]:
        secret = field.sensitive and key.lower() not in field.harmless_keys
        return st.tuples(st.just(key), sourced(SECRETS if secret else TEXTS))

    return st.lists(MAP_KEYS.flatmap(pair), min_size=1, max_size=3, unique_by=lambda pair: pair[0].lower()).map(dict)


def values(field: table.Field) -> st.SearchStrategy[Any]:
    if field.is_message:
        return messages(field.type_name)
    if field.is_message_list:
        return st.lists(messages(field.type_name), min_size=1, max_size=2, unique_by=identity_of(field))
    if field.kind is table.Kind.MAP:
        return maps(field)
    if field.repeated:
        return st.lists(scalars(field), min_size=1, max_size=2)
    return scalars(field)


def identity_of(field: table.Field) -> Callable[[Tree], str]:
    identity = field.message().identity
    assert identity is not None
    return operator.itemgetter(identity.name)


def messages(name: str) -> st.SearchStrategy[Tree]:
    fields = [field for field in table.message(name).fields.values() if not field.shorthand_for]
    always = {field.name: values(field) for field in fields if field.is_message or field.identity}
    sometimes = {field.name: values(field) for field in fields if field.name not in always}
    return st.fixed_dictionaries(always, optional=sometimes)


def keyed(message: table.Message, tree: Tree) -> Tree:
    """The tree with its lists of items, and its maps, as dicts by what tells the entries apart; the order is gone."""
    return {name: keyed_value(field, tree.get(name)) for name, field in message.fields.items()}


def keyed_value(field: table.Field, value: Any) -> Any:
    if field.is_message:
        return keyed(field.message(), value or {})
    if field.is_message_list:
        return {identity_of(field)(item): keyed(field.message(), item) for item in value or ()}
    if field.kind is table.Kind.MAP:
        return {key.lower() if field.caseless_keys else key: item for key, item in (value or {}).items()}
    return value


def patch(tree: Tree, difference: Difference) -> None:
    """Carry out one difference on a keyed tree."""
    owner = tree
    for path in difference.owner.steps():
        owner = owner[str(path.step)]
    field, last = difference.field, difference.path.step
    if not difference.path.is_key:
        owner[field.name] = difference.after
        return
    key = str(last).lower() if field.caseless_keys else last
    if difference.kind is ChangeKind.REMOVED:
        del owner[field.name][key]
    elif field.is_message_list:
        owner[field.name][key] = keyed(field.message(), difference.after)
    else:
        owner[field.name][key] = difference.after


def crossed(message: table.Message, one: Tree, other: Tree, random: Random) -> Tree:
    """A config with some of the fields of one and some of another, so that much of it is the same."""
    tree: Tree = {}
    for name, field in message.fields.items():
        if field.is_message and random.random() < 0.7:
            tree[name] = crossed(field.message(), one[name], other[name], random)
        elif field.is_message_list and name in one and name in other and random.random() < 0.7:
            tree[name] = crossed_items(field, one[name], other[name], random)
        else:
            source = one if field.identity or random.random() < 0.7 else other
            if name in source:
                tree[name] = source[name]
    return tree


def crossed_items(field: table.Field, one: list[Tree], other: list[Tree], random: Random) -> list[Tree]:
    name = identity_of(field)
    others = {name(item): item for item in other}
    return [crossed(field.message(), item, others.pop(name(item), item), random) for item in one] + list(
        others.values()
    )


ROOT = table.root()
CONFIGS = messages(ROOT.name)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two configs that have much in common."""
    one, other, random = draw(CONFIGS), draw(CONFIGS), draw(st.randoms(use_true_random=False))
    return one, crossed(ROOT, one, other, random)


slowly = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@slowly
@pytest.mark.case("R1")
@pytest.mark.contract("REF-09")
@given(CONFIGS)
def test_a_config_does_not_differ_from_itself(config: Tree) -> None:
    assert list(diff(config, copy.deepcopy(config))) == []


@slowly
@pytest.mark.case("R3")
@pytest.mark.contract("REF-01")
@given(CONFIGS, st.randoms(use_true_random=False))
def test_the_order_of_lists_with_identities_is_no_difference(config: Tree, random: Random) -> None:
    shuffled = copy.deepcopy(config)
    for _, value in items(shuffled):
        random.shuffle(value)

    assert list(diff(config, shuffled)) == []


@slowly
@pytest.mark.contract("REF-01")
@given(pairs())
def test_a_path_is_added_or_removed_or_modified_but_one_of_them_only(pair: tuple[Tree, Tree]) -> None:
    counts = Counter(str(difference.path) for difference in diff(*pair))

    assert all(count == 1 for count in counts.values()), counts


@slowly
@pytest.mark.contract("REF-01")
@given(pairs())
def test_the_diff_the_other_way_round_is_the_mirror_image(pair: tuple[Tree, Tree]) -> None:
    mirrored = {
        ChangeKind.ADDED: ChangeKind.REMOVED,
        ChangeKind.REMOVED: ChangeKind.ADDED,
        ChangeKind.MODIFIED: ChangeKind.MODIFIED,
    }
    there = {str(d.path): (d.kind, d.before, d.after) for d in diff(*pair)}
    back = {str(d.path): (mirrored[d.kind], d.after, d.before) for d in diff(*reversed(pair))}

    assert there == back


@slowly
@pytest.mark.contract("REF-01")
@given(pairs())
def test_carrying_out_the_differences_leads_to_the_other_config(pair: tuple[Tree, Tree]) -> None:
    running, candidate = pair
    patched = keyed(ROOT, running)
    for difference in diff(running, candidate):
        patch(patched, difference)

    assert patched == keyed(ROOT, candidate)


@slowly
@pytest.mark.contract("REF-01")
@given(pairs())
def test_masks_name_the_changed_fields_and_no_others(pair: tuple[Tree, Tree]) -> None:
    changed = {(str(difference.owner), difference.field.name) for difference in diff(*pair)}
    masks = plan(*map(trees.snapshot, pair)).masks

    assert {(mask.path, name) for mask in masks for name in mask.live + mask.restart} == changed
    assert len({mask.path for mask in masks}) == len(masks)


@slowly
@pytest.mark.case("R15")
@pytest.mark.contract("REF-07")
@given(pairs())
def test_the_live_part_takes_all_live_changes_and_leaves_all_others(pair: tuple[Tree, Tree]) -> None:
    running, candidate = map(trees.snapshot, pair)
    whole = plan(running, candidate)
    tree = merge(running.tree, candidate.tree, whole.live_masks)
    references = inherited(tree, ROOT, [(each.tree, each.references.tree) for each in (running, candidate)])
    mixed = Snapshot(tree, References(references))

    assert plan(running, mixed).changes == whole.live
    assert plan(mixed, candidate).changes == whole.restart


@slowly
@pytest.mark.contract("REF-01")
@given(pairs())
def test_merging_all_masks_gives_the_candidate(pair: tuple[Tree, Tree]) -> None:
    running, candidate = copy.deepcopy(pair)

    merged = merge(running, candidate, plan(*map(Snapshot, pair)).masks)

    assert keyed(ROOT, merged) == keyed(ROOT, candidate)
    assert (running, candidate) == pair


@slowly
@pytest.mark.contract("REF-01")
@given(pairs())
def test_merging_no_mask_changes_nothing(pair: tuple[Tree, Tree]) -> None:
    assert merge(*pair, ()) == pair[0]


@slowly
@pytest.mark.contract("REF-09")
@given(pairs())
def test_configs_have_one_hash_exactly_when_they_do_not_differ(pair: tuple[Tree, Tree]) -> None:
    running, candidate = map(trees.snapshot, pair)

    assert (running.digest(b"key") == candidate.digest(b"key")) == (plan(running, candidate).changes == ())


@slowly
@pytest.mark.case("R6")
@pytest.mark.contract("CFG-08")
@given(pairs())
def test_no_secret_is_in_a_plan_however_it_is_looked_at(pair: tuple[Tree, Tree]) -> None:
    outcome = plan(*map(trees.snapshot, pair))

    assert SECRET not in json.dumps(document(outcome.result(Mode.APPLY)))
    assert SECRET not in repr(outcome)
    assert SECRET not in repr(list(diff(*pair)))
