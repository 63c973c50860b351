"""Checks a push before anything of it is built, and finds all faults at once."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import betterproto2

from iop_edge.ids import NodeId
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.formats import FORMATS
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.wire import unknown_parts
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import AdapterConfig, NodeConfigPayload, NodeConfigRefreshRequest, NodeViolation, Resource

BUILT_IN_PROFILES: Final = frozenset({"claude-code", "codex", "gemini-cli"})
"""The command-line agents that the reference Node can run: a config names a profile, never a command (VAL-05)."""

_PAYLOAD: Final = ROOT.child("payload")


def inspect(request: NodeConfigRefreshRequest, node_id: NodeId, profiles: Collection[str]) -> list[NodeViolation]:
    """Return why a Node with this id and these profiles cannot take a push, whatever it runs now (PSH-02)."""
    unknown = unknown_parts(request, table.message(NodeConfigRefreshRequest.__name__))
    violations = [violation(Rule.NODE_UNKNOWN, path, message) for path, message in unknown]
    if not request.generation:
        violations.append(violation(Rule.NODE_GENERATION, ROOT.child("generation"), "must be 1 or more"))
    if not request.payload_hash:
        violations.append(violation(Rule.NODE_PAYLOAD, ROOT.child("payload_hash"), "is missing"))
    if request.payload is None:
        violations.append(violation(Rule.NODE_PAYLOAD, _PAYLOAD, "is missing"))
    else:
        violations.extend(_in_payload(request.payload, node_id, profiles))
    return violations


def violation(rule: Rule, path: Path, message: str) -> NodeViolation:
    """Return one reason to refuse a push. The message holds no secret."""
    return NodeViolation(rule=rule, path=str(path), message=message)


def _in_payload(payload: NodeConfigPayload, node_id: NodeId, profiles: Collection[str]) -> Iterator[NodeViolation]:
    adapters, resources = _PAYLOAD.child("adapters"), _PAYLOAD.child("resources")
    if payload.node_id != node_id:
        yield violation(Rule.NODE_ID, _PAYLOAD.child("node_id"), f"is not {node_id}, the id of this Node")
    yield from _names(adapters, "name", (adapter.name for adapter in payload.adapters))
    yield from _names(resources, "provider_id", (resource.provider_id for resource in payload.resources))
    for index, adapter in enumerate(payload.adapters):
        yield from _adapter(adapter, adapters.index(index), profiles)
    for index, resource in enumerate(payload.resources):
        yield from _health(resource, resources.index(index).child("health"))


def _names(items: Path, field: str, names: Iterable[str]) -> Iterator[NodeViolation]:
    listed = list(names)
    counts = Counter(listed)
    for index, name in enumerate(listed):
        if not name or counts[name] > 1:
            yield violation(Rule.NODE_NAME, items.index(index).child(field), "is given twice" if name else "is missing")


def _adapter(adapter: AdapterConfig, path: Path, profiles: Collection[str]) -> Iterator[NodeViolation]:
    if adapter.cli is not None and adapter.cli.profile not in profiles:
        known = ", ".join(sorted(profiles)) or "none"
        where = path.child("cli").child("profile")
        yield violation(Rule.NODE_PROFILE, where, f"is not a profile of this Node; it has: {known}")
    kind, config = betterproto2.which_one_of(adapter, "config")
    url = getattr(config, "base_url", None)
    if url is not None and (fault := FORMATS["http_url"].fault(url)):
        yield violation(Rule.NODE_URL, path.child(kind).child("base_url"), fault)


def _health(resource: Resource, path: Path) -> Iterator[NodeViolation]:
    check = resource.health
    if check is None or check.mode is not HealthMode.ACTIVE:
        return
    for field in ("interval_ms", "timeout_ms"):
        if getattr(check, field) < 1:
            yield violation(Rule.NODE_HEALTH, path.child(field), "must be 1 or more")
