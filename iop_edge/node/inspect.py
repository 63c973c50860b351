"""Checks a push before anything of it is built: what is wrong with it, all at once."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import betterproto2

from iop_edge.ids import NodeId
from iop_edge.node.refusal import Refusal
from iop_edge.schema import table
from iop_edge.schema.formats import FORMATS
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.wire import unknown_parts
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import AdapterConfig, NodeConfigPayload, NodeConfigRefreshRequest, Resource

_PAYLOAD = ROOT.child("payload")


def inspect(request: NodeConfigRefreshRequest, node_id: NodeId, profiles: Collection[str]) -> list[Refusal]:
    """Return why a Node with this id and these profiles cannot take a push, whatever it runs now (PSH-02)."""
    refusals = [Refusal("node.unknown", str(path), message) for path, message in _unknown(request)]
    if not request.generation:
        refusals.append(Refusal("node.generation", "generation", "must be 1 or more"))
    if not request.payload_hash:
        refusals.append(Refusal("node.payload", "payload_hash", "is missing"))
    if request.payload is None:
        refusals.append(Refusal("node.payload", str(_PAYLOAD), "is missing"))
        return refusals
    refusals.extend(_in_payload(request.payload, node_id, profiles))
    return refusals


def _unknown(request: NodeConfigRefreshRequest) -> Iterator[tuple[Path, str]]:
    return unknown_parts(request, table.message(NodeConfigRefreshRequest.__name__))


def _in_payload(payload: NodeConfigPayload, node_id: NodeId, profiles: Collection[str]) -> Iterator[Refusal]:
    if payload.node_id != node_id:
        yield Refusal("node.id", str(_PAYLOAD.child("node_id")), f"is not {node_id}, the id of this Node")
    yield from _names(_PAYLOAD.child("adapters"), "name", (adapter.name for adapter in payload.adapters))
    yield from _names(_PAYLOAD.child("resources"), "provider_id", (item.provider_id for item in payload.resources))
    for index, adapter in enumerate(payload.adapters):
        yield from _profile(adapter, _PAYLOAD.child("adapters").index(index), profiles)
        yield from _url(adapter, _PAYLOAD.child("adapters").index(index))
    for index, resource in enumerate(payload.resources):
        yield from _health(resource, _PAYLOAD.child("resources").index(index).child("health"))


def _names(items: Path, field: str, names: Iterable[str]) -> Iterator[Refusal]:
    listed = list(names)
    counts = Counter(listed)
    for index, name in enumerate(listed):
        place = str(items.index(index).child(field))
        if not name:
            yield Refusal("node.name", place, "is missing")
        elif counts[name] > 1:
            yield Refusal("node.name", place, "is given twice")


def _profile(adapter: AdapterConfig, path: Path, profiles: Collection[str]) -> Iterator[Refusal]:
    if adapter.cli is not None and adapter.cli.profile not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        place = str(path.child("cli").child("profile"))
        yield Refusal("node.profile", place, f"is not a profile of this Node; it has: {known}")


def _url(adapter: AdapterConfig, path: Path) -> Iterator[Refusal]:
    kind, config = betterproto2.which_one_of(adapter, "config")
    url = getattr(config, "base_url", None)
    if url is not None and (fault := FORMATS["http_url"].fault(url)):
        yield Refusal("node.url", str(path.child(kind).child("base_url")), fault)


def _health(resource: Resource, path: Path) -> Iterator[Refusal]:
    check = resource.health
    if check is None or check.mode is not HealthMode.ACTIVE:
        return
    for field in ("interval_ms", "timeout_ms"):
        if getattr(check, field) < 1:
            yield Refusal("node.health", str(path.child(field)), "must be 1 or more")
