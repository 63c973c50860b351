"""Payloads and pushes as an Edge would send them."""

from typing import Any

from iop_edge.ids import NodeId
from iop_edge.node.health import MonitoredResource
from iop_pb.iop.config.v1 import HealthMode, ProtocolProfile
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    CliAdapterConfig,
    HandshakeRequest,
    NodeConfigPayload,
    NodeConfigRefreshMode,
    NodeConfigRefreshRequest,
    NodeRuntimeConfig,
    Resource,
    ResourceHealthCheck,
    VllmAdapterConfig,
    WatchHealthRequest,
)

NODE_ID = NodeId("gpu-a")
EDGE_ID = "edge-1"
INSTANCE = "instance-1"

COMMIT = NodeConfigRefreshMode.COMMIT
DRY_RUN = NodeConfigRefreshMode.DRY_RUN


def adapter(name: str = "vllm", base_url: str = "http://127.0.0.1:8000") -> AdapterConfig:
    """Return an adapter that every Node can build."""
    config = VllmAdapterConfig(base_url=base_url, protocol_profile=ProtocolProfile.OPENAI_CHAT)
    return AdapterConfig(name=name, vllm=config)


def command_line(profile: str, name: str = "agent") -> AdapterConfig:
    """Return an adapter that runs a profile."""
    return AdapterConfig(name=name, cli=CliAdapterConfig(profile=profile, protocol_profile=ProtocolProfile.CLI))


def resource(provider_id: str = "qwen", mode: HealthMode = HealthMode.PASSIVE, name: str = "vllm") -> Resource:
    """Return a resource on the adapter."""
    return Resource(provider_id=provider_id, adapter=name, models=["m"], health=ResourceHealthCheck(mode=mode))


def monitored(provider_id: str = "qwen", mode: HealthMode = HealthMode.PASSIVE, **parts: Any) -> MonitoredResource:
    """Return a resource on an adapter at `base_url`; the other parts are those of its health check."""
    backend = adapter(base_url=parts.pop("base_url", "http://127.0.0.1:8000"))
    check = ResourceHealthCheck(mode=mode, **{"interval_ms": 10_000, "timeout_ms": 2000, **parts})
    return MonitoredResource(
        Resource(provider_id=provider_id, adapter=backend.name, models=["m"], health=check), backend
    )


def payload(concurrency: int = 1, *, node_id: str = NODE_ID, **parts: Any) -> NodeConfigPayload:
    """Return a payload; the concurrency tells one content from another."""
    parts = {"adapters": [adapter()], "resources": [resource()], **parts}
    return NodeConfigPayload(node_id=node_id, runtime=NodeRuntimeConfig(concurrency=concurrency), **parts)


def push(generation: int, content: NodeConfigPayload | None = None, **parts: Any) -> NodeConfigRefreshRequest:
    """Return a push of a payload; its hash follows its content."""
    content = payload() if content is None else content
    parts = {"mode": COMMIT, "edge_id": EDGE_ID, "edge_instance_id": INSTANCE, "revision": generation * 10, **parts}
    parts.setdefault("payload_hash", bytes(content)[:32])
    return NodeConfigRefreshRequest(generation=generation, payload=content, **parts)


def handshake(edge_id: str = EDGE_ID, instance_id: str = INSTANCE, **parts: Any) -> HandshakeRequest:
    """Return a handshake."""
    parts = {"protocol_version": 1, **parts}
    return HandshakeRequest(edge_id=edge_id, edge_instance_id=instance_id, **parts)


def watch(edge_id: str = EDGE_ID, instance_id: str = INSTANCE) -> WatchHealthRequest:
    """Return the request that opens the stream of a session."""
    return WatchHealthRequest(edge_id=edge_id, edge_instance_id=instance_id)
