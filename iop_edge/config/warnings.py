"""What is valid, but probably not meant (VAL-11)."""

from typing import Final
from urllib.parse import urlsplit

from iop_edge.config.inventory import Inventory, address_of, placed, section, take
from iop_edge.config.problems import Problem, Problems, known, told
from iop_edge.rules import Rule
from iop_edge.schema.paths import ROOT
from iop_edge.schema.values import ReadTree

_FORWARDED_TO: Final = "api"
"""The category of providers that a caller's own token can go to (POL-08)."""


def warn(config: ReadTree) -> Problems:
    """Return the warnings about a config that breaks no rule."""
    inventory, warnings = take(config), Problems()
    _idle_models(config, inventory, warnings)
    _unused_adapters(config, inventory, warnings)
    _shadowed_routes(config, warnings)
    _plain_text(inventory, warnings)
    _impossible_probes(inventory, warnings)
    _spread_tokens(config, inventory, warnings)
    _unforwarded_tokens(config, inventory, warnings)
    _open_front(config, warnings)
    return warnings


def _idle_models(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    for place, model in placed(config, "models"):
        entries = model.get("providers", ())
        if all(known(inventory.providers[entry["id"]].tree["enabled"]) is False for entry in entries):
            message = "all providers of this model are disabled" if entries else "this model has no providers"
            warnings.add(Problem(Rule.MODEL_IDLE, ROOT.child("models").index(place), message))


def _unused_adapters(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    routed = {route["adapter"] for _, route in placed(section(config, "openai"), "model_routes")}
    for node in inventory.nodes:
        used = {provider.get("adapter") for _, provider in placed(node.tree, "providers")}
        for name, instance in node.instances.items():
            if name not in used and name not in routed:
                message = f"no provider and no route uses adapter instance {told(name)}"
                warnings.add(Problem(Rule.ADAPTER_UNUSED, instance.path.child("name"), message))


def _shadowed_routes(config: ReadTree, warnings: Problems) -> None:
    places = {model["id"]: place for place, model in placed(config, "models")}
    for place, route in placed(section(config, "openai"), "model_routes"):
        if route["model"] in places:
            path = ROOT.child("openai").child("model_routes").index(place).child("model")
            other = ROOT.child("models").index(places[route["model"]]).child("id")
            message = f"model group {told(route['model'])} wins over this route"
            warnings.add(Problem(Rule.ROUTE_SHADOWED, path, message, other=other))


def _plain_text(inventory: Inventory, warnings: Problems) -> None:
    for node in inventory.nodes:
        address = address_of(node.tree["address"])
        if address is not None and not address.is_local and not node.tree["tls"]:
            message = "tokens and headers are sent to this Node in plain text"
            warnings.add(Problem(Rule.NODE_PLAIN_TEXT, node.path.child("address"), message, "set `tls`"))


def _impossible_probes(inventory: Inventory, warnings: Problems) -> None:
    for provider in inventory.providers.values():
        if known(provider.tree["type"]) == "cli" and known(provider.tree["health"]["mode"]) == "active":
            message = "a command-line agent has no backend to probe: its health stays unknown"
            warnings.add(Problem(Rule.PROVIDER_UNPROBED, provider.path.child("health").child("mode"), message))


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
        warnings.add(Problem(Rule.PROVIDER_AUTH_MANY_HOSTS, path, message, "list the `providers` that may receive it"))


def _unforwarded_tokens(config: ReadTree, inventory: Inventory, warnings: Problems) -> None:
    """Warn of a provider that is listed for callers' own tokens, but is of a category that never receives one."""
    path = ROOT.child("openai").child("provider_auth").child("providers")
    # The normalized list is sorted: an index in it is none in a file.
    for identity in section(config, "openai")["provider_auth"].get("providers", ()):
        if known(inventory.providers[identity].tree["category"]) not in (_FORWARDED_TO, None):
            message = f"provider {told(identity)} is not of category {_FORWARDED_TO}, and never receives a token"
            warnings.add(Problem(Rule.PROVIDER_AUTH_CATEGORY, path, message))


def _open_front(config: ReadTree, warnings: Problems) -> None:
    """Warn when anyone who reaches the front from elsewhere may call, because no principal is named (POL-09)."""
    front = section(config, "openai")
    if known(front["enabled"]) is not True or front.get("principal_tokens"):
        return
    address = address_of(front["listen"])
    if address is not None and not address.is_local:
        message = "anyone who reaches this address may call: there are no principal tokens"
        warnings.add(Problem(Rule.OPENAI_OPEN, ROOT.child("openai").child("listen"), message, "add `principal_tokens`"))
