# Generated from proto/. DO NOT EDIT!
"""The types of trees: a normalized config as plain dicts, lists and scalars, and a Node's payload likewise.

A `Required` key is in every normalized config: the field must be given, has a default, or is a section, whose defaults
count where it is left out. Empty lists and maps are left out. Shorthands have no key: normalizing resolves them.
"""

from typing import Literal, Required, TypedDict

LogLevel = Literal["debug", "info", "warning", "error"]
"""The severity of a log line."""


LogFormat = Literal["json", "text"]
"""The format of log lines."""


AdapterType = Literal["ollama", "vllm", "llama_cpp", "openai_compat", "cli"]
"""The kind of backend that an adapter instance connects to."""


ProtocolProfile = Literal["ollama_native", "openai_chat", "openai_responses", "anthropic_messages", "cli"]
"""The protocol between an adapter instance and its backend."""


ProviderCategory = Literal["api", "cli", "local_inference"]
"""The kind of resource that a provider is."""


LifecycleCapability = Literal["load", "unload", "start", "stop", "restart", "drain", "pull"]
"""An operation on the lifecycle of a resource."""


HealthMode = Literal["none", "passive", "active"]
"""How the health of a provider is determined."""


class EdgeIdentity(TypedDict, total=False):
    """The identity of an Edge."""

    id: Required[str]
    """The Edge's id. A Node belongs to one Edge, by this id."""

    name: str
    """Display name."""


class Tls(TypedDict, total=False):
    """TLS material for one end of a connection. Write each value as a `${file:...}` reference."""

    ca: str
    """Certificate authorities that verify the peer, in PEM."""

    cert: str
    """Certificate chain of this end, in PEM."""

    key: str
    """Private key of this end, in PEM."""

    server_name: str
    """Name that the peer's certificate must carry. Unset: the host of its address."""


class Listen(TypedDict, total=False):
    """The listeners of the admin service."""

    grpc: str
    """TCP address of the admin service, for Go services. Requires TLS beyond loopback. Unset: no TCP listener."""

    admin: Required[str]
    """Address of the admin service for the command line. A Unix socket is created with mode 0600."""

    tls: Required[Tls]
    """The admin service's certificate, and the certificate authorities of its clients."""


class Bootstrap(TypedDict, total=False):
    """The server from which new Nodes fetch their software."""

    enabled: Required[bool]
    """Whether the server runs."""

    listen: Required[str]
    """Listen address."""

    artifact_dir: Required[str]
    """Directory of the files that it serves."""


class Logging(TypedDict, total=False):
    """Logging."""

    level: Required[LogLevel]
    """Lowest level that is logged."""

    format: Required[LogFormat]
    """Format of log lines."""


class Metrics(TypedDict, total=False):
    """The Prometheus endpoint."""

    enabled: Required[bool]
    """Whether the endpoint is served."""

    listen: Required[str]
    """Listen address."""


class Console(TypedDict, total=False):
    """The web console."""

    enabled: Required[bool]
    """Whether the console is served."""

    listen: Required[str]
    """Listen address."""


class ControlPlane(TypedDict, total=False):
    """The control plane to which the Edge reports."""

    enabled: Required[bool]
    """Whether the Edge reports to a control plane."""

    url: str
    """URL of the control plane."""


class ModelRoute(TypedDict, total=False):
    """One route of the compatibility catalogue."""

    model: Required[str]
    """Model id that callers send."""

    adapter: Required[str]
    """Name of the adapter instance that serves it; it must be unique among all Nodes."""

    target: Required[str]
    """Name of the model at the adapter's backend."""


class PrincipalToken(TypedDict, total=False):
    """One bearer token of a principal, by its digest."""

    token_ref: Required[str]
    """Name of the token; usage is attributed to it."""

    token_hash_sha256: Required[str]
    """SHA-256 digest of the token, as 64 hexadecimal digits. `iop-edge config hash-token` computes it."""

    principal_ref: Required[str]
    """Principal that the token authenticates; several tokens may share one."""

    principal_alias: str
    """Display name of the principal."""


class ProviderAuth(TypedDict, total=False):
    """Forwarding of callers' own provider tokens to providers of category `api`."""

    enabled: Required[bool]
    """Whether tokens are forwarded."""

    from_header: str
    """Request header that carries the caller's provider token. It must not be the header of the principal's own token."""

    target_header: str
    """Header in which the provider receives the token."""

    scheme: str
    """Authentication scheme before the token. Empty: the bare token is sent."""

    required: bool
    """Whether requests without a token are refused."""

    providers: list[str]
    """Ids of the providers that may receive the token. Unset: every provider of category `api`."""


class OpenAI(TypedDict, total=False):
    """The OpenAI-compatible front."""

    enabled: Required[bool]
    """Whether the front is served."""

    listen: Required[str]
    """Listen address."""

    model_routes: list[ModelRoute]
    """The compatibility catalogue: external model ids that are routed straight to an adapter instance. A model group with the same id wins."""

    principal_tokens: list[PrincipalToken]
    """Who may call: SHA-256 digests of bearer tokens, never the tokens themselves."""

    provider_auth: Required[ProviderAuth]
    """Forwarding of callers' own provider tokens."""


class A2A(TypedDict, total=False):
    """The agent-to-agent (A2A) front."""

    enabled: Required[bool]
    """Whether the front is served."""

    listen: Required[str]
    """Listen address."""

    path: Required[str]
    """Path under which it is served."""


class ModelProvider(TypedDict, total=False):
    """One provider of a model group."""

    id: Required[str]
    """The provider's id."""

    target: str
    """Name of the model at the provider. Unset: the id of the model group."""


class Model(TypedDict, total=False):
    """A model group: a routing key, the providers that serve it, and the policy of its requests."""

    id: Required[str]
    """Id that callers send as `model`."""

    display_name: str
    """Display name."""

    context_window_tokens: int
    """Maximum number of tokens of one request, input and output together. At least 1."""

    default_max_tokens: int
    """Output token limit of requests that set none. At least 1."""

    min_max_tokens: int
    """Minimum output token limit: lower limits are raised to it. At least 1."""

    default_thinking_token_budget: int
    """Thinking budget, in tokens, of requests that set none. At least 0."""

    usage_attribution: dict[str, str]
    """Labels to which usage of this model is attributed."""

    providers: list[ModelProvider]
    """Providers that serve the model."""


class NodeRuntime(TypedDict, total=False):
    """Settings of a Node as a whole."""

    concurrency: Required[int]
    """Maximum number of concurrent requests on the Node. 0: unlimited."""


class AdapterInstance(TypedDict, total=False):
    """A named connector on a Node."""

    name: Required[str]
    """Name of the instance, unique on its Node."""

    type: Required[AdapterType]
    """Kind of backend that it connects to."""

    enabled: Required[bool]
    """Whether the Node runs it."""

    provider: str
    """Label of the service behind it, for type `openai_compat`."""

    protocol_profile: ProtocolProfile
    """Protocol that it speaks. Unset: the default of its type."""

    base_url: str
    """URL of the backend."""

    headers: dict[str, str]
    """Headers sent to the backend. A value is a secret unless its header is known to be harmless."""

    request_timeout_ms: int
    """Timeout of one request to the backend, in milliseconds. 0: none."""

    max_queue: int
    """Maximum number of queued requests per provider on this instance, unless the provider sets its own. 0: requests do not queue."""

    queue_timeout_ms: int
    """Maximum time that a request stays queued, in milliseconds, unless the provider sets its own. 0: no limit."""

    profile: str
    """Profile of the Node's software that an instance of type `cli` runs; never a command."""


class HealthCheck(TypedDict, total=False):
    """How the health of a provider is determined."""

    mode: Required[HealthMode]
    """How health is determined."""

    path: str
    """Path of active probes on the backend's host; it replaces the path of the backend's URL. Unset: the adapter type's own."""

    interval_ms: Required[int]
    """Interval between probes, in milliseconds. For passive checks: the time after which an unhealthy provider receives requests again. At least 1."""

    timeout_ms: Required[int]
    """Timeout of a probe, in milliseconds. At least 1."""

    healthy_threshold: Required[int]
    """Number of consecutive successes after which an unhealthy provider is healthy. At least 1."""

    unhealthy_threshold: Required[int]
    """Number of consecutive failures after which a healthy provider is unhealthy. At least 1."""


class Provider(TypedDict, total=False):
    """A resource on a Node to which requests can be dispatched."""

    id: Required[str]
    """Id of the provider, unique in the whole Edge config."""

    type: Required[AdapterType]
    """Type of its adapter instance."""

    category: Required[ProviderCategory]
    """Kind of resource."""

    adapter: str
    """Name of the adapter instance, on the same Node, that it uses."""

    models: Required[list[str]]
    """Models that it serves, by their names at the backend. At least one, without duplicates."""

    health: Required[HealthCheck]
    """How its health is determined."""

    lifecycle_capabilities: list[LifecycleCapability]
    """Lifecycle operations that it supports."""

    context_size: int
    """Context size of the served model, in tokens. At least 1."""

    enabled: Required[bool]
    """Whether it receives new requests."""

    capacity: Required[int]
    """Maximum number of concurrent requests. At least 1."""

    priority: Required[int]
    """Breaks ties between equally loaded providers: the lowest number wins. At least 0."""

    max_queue: int
    """Maximum number of queued requests. 0: requests do not queue. Unset: the adapter instance's."""

    queue_timeout_ms: int
    """Maximum time that a request stays queued, in milliseconds. 0, or unset beside a `max_queue`: no limit. Unset: the adapter instance's."""


class Node(TypedDict, total=False):
    """A machine that runs adapters. It receives its whole configuration from the Edge."""

    id: Required[str]
    """The Node's id."""

    alias: str
    """Display name."""

    agent_kind: Required[str]
    """Kind of agent that the Node runs; a free-form identifier."""

    address: Required[str]
    """Address at which the Edge connects to the Node."""

    token: str
    """Token with which the Edge authenticates to the Node."""

    tls: Required[Tls]
    """TLS to the Node: how it is verified, and the Edge's own client certificate. Unset: plain text."""

    runtime: Required[NodeRuntime]
    """Settings of the Node as a whole."""

    adapters: list[AdapterInstance]
    """Adapter instances that run on the Node."""

    providers: list[Provider]
    """Resources on the Node to which requests can be dispatched."""


class EdgeConfig(TypedDict, total=False):
    """The configuration of one Edge."""

    edge: Required[EdgeIdentity]
    """The identity of this Edge."""

    listen: Required[Listen]
    """The listeners of the admin service."""

    bootstrap: Required[Bootstrap]
    """The server from which new Nodes fetch their software."""

    logging: Required[Logging]
    """Logging."""

    metrics: Required[Metrics]
    """The Prometheus endpoint."""

    console: Required[Console]
    """The web console."""

    control_plane: Required[ControlPlane]
    """The control plane to which the Edge reports."""

    openai: Required[OpenAI]
    """The OpenAI-compatible front."""

    a2a: Required[A2A]
    """The agent-to-agent (A2A) front."""

    long_context_threshold_tokens: Required[int]
    """Number of estimated input tokens from which a request counts as long-context. Must be positive."""

    models: list[Model]
    """Model groups: which providers serve a model, and under which policy."""

    nodes: list[Node]
    """The Nodes that this Edge connects to."""


class OllamaAdapterConfig(TypedDict, total=False):
    """A connection to an Ollama server."""

    base_url: str
    """URL of the server."""

    headers: dict[str, str]
    """Headers sent with each request."""

    protocol_profile: ProtocolProfile
    """Protocol to speak."""

    request_timeout_ms: int
    """Timeout of one request, in milliseconds. Unset: the adapter's own."""


class VllmAdapterConfig(TypedDict, total=False):
    """A connection to a vLLM server."""

    base_url: str
    """URL of the server."""

    headers: dict[str, str]
    """Headers sent with each request."""

    protocol_profile: ProtocolProfile
    """Protocol to speak."""

    request_timeout_ms: int
    """Timeout of one request, in milliseconds. Unset: the adapter's own."""


class LlamaCppAdapterConfig(TypedDict, total=False):
    """A connection to a llama.cpp server."""

    base_url: str
    """URL of the server."""

    headers: dict[str, str]
    """Headers sent with each request."""

    protocol_profile: ProtocolProfile
    """Protocol to speak."""

    request_timeout_ms: int
    """Timeout of one request, in milliseconds. Unset: the adapter's own."""


class OpenAICompatAdapterConfig(TypedDict, total=False):
    """A connection to a service with an OpenAI-compatible API."""

    base_url: str
    """URL of the service."""

    headers: dict[str, str]
    """Headers sent with each request."""

    protocol_profile: ProtocolProfile
    """Protocol to speak."""

    request_timeout_ms: int
    """Timeout of one request, in milliseconds. Unset: the adapter's own."""

    provider: str
    """Label of the service: the configured one, else the type alias in the config, else empty."""


class CliAdapterConfig(TypedDict, total=False):
    """A command-line agent."""

    profile: str
    """Profile of the Node's software."""

    protocol_profile: ProtocolProfile
    """Protocol to speak."""

    request_timeout_ms: int
    """Timeout of one request, in milliseconds. Unset: the adapter's own."""


class AdapterConfig(TypedDict, total=False):
    """One adapter instance."""

    name: str
    """Name of the instance."""

    ollama: OllamaAdapterConfig
    """An Ollama server."""

    vllm: VllmAdapterConfig
    """A vLLM server."""

    llama_cpp: LlamaCppAdapterConfig
    """A llama.cpp server."""

    openai_compat: OpenAICompatAdapterConfig
    """A service with an OpenAI-compatible API."""

    cli: CliAdapterConfig
    """A command-line agent."""


class ResourceHealthCheck(TypedDict, total=False):
    """How the health of a resource is determined."""

    mode: HealthMode
    """How health is determined."""

    path: str
    """Path of active probes on the backend's host; it replaces the path of the backend's URL. Empty: the adapter type's own."""

    interval_ms: int
    """Interval between probes, in milliseconds. For passive checks: the time after which an unhealthy resource is reported as unknown, so that it is tried again."""

    timeout_ms: int
    """Timeout of a probe, in milliseconds."""

    healthy_threshold: int
    """Number of consecutive successes after which an unhealthy resource is healthy."""

    unhealthy_threshold: int
    """Number of consecutive failures after which a healthy resource is unhealthy."""


class Resource(TypedDict, total=False):
    """One resource of a Node."""

    provider_id: str
    """The provider's id."""

    adapter: str
    """Name of the adapter instance that it uses; empty for a disabled provider without one."""

    models: list[str]
    """Models that it serves."""

    health: ResourceHealthCheck
    """How its health is determined."""

    lifecycle_capabilities: list[LifecycleCapability]
    """Lifecycle operations that it supports, in the order of the enum."""

    context_size: int
    """Context size of the served model, in tokens. Unset: not limited by the config."""


class NodeRuntimeConfig(TypedDict, total=False):
    """Settings of a Node as a whole."""

    concurrency: int
    """Maximum number of concurrent requests on the Node. 0: unlimited."""


class NodeConfigPayload(TypedDict, total=False):
    """Everything that a Node executes, and nothing that the Edge keeps to itself: no capacity, priority, queue, `enabled` or model policy."""

    node_id: str
    """Id of the Node that it is for."""

    adapters: list[AdapterConfig]
    """The enabled adapter instances, sorted by name."""

    resources: list[Resource]
    """The resources, sorted by provider id, including those of disabled providers."""

    runtime: NodeRuntimeConfig
    """Settings of the Node as a whole."""
