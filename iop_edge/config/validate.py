"""Validates a normalized config: each field alone, then the rules that tie several fields together.

The latter are in this module (VAL-03 to VAL-05, VAL-07 to VAL-10, VAL-12, NRM-05). A value that is not known, because
it could not be read or its reference is unresolved, breaks none of them.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from iop_edge.config import constraints
from iop_edge.config.findings import Trail, to_path
from iop_edge.config.inventory import (
    Choice,
    InstanceEntry,
    Inventory,
    NodeEntry,
    ProviderEntry,
    address_of,
    placed,
    section,
    take,
)
from iop_edge.config.marks import INVALID, Sourced
from iop_edge.config.problems import Problem, Problems, ambiguous, invalid, known, not_found, required, told
from iop_edge.net import Address, overlap
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree, Tree

_TYPES: Final = table.enum("AdapterType")
_TOKEN_ORDER: Final = ("min_max_tokens", "default_max_tokens", "context_window_tokens")
_NO_TOKENS: Final = (b"", b"\n", b"\r\n")
_MOST_LISTED: Final = 10
# A search for similar names is slow: it helps with a few slips, not with a thousand.
_MOST_SLIPS: Final = 20
_MOST_COMPARED: Final = 2000

PRINCIPAL_HEADER: Final = "authorization"
"""The header that carries a principal's own token, in lower case (VAL-12)."""

# fmt: off
_MESSAGE_HEADERS: Final = frozenset((
    "connection", "content-length", "expect", "host", "keep-alive", "proxy-authenticate", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
))
# fmt: on
"""Headers, in lower case, that belong to one message or connection: none of them can carry a token."""


def validate(config: Tree, problems: Problems) -> None:
    """Record every rule that a normalized config breaks."""
    constraints.check(config, problems)
    inventory = take(config)
    for node in inventory.nodes:
        _check_adapters(node, problems)
    _check_models(config, inventory, problems)
    _check_front(section(config, "openai"), ROOT.child("openai"), inventory, problems)
    _check_addresses(config, inventory, problems)


def _check_adapters(node: NodeEntry, problems: Problems) -> None:
    """Check the adapter instances of a Node, and how its providers use them."""
    choice = Choice(node.instances.values())
    for place, instance in placed(node.tree, "adapters"):
        _check_type(InstanceEntry(node.place, place, instance), problems)
    for provider in node.providers:
        tree = provider.tree
        if known(tree.get("category")) == "cli" and known(tree.get("type")) not in ("cli", None):
            message = "category cli needs an adapter of type cli"
            problems.add(Problem(Rule.PROVIDER_CATEGORY, provider.path.child("category"), message))
        if known(tree.get("enabled")) is True:
            _check_reference(provider, node, choice, problems)


def _check_type(instance: InstanceEntry, problems: Problems) -> None:
    """Check that an instance has the fields that its type needs, and none that do not apply to it."""
    word = instance.type
    if word is None:
        return
    tree, policy = instance.tree, _TYPES.words[word]
    for name in policy.requires:
        if name not in tree:
            problems.add(required(instance.path.child(name), f'an adapter of type {word} needs "{name}"'))
    for name in policy.refuses:
        if tree.get(name, INVALID) is not INVALID:
            message = f'"{name}" does not apply to an adapter of type {word}'
            problems.add(Problem(Rule.FIELD_REFUSED, instance.path.child(name), message, "remove it"))
    profile = known(tree.get("protocol_profile"))
    if profile is not None and profile not in policy.profiles:
        message = f"an adapter of type {word} does not speak {profile}"
        hint = f"it speaks {', '.join(policy.profiles)}"
        problems.add(Problem(Rule.ADAPTER_PROTOCOL_PROFILE, instance.path.child("protocol_profile"), message, hint))


def _check_reference(provider: ProviderEntry, node: NodeEntry, choice: Choice, problems: Problems) -> None:
    """Check that an enabled provider names an enabled adapter instance of its own type (VAL-03)."""
    name = provider.tree.get("adapter")
    instance = node.instances.get(name) if name.__class__ is str else None
    if name is None:
        message = 'an enabled provider needs "adapter", or connection fields of its own'
        hint = f"adapter instances of this Node: {_listed(choice.instances)}"
        problems.add(required(provider.path.child("adapter"), message, hint))
    elif instance is None:
        if name.__class__ is str and node.is_complete:
            _explain_adapter(name, [], choice, provider.path.child("adapter"), problems)
    elif known(instance.tree.get("enabled")) is False:
        _explain_adapter(name, [instance], choice, provider.path.child("adapter"), problems)
    elif known(instance.tree.get("enabled")) is True:
        mine = known(provider.tree.get("type"))
        if mine is not None and instance.type not in (mine, None):
            message = f"type {mine} on adapter instance {told(name)} of type {instance.type}"
            path, other = provider.path.child("type"), instance.path.child("type")
            problems.add(Problem(Rule.REF_TYPE, path, message, "the types must match", other=other))


def _explain_adapter(name: str, named: Sequence[InstanceEntry], choice: Choice, path: Path, problems: Problems) -> None:
    """Record why a name does not lead to one enabled instance; one that is not even a name was reported as such.

    Args:
        name: the name, or bare type name.
        named: the instances that have this name, none of them enabled.
        choice: all instances among which the name is looked up.
        path: where the name is written.
        problems: where to record it.
    """
    if not has_format("identifier", name):
        return
    of_type = choice.of_type(name)
    if named:
        message = f"adapter instance {told(name)} is disabled"
        problems.add(Problem(Rule.REF_DISABLED, path, message, other=named[0].path))
    elif len(of_type) > 1:
        message = f"{len(of_type)} enabled adapter instances have type {of_type[0].type}"
        problems.add(ambiguous(path, message, f"name one of {_listed(of_type)}"))
    else:
        hint = f"adapter instances: {_listed(choice.instances)}"
        problems.add(not_found(path, f"there is no adapter instance {told(name)}", hint))


def _listed(instances: Sequence[InstanceEntry]) -> str:
    """Return the instances with their types and states, for a hint."""
    texts = [_described(instance) for instance in instances[:_MOST_LISTED]]
    more = len(instances) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "") if texts else "none"


def _described(instance: InstanceEntry) -> str:
    state = ", disabled" if known(instance.tree.get("enabled")) is False else ""
    return f"{instance.tree.get('name')} ({instance.type or 'unknown type'}{state})"


def _check_models(config: ReadTree, inventory: Inventory, problems: Problems) -> None:
    """Check the model groups (VAL-07)."""
    for place, model in placed(config, "models"):
        _check_token_order(model, ROOT.child("models").index(place), problems)
        entries: Trail = (((None, "models", False), place, False), "providers", False)
        for index, entry in placed(model, "providers"):
            here, identity = (entries, index, False), entry.get("id")
            provider = inventory.providers.get(identity) if identity.__class__ is str else None
            if provider is not None:
                _check_target(provider.tree, entry, here, problems)
                if "context_size" in provider.tree:
                    _check_window(model, provider.tree, entry, here, problems)
            elif identity.__class__ is str:
                _report_unknown_provider(identity, to_path(here).child("id"), inventory, problems)


def _report_unknown_provider(identity: str, path: Path, inventory: Inventory, problems: Problems) -> None:
    """Record that there is no such provider, unless it may be one that could not be read, or is not an id at all."""
    if not inventory.is_complete or not has_format("identifier", identity):
        return
    from difflib import get_close_matches

    is_slip = problems.total < _MOST_SLIPS and len(inventory.providers) <= _MOST_COMPARED
    close = get_close_matches(identity, inventory.providers, 1) if is_slip else []
    hint = f"did you mean {close[0]}?" if close else ""
    problems.add(not_found(path, f"there is no provider {told(identity)}", hint))


def _check_token_order(model: ReadTree, path: Path, problems: Problems) -> None:
    # A count below 1 is reported as such.
    counts = [(name, count) for name in _TOKEN_ORDER if (count := known(model.get(name)) or 0) > 0]
    for (name, count), (bound_name, bound) in pairwise(counts):
        if count > bound:
            message = f'must be <= "{bound_name}" ({told(model[bound_name])}), got {told(model[name])}'
            problems.add(Problem(Rule.MODEL_TOKEN_ORDER, path.child(name), message))


def _check_target(provider: ReadTree, entry: ReadTree, trail: Trail, problems: Problems) -> None:
    target, served = entry.get("target"), provider.get("models")
    if served.__class__ is not list or not served or target in served:
        return
    text = known(target)
    if text is not None and has_format("non_empty", text) and None not in map(known, served):
        message = f"provider {told(entry['id'])} does not serve {told(target)}"
        hint = f"it serves {', '.join(map(told, served[:_MOST_LISTED]))}"
        problems.add(Problem(Rule.MODEL_TARGET, to_path(trail).child("target"), message, hint))


def _check_window(model: ReadTree, provider: ReadTree, entry: ReadTree, trail: Trail, problems: Problems) -> None:
    size, window = known(provider.get("context_size")) or 0, known(model.get("context_window_tokens")) or 0
    if 0 < size < window:
        message = f'"context_size" of provider {told(entry["id"])} is below "context_window_tokens"'
        problems.add(Problem(Rule.MODEL_CONTEXT_SIZE, to_path(trail).child("id"), message))


def _check_front(front: ReadTree, path: Path, inventory: Inventory, problems: Problems) -> None:
    """Check the routes, the principals' tokens, and where a caller's own token may go (VAL-08, VAL-09, VAL-12)."""
    if routes := placed(front, "model_routes"):
        checker = _Routes(inventory, problems)
        for place, route in routes:
            checker.check(route, path.child("model_routes").index(place))
    _check_principal_tokens(front, path, problems)
    if "provider_auth" in front:
        _check_provider_auth(section(front, "provider_auth"), path.child("provider_auth"), inventory, problems)


class _Routes:
    """Checks routes against the adapter instances of all Nodes (VAL-09)."""

    def __init__(self, inventory: Inventory, problems: Problems) -> None:
        self._problems = problems
        self._is_complete = inventory.is_complete and all(node.is_complete for node in inventory.nodes)
        self._choice = Choice(inventory.instances())
        self._named: dict[str, list[InstanceEntry]] = {}
        for instance in self._choice.instances:
            self._named.setdefault(instance.tree["name"], []).append(instance)
        self._served: dict[tuple[int, object], set[object]] = {}
        for node in inventory.nodes:
            for provider in node.providers:
                models = provider.tree.get("models")
                served = map(known, models) if isinstance(models, list) else (None,)
                self._served.setdefault((node.place, provider.tree.get("adapter")), set()).update(served)

    def check(self, route: ReadTree, path: Path) -> None:
        """Check one route."""
        name = route.get("adapter")
        if name.__class__ is not str:
            return
        named = self._named.get(name, [])
        enabled = [instance for instance in named if known(instance.tree.get("enabled")) is not False]
        if not named:
            # Several Nodes have an instance of the name of the one that is meant: the type alone says which.
            of_type = self._choice.of_type(name)
            enabled = list(of_type) if len(of_type) == 1 else []
        if len(enabled) == 1:
            self._check_target(route, enabled[0], path)
        elif enabled:
            message = f"{len(enabled)} Nodes have an adapter instance {told(name)}"
            hint = "give the instance of this route a unique name"
            self._problems.add(ambiguous(path.child("adapter"), message, hint, enabled[0].path))
        elif named or self._is_complete:
            _explain_adapter(name, named, self._choice, path.child("adapter"), self._problems)

    def _check_target(self, route: ReadTree, instance: InstanceEntry, path: Path) -> None:
        target = known(route.get("target"))
        if target is None or not has_format("non_empty", target) or not self._is_complete:
            return
        name = instance.tree["name"]
        served = self._served.get((instance.node, name), set())
        # A provider whose adapter or models could not be read may be the one that serves it.
        is_sure = None not in served and (instance.node, INVALID) not in self._served
        if target not in served and is_sure:
            message = f"no provider on adapter instance {told(name)} serves {told(route['target'])}"
            self._problems.add(Problem(Rule.ROUTE_TARGET, path.child("target"), message))


def _check_principal_tokens(front: ReadTree, path: Path, problems: Problems) -> None:
    entries = placed(front, "principal_tokens")
    if not entries:
        return
    from hashlib import sha256

    of_no_token = {sha256(text).hexdigest() for text in _NO_TOKENS}
    for place, entry in entries:
        if known(entry.get("token_hash_sha256")) in of_no_token:
            where = path.child("principal_tokens").index(place).child("token_hash_sha256")
            message, hint = "this is the digest of an empty text", "make one with: iop-edge config hash-token"
            problems.add(Problem(Rule.PRINCIPAL_NO_TOKEN, where, message, hint))


def _check_provider_auth(auth: ReadTree, path: Path, inventory: Inventory, problems: Problems) -> None:
    no_carrier, hint = "this header belongs to one connection: it cannot carry a token", "name another header"
    for field, rule in (
        ("from_header", Rule.PROVIDER_AUTH_FROM_HEADER),
        ("target_header", Rule.PROVIDER_AUTH_TARGET_HEADER),
    ):
        name = (known(auth.get(field)) or "").lower()
        if field == "from_header" and name == PRINCIPAL_HEADER:
            message = "this header carries the principal's own token, which never leaves the Edge"
            problems.add(Problem(rule, path.child(field), message, hint))
        if name in _MESSAGE_HEADERS:
            problems.add(Problem(rule, path.child(field), no_carrier, hint))
    identities = auth.get("providers")
    for index, identity in enumerate(identities if isinstance(identities, list) else ()):
        if identity.__class__ is str and identity not in inventory.providers:
            _report_unknown_provider(identity, path.child("providers").index(index), inventory, problems)


def _check_addresses(config: ReadTree, inventory: Inventory, problems: Problems) -> None:
    """Check that no two listeners share an address, and that the Edge can connect to each Node (VAL-10)."""
    before: list[tuple[Path, Address]] = []
    for path, address, written in _listeners(config):
        other = next((other for other, taken in before if overlap(address, taken)), None)
        if other is not None:
            problems.add(Problem(Rule.LISTEN_CONFLICT, path, f"two enabled listeners share {written}", other=other))
        before.append((path, address))
    for node in inventory.nodes:
        dialled = address_of(node.tree.get("address"))
        if dialled is not None and not dialled.is_unix and not dialled.port:
            message = "the port of a Node must be from 1 to 65535"
            problems.add(invalid(Rule.VALUE_ADDRESS, node.path.child("address"), message))


def _listeners(config: ReadTree) -> Iterator[tuple[Path, Address, str]]:
    """Yield the addresses on which the sections that are served listen, each also as it may be shown."""
    for name, fields, may_be_disabled in _listening():
        tree = section(config, name)
        if may_be_disabled and known(tree.get("enabled")) is not True:
            continue
        for field in fields:
            address = address_of(tree.get(field))
            if address is not None:
                value = tree[field]
                yield (
                    ROOT.child(name).child(field),
                    address,
                    told(value) if value.__class__ is Sourced else str(address),
                )


@cache
def _listening() -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """Return the sections that listen: their names, their address fields, and whether they can be disabled."""
    rows = []
    for part in table.root().fields.values():
        fields = part.message().fields if part.is_message else {}
        listens = tuple(field.name for field in fields.values() if field.format == "address")
        if listens:
            rows.append((part.name, listens, "enabled" in fields))
    return tuple(rows)
