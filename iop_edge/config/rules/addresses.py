"""Rules of the addresses that the Edge listens on and dials (VAL-10)."""

from collections.abc import Iterator
from functools import cache

from iop_edge.config.problems import Problem, Problems, known
from iop_edge.config.rules.inventory import Inventory, section
from iop_edge.net import Address, AddressError, overlap, parse_address
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree


def check(config: ReadTree, inventory: Inventory, problems: Problems) -> None:
    """Check that no two listeners share an address, and that each Node can be dialled."""
    before: list[tuple[Path, Address]] = []
    for path, address in _listeners(config):
        for other, taken in before:
            if overlap(address, taken):
                message = f"two enabled listeners share {address}"
                problems.add(Problem("listen.conflict", path, message, other=other))
                break
        before.append((path, address))
    for node in inventory.nodes:
        dialled = parsed(node.tree.get("address"))
        if dialled is not None and not dialled.is_unix and not dialled.port:
            message = "a Node listens on a port from 1 to 65535"
            problems.add(Problem("value.address", node.path.child("address"), message))


def _listeners(config: ReadTree) -> Iterator[tuple[Path, Address]]:
    """Yield the addresses of the Edge's own sections, of those that are served."""
    for name, listens, may_be_disabled in _serving():
        tree = section(config, name)
        if may_be_disabled and known(tree.get("enabled")) is not True:
            continue
        for field in listens:
            address = parsed(tree.get(field))
            if address is not None:
                yield ROOT.child(name).child(field), address


@cache
def _serving() -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """Return the sections that listen: their names, those of their addresses, and whether they can be disabled."""
    rows = []
    for part in table.root().fields.values():
        fields = part.message().fields if part.is_message else {}
        listens = tuple(field.name for field in fields.values() if field.format == "address")
        if listens:
            rows.append((part.name, listens, "enabled" in fields))
    return tuple(rows)


def parsed(value: object) -> Address | None:
    """Return the address that a value is, where it is known and is one."""
    text = known(value)
    if not isinstance(text, str):
        return None
    try:
        return parse_address(text)
    except AddressError:
        return None
