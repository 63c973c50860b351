"""Validates a normalized tree (VAL)."""

from iop_edge.config import constraints
from iop_edge.config.problems import Problems
from iop_edge.config.rules import adapters, addresses, models, openai, warnings
from iop_edge.config.rules.inventory import take
from iop_edge.schema.values import Tree


def validate(tree: Tree, problems: Problems) -> None:
    """Record what is against the rules."""
    inventory = take(tree)
    constraints.check(tree, problems)
    adapters.check(inventory, problems)
    models.check(tree, inventory, problems)
    openai.check(tree, inventory, problems)
    addresses.check(tree, inventory, problems)


def warn(tree: Tree) -> Problems:
    """Return what is worth a look in a tree that breaks no rule (VAL-11)."""
    found = Problems()
    warnings.check(tree, take(tree), found)
    return found
