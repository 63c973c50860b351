# Generated from proto/. DO NOT EDIT!
"""The types of trees: a normalized config as plain dicts, lists and scalars, and a Node's payload likewise.

A `Required` key is in every normalized config: the field must be given, has a default, or is a section, whose defaults
count where it is left out. Empty lists and maps are left out. Shorthands have no key: normalizing resolves them.
"""

from typing import Literal, Required, TypedDict

LogLevel = Literal["debug", "info", "warning", "error"]
"""How much is logged."""


LogFormat = Literal["json", "text"]
"""How a log line is written."""


AdapterType = Literal["ollama", "vllm", "llama_cpp", "openai_compat", "cli"]
"""What an adapter instance connects to."""


ProtocolProfile = Literal["ollama_native", "openai_chat", "openai_responses", "anthropic_messages", "cli"]
"""The protocol that an adapter instance speaks to its backend."""


ProviderCategory = Literal["api", "cli", "local_inference"]
"""The kind of resource that a provider is."""


LifecycleCapability = Literal["load", "unload", "start", "stop", "restart", "drain", "pull"]
"""What can be done to a resource over its lifetime."""


HealthMode = Literal["none", "passive", "active"]
"""How a provider's health is found out."""


class EdgeIdentity(TypedDict, total=False):
    """Who an Edge is."""

    id: Required[str]
    """The Edge's id. A Node belongs to one Edge id."""

    name: str
    """A name for people."""


class Tls(TypedDict, total=False):
    """Certificates of one end of a connection. Give each as a reference to a file."""

    ca: str
    """The authorities that the other end is verified against, in PEM."""

    cert: str
    """The own certificate chain, in PEM."""

    key: str
    """The own private key, in PEM."""

    server_name: str
    """The name that the other end's certificate must carry; unset: the host of its address."""


class Listen(TypedDict, total=False):
    """Where the Edge's admin service listens."""

    grpc: str
    """A TCP address of the admin service, for Go services; off loopback it needs TLS. Unset: no TCP listener."""

    admin: Required[str]
    """The address of the admin service for the command line; a unix socket is created with mode 0600."""

    tls: Required[Tls]
    """The admin service's certificate, and the authority of its clients."""


class Bootstrap(TypedDict, total=False):
    """The server that new Nodes fetch their software from."""

    enabled: Required[bool]
    """Whether the server runs."""

    listen: Required[str]
    """Its address."""

    artifact_dir: Required[str]
    """The directory that holds what it serves."""


class Logging(TypedDict, total=False):
    """How the Edge logs."""

    level: Required[LogLevel]
    """The lowest level that is written."""

    format: Required[LogFormat]
    """The form of a line."""


class Metrics(TypedDict, total=False):
    """The Prometheus endpoint."""

    enabled: Required[bool]
    """Whether the endpoint is served."""

    listen: Required[str]
    """Its address."""


class Console(TypedDict, total=False):
    """The web console."""

    enabled: Required[bool]
    """Whether the console is served."""

    listen: Required[str]
    """Its address."""


class ControlPlane(TypedDict, total=False):
    """The control plane that the Edge reports to."""

    enabled: Required[bool]
    """Whether the Edge reports to a control plane."""

    url: str
    """Its URL."""


class ModelRoute(TypedDict, total=False):
    """One entry of the compatibility catalogue."""

    model: Required[str]
    """The model id that a caller sends."""

    adapter: Required[str]
    """The adapter instance that serves it, one over all Nodes."""

    target: Required[str]
    """The model's name at the adapter's backend."""


class PrincipalToken(TypedDict, total=False):
    """One bearer token of a principal, by its hash."""

    token_ref: Required[str]
    """The token's name: usage is broken down by it."""

    token_hash_sha256: Required[str]
    """The SHA-256 of the token, 64 hex digits. `iop-edge config hash-token` makes one."""

    principal_ref: Required[str]
    """The principal that the token stands for; several tokens may share one."""

    principal_alias: str
    """A name of the principal for people."""


class ProviderAuth(TypedDict, total=False):
    """Forwarding of a caller's own provider token to providers of category api."""

    enabled: Required[bool]
    """Whether a token is forwarded."""

    from_header: str
    """The caller's header that carries the token; never the one that carries the principal's."""

    target_header: str
    """The header that the provider gets it in."""

    scheme: str
    """The word before the token; the empty text sends the bare token."""

    required: bool
    """Whether a request without the token is refused."""

    providers: list[str]
    """The ids of the providers that may receive the token, at least one; unset: every provider of category api."""


class OpenAI(TypedDict, total=False):
    """The OpenAI-compatible front."""

    enabled: Required[bool]
    """Whether the front is served."""

    listen: Required[str]
    """Its address."""

    model_routes: list[ModelRoute]
    """The compatibility catalogue: external model ids that go straight to an adapter. A model group of the same id wins."""

    principal_tokens: list[PrincipalToken]
    """Who may call: hashes of bearer tokens, never the tokens."""

    provider_auth: Required[ProviderAuth]
    """Forwarding of a caller's own provider token."""


class A2A(TypedDict, total=False):
    """The agent-to-agent front."""

    enabled: Required[bool]
    """Whether the front is served."""

    listen: Required[str]
    """Its address."""

    path: Required[str]
    """The path that it is served under."""


class ModelProvider(TypedDict, total=False):
    """One provider of a model group."""

    id: Required[str]
    """The provider's id."""

    target: str
    """The model's name at the provider; unset: the model's id."""


class Model(TypedDict, total=False):
    """A model group: the canonical routing key, the providers that serve it, and the policy of its requests."""

    id: Required[str]
    """The id that callers send as `model`."""

    display_name: str
    """A name for people."""

    context_window_tokens: int
    """The most tokens, input and output together, that one request may take. 1 or more."""

    default_max_tokens: int
    """Max tokens of a request that names none. 1 or more."""

    min_max_tokens: int
    """Max tokens below this are raised to it. 1 or more."""

    default_thinking_token_budget: int
    """Thinking budget, in tokens, of a request that names none. 0 or more."""

    usage_attribution: dict[str, str]
    """Labels that usage of this model is attributed to."""

    providers: list[ModelProvider]
    """The providers that serve the model."""


class NodeRuntime(TypedDict, total=False):
    """What a Node as a whole is told."""

    concurrency: Required[int]
    """Requests that the Node runs at once. 0 or more; 0: no limit of the Node's own."""


class AdapterInstance(TypedDict, total=False):
    """A named connector on a Node."""

    name: Required[str]
    """The instance's name, unique on its Node."""

    type: Required[AdapterType]
    """What it connects to."""

    enabled: Required[bool]
    """Whether the Node runs it."""

    provider: str
    """A label of the service behind it, for type openai_compat."""

    protocol_profile: ProtocolProfile
    """The protocol that it speaks; unset: the type's own."""

    base_url: str
    """The backend's URL."""

    headers: dict[str, str]
    """Headers that are sent to the backend. A value is a secret unless its header is known to be harmless."""

    request_timeout_ms: int
    """The longest that one request to the backend may take, in milliseconds. 0 or more; 0: no limit."""

    max_queue: int
    """Requests that may wait for a provider on this instance, where the provider sets none. 0 or more; 0: no waiting."""

    queue_timeout_ms: int
    """The longest that a request waits, in milliseconds, where the provider sets none. 0 or more; 0: no limit."""

    profile: str
    """The profile of the Node's software that a cli instance runs; never a command."""


class HealthCheck(TypedDict, total=False):
    """How a provider's health is found out."""

    mode: Required[HealthMode]
    """The way."""

    path: str
    """The path that an active probe asks for, on the host of the adapter's backend, in place of the path of its URL; unset: the one that the kind of the adapter has."""

    interval_ms: Required[int]
    """Time between two probes, in milliseconds; of a passive check, the time after which an unhealthy provider gets requests again. 1 or more."""

    timeout_ms: Required[int]
    """The longest that a probe may take, in milliseconds. 1 or more."""

    healthy_threshold: Required[int]
    """Good probes, or requests, in a row that make an unhealthy provider healthy. 1 or more."""

    unhealthy_threshold: Required[int]
    """Bad probes, or requests, in a row that make a healthy provider unhealthy. 1 or more."""


class Provider(TypedDict, total=False):
    """A resource on a Node that requests can be sent to."""

    id: Required[str]
    """The provider's id, unique in the whole Edge config."""

    type: Required[AdapterType]
    """The type of its adapter."""

    category: Required[ProviderCategory]
    """The kind of resource that it is."""

    adapter: str
    """The adapter instance of the same Node that it runs on."""

    models: Required[list[str]]
    """The models that it serves, by their names at the backend. At least one, none twice."""

    health: Required[HealthCheck]
    """How its health is found out."""

    lifecycle_capabilities: list[LifecycleCapability]
    """What can be done to it."""

    context_size: int
    """The most tokens that the served model takes. 1 or more."""

    enabled: Required[bool]
    """Whether new requests are sent to it."""

    capacity: Required[int]
    """Requests that it takes at once. 1 or more."""

    priority: Required[int]
    """Decides between providers with equally many requests in flight: the lower number first. 0 or more."""

    max_queue: int
    """Requests that may wait for it. 0 or more; 0: no waiting."""

    queue_timeout_ms: int
    """The longest that a request waits for it, in milliseconds. 0 or more; 0: no limit."""


class Node(TypedDict, total=False):
    """A machine that runs adapters. It gets everything it runs from the Edge."""

    id: Required[str]
    """The Node's id."""

    alias: str
    """A name for people."""

    agent_kind: Required[str]
    """What kind of agent the Node is, a free identifier."""

    address: Required[str]
    """Where the Edge dials the Node."""

    token: str
    """The token that the Edge shows to the Node."""

    tls: Required[Tls]
    """Verification of the Node, and the Edge's own certificate towards it. Unset: plain text."""

    runtime: Required[NodeRuntime]
    """What the Node as a whole is told."""

    adapters: list[AdapterInstance]
    """The connectors that run on the Node."""

    providers: list[Provider]
    """The resources on the Node that requests can be sent to."""


class EdgeConfig(TypedDict, total=False):
    """The whole configuration of one Edge."""

    edge: Required[EdgeIdentity]
    """Who this Edge is."""

    listen: Required[Listen]
    """Where the Edge's admin service listens."""

    bootstrap: Required[Bootstrap]
    """The server that new Nodes fetch their software from."""

    logging: Required[Logging]
    """How the Edge logs."""

    metrics: Required[Metrics]
    """The Prometheus endpoint."""

    console: Required[Console]
    """The web console."""

    control_plane: Required[ControlPlane]
    """The control plane that the Edge reports to."""

    openai: Required[OpenAI]
    """The OpenAI-compatible front."""

    a2a: Required[A2A]
    """The agent-to-agent front."""

    long_context_threshold_tokens: Required[int]
    """Estimated input tokens from which on a request counts as long-context. More than 0."""

    models: list[Model]
    """The model groups: which providers serve a model, and under which policy."""

    nodes: list[Node]
    """The Nodes that this Edge dials."""


class OllamaAdapterConfig(TypedDict, total=False):
    """A connection to an Ollama server."""

    base_url: str
    """The server's URL."""

    headers: dict[str, str]
    """Headers that are sent to it."""

    protocol_profile: ProtocolProfile
    """The protocol."""

    request_timeout_ms: int
    """The longest that one request may take, in milliseconds; unset: the adapter's own limit."""


class VllmAdapterConfig(TypedDict, total=False):
    """A connection to a vLLM server."""

    base_url: str
    """The server's URL."""

    headers: dict[str, str]
    """Headers that are sent to it."""

    protocol_profile: ProtocolProfile
    """The protocol."""

    request_timeout_ms: int
    """The longest that one request may take, in milliseconds; unset: the adapter's own limit."""


class LlamaCppAdapterConfig(TypedDict, total=False):
    """A connection to a llama.cpp server."""

    base_url: str
    """The server's URL."""

    headers: dict[str, str]
    """Headers that are sent to it."""

    protocol_profile: ProtocolProfile
    """The protocol."""

    request_timeout_ms: int
    """The longest that one request may take, in milliseconds; unset: the adapter's own limit."""


class OpenAICompatAdapterConfig(TypedDict, total=False):
    """A connection to a service with an API in the manner of OpenAI's."""

    base_url: str
    """The service's URL."""

    headers: dict[str, str]
    """Headers that are sent to it."""

    protocol_profile: ProtocolProfile
    """The protocol."""

    request_timeout_ms: int
    """The longest that one request may take, in milliseconds; unset: the adapter's own limit."""

    provider: str
    """The label of the service: the given one, else the type alias that the instance was written with, else empty."""


class CliAdapterConfig(TypedDict, total=False):
    """A command-line agent."""

    profile: str
    """The profile of the Node's software."""

    protocol_profile: ProtocolProfile
    """The protocol."""

    request_timeout_ms: int
    """The longest that one request may take, in milliseconds; unset: the adapter's own limit."""


class AdapterConfig(TypedDict, total=False):
    """One adapter instance."""

    name: str
    """Its name."""

    ollama: OllamaAdapterConfig
    """An Ollama server."""

    vllm: VllmAdapterConfig
    """A vLLM server."""

    llama_cpp: LlamaCppAdapterConfig
    """A llama.cpp server."""

    openai_compat: OpenAICompatAdapterConfig
    """A service with an API in the manner of OpenAI's."""

    cli: CliAdapterConfig
    """A command-line agent."""


class ResourceHealthCheck(TypedDict, total=False):
    """How a resource's health is found out."""

    mode: HealthMode
    """The way."""

    path: str
    """The path that an active probe asks for, on the host of the adapter's backend, in place of the path of its URL; empty: the one that the kind of the adapter has."""

    interval_ms: int
    """Time between two probes, in milliseconds; of a passive check, the time after which an unhealthy resource is to be tried again: it is reported as unknown, and the next result decides."""

    timeout_ms: int
    """The longest that a probe may take, in milliseconds."""

    healthy_threshold: int
    """Good probes, or requests, in a row that make an unhealthy resource healthy."""

    unhealthy_threshold: int
    """Bad probes, or requests, in a row that make a healthy resource unhealthy."""


class Resource(TypedDict, total=False):
    """One resource of a Node."""

    provider_id: str
    """The provider's id."""

    adapter: str
    """The name of the adapter instance that it runs on; empty for a disabled provider without one."""

    models: list[str]
    """The models that it serves."""

    health: ResourceHealthCheck
    """How its health is found out."""

    lifecycle_capabilities: list[LifecycleCapability]
    """What can be done to it, in the order of the enum."""

    context_size: int
    """The most tokens that the served model takes; unset: not limited by config."""


class NodeRuntimeConfig(TypedDict, total=False):
    """What a Node as a whole is told."""

    concurrency: int
    """Requests that the Node runs at once; 0: no limit of the Node's own."""


class NodeConfigPayload(TypedDict, total=False):
    """All that a Node executes. It holds nothing that the Edge owns: no capacity, priority, queue, enabled mark or model policy."""

    node_id: str
    """The Node that it is for."""

    adapters: list[AdapterConfig]
    """The enabled adapter instances, by name."""

    resources: list[Resource]
    """The resources, by provider id; those of disabled providers too."""

    runtime: NodeRuntimeConfig
    """What the Node as a whole is told."""
