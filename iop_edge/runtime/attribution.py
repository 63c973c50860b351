"""Whom the usage of a request is attributed to (POL-09)."""

from collections.abc import Mapping
from dataclasses import dataclass

from iop_edge.ids import ModelId, PrincipalRef, ProviderId, RouteId, TokenRef


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one request has used, and for whom. It holds no secret.

    Of `model_id` and `route_id` one is set. `labels` are the model group's `usage_attribution`. The three fields of the
    principal are empty where the config knows no tokens.
    """

    model_id: ModelId | None
    route_id: RouteId | None
    labels: Mapping[str, str]
    provider_id: ProviderId
    principal_ref: PrincipalRef
    principal_alias: str
    token_ref: TokenRef
    input_tokens: int
    output_tokens: int
