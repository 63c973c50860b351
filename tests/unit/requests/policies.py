"""Small configs for the policies of requests, and what tests ask of them."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import RequestRefusedError
from iop_edge.requests.facts import RequestFacts
from iop_edge.requests.policy import RequestPolicy

TOKEN: Final = "principal-token-of-alice"
"""The token of a principal."""

OWN: Final = "own-provider-token"
"""A caller's own token for a provider."""

THRESHOLD: Final = 1000

_AUTH: Final = {"from_header": "X-Own", "target_header": "Authorization", "scheme": "Bearer", "required": True}


def policy(
    *,
    tokens: Sequence[str] = (),
    routes: Sequence[str] = (),
    auth: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
) -> RequestPolicy:
    """The policy of a config with a model group `m`, these routes, the tokens of principals, and provider auth."""
    front: dict[str, Any] = {
        "model_routes": [{"model": name, "adapter": "v", "target": "t"} for name in routes],
        "principal_tokens": [
            {
                "token_ref": f"ref-{number}",
                "token_hash_sha256": hashlib.sha256(token.encode()).hexdigest(),
                "principal_ref": "alice",
                "principal_alias": "Alice",
            }
            for number, token in enumerate(tokens)
        ],
        "provider_auth": {"enabled": True, **_AUTH, **auth} if auth is not None else {"enabled": False},
    }
    models = [{"id": "m", "usage_attribution": {"team": "x"}, **(model or {})}]
    return RequestPolicy.of(Snapshot({"openai": front, "models": models, "long_context_threshold_tokens": THRESHOLD}))


def facts(model: object = "m", headers: Any = (), estimated: int = 10, **limits: object) -> RequestFacts:
    return RequestFacts(model, headers, estimated, **limits)


def refusal(call: Callable[..., object], *arguments: Any) -> RequestRefusedError:
    """The error that a call raises."""
    with pytest.raises(RequestRefusedError) as caught:
        call(*arguments)
    return caught.value


def refusals() -> list[RequestRefusedError]:
    """One error of each kind that the policy of requests raises."""
    closed, forwarding = policy(tokens=(TOKEN,)), policy(auth={}, model={"context_window_tokens": 10})
    api: tuple[str, str, dict[str, str]] = ("p", "api", {})
    return [
        refusal(closed.prepare, facts()),
        refusal(forwarding.prepare, facts("nope")),
        refusal(forwarding.prepare, facts(max_tokens=0)),
        refusal(forwarding.prepare, facts(estimated=10)),
        refusal(forwarding.prepare(facts(estimated=1)).headers_for, *api),
        refusal(forwarding.prepare(facts(estimated=1, headers={"X-Own": "two words"})).headers_for, *api),
    ]
