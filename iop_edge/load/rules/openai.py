"""Rules of the OpenAI-compatible front (VAL-09, VAL-12)."""

from typing import Final

from iop_edge.load.marks import INVALID
from iop_edge.load.problems import Problem, Problems, known, told
from iop_edge.load.rules import adapters
from iop_edge.load.rules.inventory import InstanceEntry, Inventory, placed, section
from iop_edge.load.rules.models import report_unknown_provider
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree

_PRINCIPAL_HEADER: Final = "authorization"


def check(config: ReadTree, inventory: Inventory, problems: Problems) -> None:
    """Check the routes, and where a caller's own token may go."""
    front = section(config, "openai")
    path = ROOT.child("openai")
    for place, route in placed(front, "model_routes"):
        _check_route(route, path.child("model_routes").index(place), inventory, problems)
    if "provider_auth" in front:
        _check_provider_auth(section(front, "provider_auth"), path.child("provider_auth"), inventory, problems)


def _check_route(route: ReadTree, path: Path, inventory: Inventory, problems: Problems) -> None:
    name = route.get("adapter")
    if name.__class__ is not str:
        return
    named = [node.instances[name] for node in inventory.nodes if name in node.instances]
    enabled = [instance for instance in named if known(instance.tree.get("enabled")) is not False]
    if len(enabled) == 1:
        _check_target(route, enabled[0], path, inventory, problems)
    elif enabled:
        message = f"adapter instance {told(name)} is on {len(enabled)} Nodes"
        hint = "give the instance of this route a name of its own"
        problems.add(Problem("ref.ambiguous", path.child("adapter"), message, hint, other=enabled[0].path))
    else:
        is_complete = inventory.is_complete and all(node.is_complete for node in inventory.nodes)
        instances = list(inventory.instances())
        adapters.explain(name, instances, path.child("adapter"), problems, is_complete=is_complete)


def _check_target(
    route: ReadTree, instance: InstanceEntry, path: Path, inventory: Inventory, problems: Problems
) -> None:
    target = known(route.get("target"))
    if target is None or not inventory.is_complete:
        return
    node = next(node for node in inventory.nodes if node.place == instance.node)
    served = [
        known(model)
        for _, provider in placed(node.tree, "providers")
        if provider.get("adapter") in (instance.tree["name"], INVALID)
        for model in (provider["models"] if isinstance(provider.get("models"), list) else [None])
    ]
    if target not in served and None not in served:
        message = f"no provider on adapter instance {told(instance.tree['name'])} serves {told(route['target'])}"
        problems.add(Problem("route.target", path.child("target"), message))


def _check_provider_auth(auth: ReadTree, path: Path, inventory: Inventory, problems: Problems) -> None:
    header = known(auth.get("from_header"))
    if header is not None and header.lower() == _PRINCIPAL_HEADER:
        message = "this header carries the principal's own token, which never leaves the Edge"
        problems.add(Problem("provider_auth.from_header", path.child("from_header"), message, "name another header"))
    identities = auth.get("providers")
    for index, identity in enumerate(identities if isinstance(identities, list) else ()):
        if identity.__class__ is str and identity not in inventory.providers:
            report_unknown_provider(identity, path.child("providers").index(index), inventory, problems)
