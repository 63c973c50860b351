"""Validates a normalized tree (VAL)."""

from iop_edge.load import constraints
from iop_edge.load.problems import Problems
from iop_edge.load.rules import adapters, addresses, models, openai, warnings
from iop_edge.load.rules.inventory import Inventory, take
from iop_edge.schema.values import Tree


def validate(tree: Tree, problems: Problems) -> Inventory:
    """Record what is against the rules, and return what the config has."""
    inventory = take(tree)
    constraints.check(tree, problems)
    adapters.check(inventory, problems)
    models.check(tree, inventory, problems)
    openai.check(tree, inventory, problems)
    addresses.check(tree, inventory, problems)
    return inventory


def warn(tree: Tree, inventory: Inventory) -> Problems:
    """Return what is worth a look in a tree that breaks no rule (VAL-11)."""
    found = Problems()
    warnings.check(tree, inventory, found)
    return found
