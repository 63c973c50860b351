"""What the config makes of a request: an execution, or a refusal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import RequestRefusedError
from iop_edge.ids import DispatchKey, ModelId, ModelKey, PrincipalRef, ProviderId, RouteId, RouteKey, TokenRef
from iop_edge.requests.facts import RequestFacts, is_token_count
from iop_edge.requests.generation import GenerationPolicy, invalid_value
from iop_edge.requests.principals import Principal, Principals
from iop_edge.requests.provider_auth import ForwardedToken, ProviderAuth

if TYPE_CHECKING:
    from iop_pb import trees

_NOBODY: Final = Principal(PrincipalRef(""), "", TokenRef(""))
_MAX_SHOWN: Final = 256


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one request has used, and on whose behalf (POL-09). It holds no secret, and `asdict` gives JSON values.

    Either `model_id` or `route_id` is set. `labels` are the model group's `usage_attribution`. The principal's fields
    are empty where the config has no tokens. A token count is None where the backend gave none.
    """

    model_id: ModelId | None
    route_id: RouteId | None
    labels: Mapping[str, str]
    provider_id: ProviderId
    principal_ref: PrincipalRef
    principal_alias: str
    token_ref: TokenRef
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class Execution:
    """A request as it is to be run: acquire `key` from the pool, and send the request to the provider that it leases.

    The backend decides where `max_tokens` or `thinking_token_budget` is None. `principal` is None where the config has
    no tokens.
    """

    key: DispatchKey
    max_tokens: int | None
    thinking_token_budget: int | None
    is_long_context: bool
    principal: Principal | None
    labels: Mapping[str, str]
    _auth: ProviderAuth | None = field(repr=False)
    _token: ForwardedToken | None = field(repr=False)

    def headers_for(self, provider_id: ProviderId, category: str, configured: Mapping[str, str]) -> dict[str, str]:
        """Return the headers for one attempt at one provider (POL-08). Call it again for each attempt.

        Of the caller's own headers they hold nothing but its provider token, if the provider may have it.

        Args:
            provider_id: the provider.
            category: its category, as the lease has it.
            configured: the headers of its adapter instance.

        Raises:
            RequestRefusedError: the provider needs the caller's own token, which is missing or cannot be forwarded.
        """
        if self._auth is None or not self._auth.is_for(provider_id, category):
            return dict(configured)
        return self._auth.apply(self._token, configured)

    def usage(self, provider_id: ProviderId, input_tokens: object, output_tokens: object) -> UsageRecord:
        """Return the record of what one attempt has used.

        Args:
            provider_id: the provider that ran it.
            input_tokens: the backend's count, as its answer has it; what is not a count is recorded as None.
            output_tokens: likewise.
        """
        principal = self.principal or _NOBODY
        return UsageRecord(
            model_id=self.key.id if isinstance(self.key, ModelKey) else None,
            route_id=self.key.id if isinstance(self.key, RouteKey) else None,
            labels=dict(self.labels),
            provider_id=provider_id,
            principal_ref=principal.ref,
            principal_alias=principal.alias,
            token_ref=principal.token_ref,
            input_tokens=_count(input_tokens),
            output_tokens=_count(output_tokens),
        )


@dataclass(frozen=True, slots=True)
class _Served:
    """What an external model name stands for (POL-10, VAL-09), and the policy of its requests."""

    key: DispatchKey
    generation: GenerationPolicy
    labels: Mapping[str, str]

    @classmethod
    def of_model(cls, model: "trees.Model") -> "_Served":
        labels = dict(model.get("usage_attribution", {}))
        return cls(ModelKey(ModelId(model["id"])), GenerationPolicy.of(model), labels)

    @classmethod
    def of_route(cls, route: "trees.ModelRoute") -> "_Served":
        return cls(RouteKey(RouteId(route["model"])), GenerationPolicy(), {})


@dataclass(frozen=True, slots=True, repr=False)
class RequestPolicy:
    """All that one config says of requests. An execution stays as it is when the config changes.

    Example:
        policy = RequestPolicy.of(snapshot)
        execution = policy.prepare(RequestFacts("qwen", request.headers, estimated_input_tokens=700))
        async with edge.pool.acquire(execution.key) as lease:
            headers = execution.headers_for(lease.provider_id, lease.category, configured)
    """

    _served: Mapping[str, _Served]
    _principals: Principals
    _auth: ProviderAuth | None
    _threshold: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> "RequestPolicy":
        """Read the policy of a config.

        Raises:
            ValueError: the config was loaded offline, and has unresolved references.
        """
        if snapshot.is_offline:
            raise ValueError("a config with unresolved references has no request policy; load it online")
        tree = snapshot.tree
        front = tree["openai"]
        served = {model["id"]: _Served.of_model(model) for model in tree.get("models", ())}
        for route in front.get("model_routes", ()):
            served.setdefault(route["model"], _Served.of_route(route))
        return cls(
            _served=served,
            _principals=Principals.of(front.get("principal_tokens", ())),
            _auth=ProviderAuth.of(front["provider_auth"]),
            _threshold=tree["long_context_threshold_tokens"],
        )

    def names(self) -> tuple[str, ...]:
        """Return the external model names that requests may use: model groups, then routes."""
        return tuple(self._served)

    def authenticate(self, facts: RequestFacts) -> Principal | None:
        """Return who calls, whatever they request; None where the config has no tokens.

        Raises:
            RequestRefusedError: the caller is unknown.
        """
        return self._principals.authenticate(facts)

    def prepare(self, facts: RequestFacts) -> Execution:
        """Return what becomes of a request (POL-06 to POL-10).

        Raises:
            RequestRefusedError: the caller or the model is unknown, or a token count is invalid or too large.
        """
        principal = self._principals.authenticate(facts)
        served = self._served.get(facts.model) if isinstance(facts.model, str) else None
        if served is None:
            raise _unknown_model(facts.model)
        max_tokens, thinking_token_budget = served.generation.limits(facts)
        return Execution(
            key=served.key,
            max_tokens=max_tokens,
            thinking_token_budget=thinking_token_budget,
            is_long_context=facts.estimated_input_tokens >= self._threshold,
            principal=principal,
            labels=dict(served.labels),
            _auth=self._auth,
            _token=None if self._auth is None else self._auth.token_of(facts, self._principals),
        )

    def __repr__(self) -> str:
        return f"RequestPolicy({len(self._served)} names, {self._principals})"


def _count(value: object) -> int | None:
    return value if is_token_count(value) else None


def _unknown_model(model: object) -> RequestRefusedError:
    if isinstance(model, str) and model:
        shown = model if len(model) <= _MAX_SHOWN else f"{model[:_MAX_SHOWN]}..."
        return RequestRefusedError(
            f"the model {shown!r} does not exist", status=404, code="model_not_found", param="model"
        )
    return invalid_value("model must be the name of a model", "model")
