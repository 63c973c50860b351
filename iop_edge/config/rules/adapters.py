"""Rules of adapter instances, and of the providers that run on them (VAL-03 to VAL-05, NRM-05)."""

from collections.abc import Sequence
from typing import Final

from iop_edge.config.marks import INVALID
from iop_edge.config.problems import Problem, Problems, known, told
from iop_edge.config.rules.inventory import Choice, InstanceEntry, Inventory, NodeEntry, placed
from iop_edge.schema import table
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import Path
from iop_edge.schema.values import ReadTree

_TYPES: Final = table.enum("AdapterType")


def check(inventory: Inventory, problems: Problems) -> None:
    """Check the adapter instances of all Nodes, and what their providers say of them."""
    for node in inventory.nodes:
        choice = Choice(node.instances.values())
        for place, instance in placed(node.tree, "adapters"):
            _check_type(InstanceEntry(node.place, place, instance), problems)
        for place, provider in placed(node.tree, "providers"):
            if known(provider.get("category")) == "cli" and known(provider.get("type")) not in ("cli", None):
                path = node.path.child("providers").index(place).child("category")
                message = "category cli needs an adapter of type cli"
                problems.add(Problem("provider.category", path, message))
            if known(provider.get("enabled")) is True:
                _check_reference(provider, place, node, choice, problems)


def _check_type(instance: InstanceEntry, problems: Problems) -> None:
    """Check that an instance has what its type needs, and nothing that means nothing to it."""
    word = instance.type
    if word is None:
        return
    tree, policy = instance.tree, _TYPES.words[word]
    for name in policy.requires:
        if name not in tree:
            message = f'an adapter of type {word} needs "{name}"'
            problems.add(Problem("field.required", instance.path.child(name), message))
    for name in policy.refuses:
        if tree.get(name, INVALID) is not INVALID:
            message = f'"{name}" means nothing to an adapter of type {word}'
            problems.add(Problem("field.refused", instance.path.child(name), message, "leave it out"))
    profile = known(tree.get("protocol_profile"))
    if profile is not None and profile not in policy.profiles:
        message = f"an adapter of type {word} does not speak {profile}"
        hint = f"it speaks {', '.join(policy.profiles)}"
        problems.add(Problem("adapter.protocol_profile", instance.path.child("protocol_profile"), message, hint))


def _check_reference(provider: ReadTree, place: int, node: NodeEntry, choice: Choice, problems: Problems) -> None:
    name = provider.get("adapter")
    instance = node.instances.get(name) if name.__class__ is str else None
    if instance is not None and known(instance.tree.get("enabled")) is True:
        mine = known(provider.get("type"))
        if mine is not None and instance.type not in (mine, None):
            path = node.path.child("providers").index(place).child("type")
            message = f"type {mine} on adapter instance {told(name)} of type {instance.type}"
            problems.add(Problem("ref.type", path, message, "they must be the same", other=instance.path.child("type")))
        return
    path = node.path.child("providers").index(place).child("adapter")
    if name is None:
        message = 'an enabled provider needs "adapter", or the fields of a backend of its own'
        problems.add(Problem("field.required", path, message, f"this Node has {listed(choice.instances)}"))
    elif instance is not None:
        if known(instance.tree.get("enabled")) is False:
            explain(name, [instance], choice, path, problems)
    elif name.__class__ is str and node.is_complete:
        explain(name, [], choice, path, problems)


def explain(name: str, named: Sequence[InstanceEntry], choice: Choice, path: Path, problems: Problems) -> None:
    """Record why a name does not lead to one enabled instance; one that cannot be a name is reported as such.

    Args:
        name: the name, or bare type name.
        named: the instances that have this name, none of them enabled.
        choice: all instances among which the name is looked up.
        path: where the name is written.
        problems: what to record it in.
    """
    if not has_format("identifier", name):
        return
    if named:
        message = f"adapter instance {told(name)} is disabled"
        problems.add(Problem("ref.disabled", path, message, other=named[0].path))
        return
    of_type = choice.of_type(name)
    if len(of_type) > 1:
        message = f"{len(of_type)} enabled adapter instances have type {of_type[0].type}"
        problems.add(Problem("ref.ambiguous", path, message, f"name one of {listed(of_type)}"))
    else:
        message = f"there is no adapter instance {told(name)}"
        problems.add(Problem("ref.unknown", path, message, f"there is {listed(choice.instances)}"))


def listed(instances: Sequence[InstanceEntry], limit: int = 10) -> str:
    """Return the instances with their types and states, for a hint."""
    if not instances:
        return "none"
    texts = [_described(instance) for instance in instances[:limit]]
    more = len(instances) - limit
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _described(instance: InstanceEntry) -> str:
    state = ", disabled" if known(instance.tree.get("enabled")) is False else ""
    return f"{instance.tree.get('name')} ({instance.type or 'of no known type'}{state})"
