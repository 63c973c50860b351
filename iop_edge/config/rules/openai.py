"""Rules of the OpenAI-compatible front (VAL-08, VAL-09, VAL-12)."""

from typing import Final

from iop_edge.config.headers import MESSAGE_HEADERS, PRINCIPAL_HEADER
from iop_edge.config.marks import INVALID
from iop_edge.config.problems import Problem, Problems, known, told
from iop_edge.config.rules import adapters
from iop_edge.config.rules.inventory import Choice, InstanceEntry, Inventory, placed, section
from iop_edge.config.rules.models import report_unknown_provider
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.values import ReadTree

_NO_TOKENS: Final = (b"", b"\n", b"\r\n")
_NO_CARRIER: Final = "this header says how a message travels: it cannot carry a token"
_OTHER: Final = "name another header"


def check(config: ReadTree, inventory: Inventory, problems: Problems) -> None:
    """Check the routes, who may call, and where a caller's own token may go."""
    front = section(config, "openai")
    path = ROOT.child("openai")
    routes = placed(front, "model_routes")
    if routes:
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
            for _, provider in placed(node.tree, "providers"):
                models = provider.get("models")
                served = map(known, models) if isinstance(models, list) else (None,)
                self._served.setdefault((node.place, provider.get("adapter")), set()).update(served)

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
            message = f"adapter instance {told(name)} is on {len(enabled)} Nodes"
            hint = "give the instance of this route a name of its own"
            self._problems.add(Problem("ref.ambiguous", path.child("adapter"), message, hint, other=enabled[0].path))
        elif named or self._is_complete:
            adapters.explain(name, named, self._choice, path.child("adapter"), self._problems)

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
            self._problems.add(Problem("route.target", path.child("target"), message))


def _check_principal_tokens(front: ReadTree, path: Path, problems: Problems) -> None:
    entries = placed(front, "principal_tokens")
    if not entries:
        return
    from hashlib import sha256

    of_no_token = {sha256(text).hexdigest() for text in _NO_TOKENS}
    for place, entry in entries:
        if known(entry.get("token_hash_sha256")) in of_no_token:
            message = "this is the hash of an empty text, which is nobody's token"
            where = path.child("principal_tokens").index(place).child("token_hash_sha256")
            problems.add(Problem("principal.no_token", where, message, "make one with: iop-edge config hash-token"))


def _check_provider_auth(auth: ReadTree, path: Path, inventory: Inventory, problems: Problems) -> None:
    from_header, target_header = path.child("from_header"), path.child("target_header")
    if _name(auth, "from_header") == PRINCIPAL_HEADER:
        message = "this header carries the principal's own token, which never leaves the Edge"
        problems.add(Problem("provider_auth.from_header", from_header, message, _OTHER))
    if _name(auth, "from_header") in MESSAGE_HEADERS:
        problems.add(Problem("provider_auth.from_header", from_header, _NO_CARRIER, _OTHER))
    if _name(auth, "target_header") in MESSAGE_HEADERS:
        problems.add(Problem("provider_auth.target_header", target_header, _NO_CARRIER, _OTHER))
    identities = auth.get("providers")
    for index, identity in enumerate(identities if isinstance(identities, list) else ()):
        if identity.__class__ is str and identity not in inventory.providers:
            report_unknown_provider(identity, path.child("providers").index(index), inventory, problems)


def _name(auth: ReadTree, field: str) -> str:
    """Return the name of a header as names are compared, or an empty text where it is not known."""
    return (known(auth.get(field)) or "").lower()
