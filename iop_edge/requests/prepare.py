"""What the config makes of a request: an execution, or a refusal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from iop_edge.config.snapshot import Snapshot
from iop_edge.ids import DispatchKey, ModelId, ModelKey, PrincipalRef, ProviderId, RouteKey, TokenRef
from iop_edge.requests.attribution import UsageRecord, token_count
from iop_edge.requests.generation import GenerationPolicy, generation_of, generation_policy_of
from iop_edge.requests.long_context import is_long_context
from iop_edge.requests.principals import Principal, Principals, principals_of
from iop_edge.requests.provider_auth import ForwardedToken, ProviderAuth, provider_auth_of
from iop_edge.requests.request import RequestFacts
from iop_edge.requests.request_refusal import RequestRefusal, RequestRefusalReason
from iop_edge.requests.routing import Routing, routing_of
from iop_edge.schema.values import ReadTree, plain

_OF_A_ROUTE: Final = GenerationPolicy()


class Place(Protocol):
    """Where a request was carried out; a lease is one."""

    @property
    def provider_id(self) -> ProviderId:
        """The provider."""


@dataclass(frozen=True, slots=True)
class Execution:
    """A request as it is to be carried out: ask the pool for `key`, and send what it leases.

    `max_tokens` and `thinking_token_budget` of None are the backend's to decide. `principal` is None where the config
    knows no tokens.
    """

    key: DispatchKey
    max_tokens: int | None
    thinking_token_budget: int | None
    is_long_context: bool
    principal: Principal | None
    labels: Mapping[str, str]
    _auth: ProviderAuth | None = field(repr=False)
    _token: ForwardedToken | RequestRefusal | None = field(repr=False)

    def headers_for(
        self, provider_id: ProviderId, category: str, configured: Mapping[str, str]
    ) -> dict[str, str] | RequestRefusal:
        """Return the headers of one try at one provider (POL-08). Ask anew for each try.

        Nothing of the caller's own headers is among them but its provider token, where the provider may have it.

        Args:
            provider_id: the provider.
            category: its category, as the lease has it.
            configured: the headers of its adapter instance.
        """
        if self._auth is None or not self._auth.is_for(provider_id, category):
            return dict(configured)
        return self._auth.apply(self._token, configured)

    def usage(self, place: Place, input_tokens: object, output_tokens: object) -> UsageRecord:
        """Return the record of what the request has used at one place (POL-09).

        Args:
            place: where it was carried out.
            input_tokens: what the backend counted, as its answer has it; what is no count is recorded as unknown.
            output_tokens: likewise.
        """
        principal = self.principal or Principal(PrincipalRef(""), "", TokenRef(""))
        return UsageRecord(
            model_id=self.key.id if isinstance(self.key, ModelKey) else None,
            route_id=self.key.id if isinstance(self.key, RouteKey) else None,
            labels=dict(self.labels),
            provider_id=place.provider_id,
            principal_ref=principal.ref,
            principal_alias=principal.alias,
            token_ref=principal.token_ref,
            input_tokens=token_count(input_tokens),
            output_tokens=token_count(output_tokens),
        )


@dataclass(frozen=True, slots=True, repr=False)
class RequestPolicy:
    """All that one config says of requests, read once. A request stays as it was prepared when the config changes."""

    _routing: Routing
    _generation: Mapping[ModelId, GenerationPolicy]
    _labels: Mapping[ModelId, Mapping[str, str]]
    _principals: Principals
    _auth: ProviderAuth | None
    _threshold: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> "RequestPolicy":
        """Read the policy of a config whose references are resolved."""
        tree = snapshot.tree
        front: ReadTree = tree.get("openai", {})
        models: list[ReadTree] = tree.get("models", [])
        return cls(
            _routing=routing_of(tree),
            _generation={ModelId(model["id"]): generation_policy_of(model) for model in models},
            _labels={ModelId(model["id"]): _labels_of(model) for model in models},
            _principals=principals_of(front.get("principal_tokens", ())),
            _auth=provider_auth_of(front.get("provider_auth", {})),
            _threshold=plain(tree["long_context_threshold_tokens"]),
        )

    def names(self) -> tuple[str, ...]:
        """Return the external model names that requests may use."""
        return tuple(self._routing)

    def authenticate(self, facts: RequestFacts) -> Principal | RequestRefusal | None:
        """Say who calls, without looking at what is asked for; None where the config knows no tokens."""
        return self._principals.authenticate(facts)

    def prepare(self, facts: RequestFacts) -> Execution | RequestRefusal:
        """Say what becomes of a request (POL-06 to POL-10): who calls comes first, then what is asked for."""
        principal = self._principals.authenticate(facts)
        if isinstance(principal, RequestRefusal):
            return principal
        key = self._routing.get(facts.model) if isinstance(facts.model, str) else None
        if key is None:
            return _unknown_model(facts.model)
        model_id = key.id if isinstance(key, ModelKey) else None
        policy = _OF_A_ROUTE if model_id is None else self._generation[model_id]
        generation = generation_of(policy, facts)
        if isinstance(generation, RequestRefusal):
            return generation
        return Execution(
            key=key,
            max_tokens=generation.max_tokens,
            thinking_token_budget=generation.thinking_token_budget,
            is_long_context=is_long_context(facts.estimated_input_tokens, self._threshold),
            principal=principal,
            labels={} if model_id is None else dict(self._labels[model_id]),
            _auth=self._auth,
            _token=None if self._auth is None else self._auth.token_of(facts, self._principals),
        )

    def __repr__(self) -> str:
        return f"RequestPolicy({len(self._routing)} names, {self._principals})"


def _labels_of(model: ReadTree) -> Mapping[str, str]:
    labels = model.get("usage_attribution", {})
    return {name: plain(value) for name, value in labels.items()}


def _unknown_model(model: object) -> RequestRefusal:
    if isinstance(model, str) and model:
        shown = model if len(model) <= 256 else f"{model[:256]}..."
        return RequestRefusal(RequestRefusalReason.UNKNOWN_MODEL, f"the model {shown!r} does not exist", "model")
    return RequestRefusal(RequestRefusalReason.INVALID_VALUE, "model must be the name of a model", "model")
