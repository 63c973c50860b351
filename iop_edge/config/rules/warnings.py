"""What is no fault, but worth a look (VAL-11)."""

from typing import Final
from urllib.parse import urlsplit

from iop_edge.config.problems import Problem, Problems, known, told
from iop_edge.config.rules.addresses import parsed
from iop_edge.config.rules.inventory import Inventory, placed, section
from iop_edge.schema.paths import ROOT
from iop_edge.schema.values import ReadTree

_FORWARDED_TO: Final = "api"
"""The category of providers that a caller's own token can go to (POL-08)."""


def check(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    """Look over a config that breaks no rule."""
    _idle_models(config, inventory, warnings)
    _unused_adapters(config, inventory, warnings)
    _shadowed_routes(config, warnings)
    _plain_text(inventory, warnings)
    _vain_probes(inventory, warnings)
    _spread_tokens(config, inventory, warnings)
    _unforwarded_tokens(config, inventory, warnings)
    _open_front(config, warnings)


def _idle_models(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    for place, model in placed(config, "models"):
        entries = model.get("providers", ())
        if all(known(inventory.providers[entry["id"]].tree["enabled"]) is False for entry in entries):
            message = "all providers of this model are disabled" if entries else "this model has no providers"
            warnings.add(Problem("model.idle", ROOT.child("models").index(place), message))


def _unused_adapters(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    routed = {route["adapter"] for _, route in placed(section(config, "openai"), "model_routes")}
    for node in inventory.nodes:
        used = {provider.get("adapter") for _, provider in placed(node.tree, "providers")}
        for name, instance in node.instances.items():
            if name not in used and name not in routed:
                message = f"no provider and no route uses adapter instance {told(name)}"
                warnings.add(Problem("adapter.unused", instance.path.child("name"), message))


def _shadowed_routes(config: ReadTree, warnings: Problems) -> None:
    places = {model["id"]: place for place, model in placed(config, "models")}
    for place, route in placed(section(config, "openai"), "model_routes"):
        if route["model"] in places:
            path = ROOT.child("openai").child("model_routes").index(place).child("model")
            other = ROOT.child("models").index(places[route["model"]]).child("id")
            message = f"model group {told(route['model'])} wins over this route"
            warnings.add(Problem("route.shadowed", path, message, other=other))


def _plain_text(inventory: Inventory, warnings: Problems) -> None:
    for node in inventory.nodes:
        address = parsed(node.tree["address"])
        if address is not None and not address.is_local and not node.tree["tls"]:
            message = "tokens and headers go to this Node in plain text"
            warnings.add(Problem("node.plain_text", node.path.child("address"), message, "give it `tls`"))


def _vain_probes(inventory: Inventory, warnings: Problems) -> None:
    for provider in inventory.providers.values():
        if known(provider.tree["type"]) == "cli" and known(provider.tree["health"]["mode"]) == "active":
            message = "a command-line agent has no backend that could be probed: its health stays unknown"
            warnings.add(Problem("provider.unprobed", provider.path.child("health").child("mode"), message))


def _spread_tokens(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    """Warn when a caller's own token could reach more than one service."""
    auth = section(config, "openai")["provider_auth"]
    if known(auth["enabled"]) is not True:
        return
    chosen = auth.get("providers")
    hosts: dict[str, str] = {}
    for identity, provider in inventory.providers.items():
        if known(provider.tree["category"]) != _FORWARDED_TO or (chosen is not None and identity not in chosen):
            continue
        instances = inventory.nodes[provider.node].instances
        instance = instances.get(provider.tree.get("adapter", ""))
        url = known(instance.tree.get("base_url")) if instance is not None else None
        if url is not None:
            hosts.setdefault(urlsplit(url).hostname or "", identity)
    if len(hosts) > 1:
        message = f"a caller's provider token could reach {len(hosts)} hosts, by providers {', '.join(hosts.values())}"
        path = ROOT.child("openai").child("provider_auth")
        warnings.add(Problem("provider_auth.many_hosts", path, message, "list the `providers` that may receive it"))


def _unforwarded_tokens(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    """Warn of a provider that is listed for a caller's own token, and is of a kind that never gets one."""
    path = ROOT.child("openai").child("provider_auth").child("providers")
    # The normalized list is sorted: an index in it is none in a file.
    for identity in section(config, "openai")["provider_auth"].get("providers", ()):
        if known(inventory.providers[identity].tree["category"]) not in (_FORWARDED_TO, None):
            message = f"provider {told(identity)} is not of category {_FORWARDED_TO}, and never receives a token"
            warnings.add(Problem("provider_auth.category", path, message))


def _open_front(config: ReadTree, warnings: Problems) -> None:
    """Warn when whoever reaches the front from elsewhere may call, for no principal is named (POL-09)."""
    front = section(config, "openai")
    if known(front["enabled"]) is not True or front.get("principal_tokens"):
        return
    address = parsed(front["listen"])
    if address is not None and not address.is_local:
        message = "whoever reaches this address may call: no principal tokens are given"
        warnings.add(Problem("openai.open", ROOT.child("openai").child("listen"), message, "give `principal_tokens`"))
