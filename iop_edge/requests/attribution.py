"""Whom the usage of a request is attributed to (POL-09)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from iop_edge.ids import ModelId, PrincipalRef, ProviderId, RouteId, TokenRef
from iop_edge.schema.table import INT_RANGES

_MOST: Final = INT_RANGES["int64"][1]


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """What one request has used, and for whom. It holds no secret, and `asdict` makes of it what JSON can hold.

    Of `model_id` and `route_id` one is set. `labels` are the model group's `usage_attribution`. The three fields of the
    principal are empty where the config knows no tokens. A token count is None where the backend gave none.
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


def token_count(value: object) -> int | None:
    """Return a count as a backend has sent it, or None for what is no count."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST else None
