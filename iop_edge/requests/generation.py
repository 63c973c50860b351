"""How many tokens a request may make (POL-06)."""

from dataclasses import dataclass
from typing import Final

from iop_edge.requests.request import RequestFacts
from iop_edge.requests.request_refusal import RequestRefusal, RequestRefusalReason
from iop_edge.schema.values import ReadTree, plain

_MOST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GenerationPolicy:
    """What a model group says of token counts; None: nothing. A route says nothing."""

    context_window: int | None = None
    default_max: int | None = None
    min_max: int | None = None
    default_thinking: int | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """The token counts of an execution; None: the backend decides."""

    max_tokens: int | None
    thinking_token_budget: int | None


def generation_policy_of(model: ReadTree) -> GenerationPolicy:
    """Read the policy from the tree of a normalized model group."""
    return GenerationPolicy(
        context_window=plain(model.get("context_window_tokens")),
        default_max=plain(model.get("default_max_tokens")),
        min_max=plain(model.get("min_max_tokens")),
        default_thinking=plain(model.get("default_thinking_token_budget")),
    )


def generation_of(policy: GenerationPolicy, facts: RequestFacts) -> Generation | RequestRefusal:
    """Fill in, raise and lower the token counts of a request as its model group wants it."""
    refusal = (
        _fault("max_tokens", facts.max_tokens, 1)
        or _fault("max_completion_tokens", facts.max_completion_tokens, 1)
        or _fault("thinking_token_budget", facts.thinking_token_budget, 0)
        or _contradiction(facts)
    )
    if refusal is not None:
        return refusal
    asked = _first(facts.max_completion_tokens, facts.max_tokens, policy.default_max)
    most = asked if asked is None or policy.min_max is None else max(asked, policy.min_max)
    if policy.context_window is not None:
        remaining = policy.context_window - facts.estimated_input_tokens
        least = policy.min_max or 1
        if remaining < least:
            return _no_room(policy.context_window, least, facts)
        most = None if most is None else min(most, remaining)
    return Generation(most, _first(facts.thinking_token_budget, policy.default_thinking))


def _fault(name: str, value: object, least: int) -> RequestRefusal | None:
    # To Python a bool is a number; to a caller it is none.
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST):
        return None
    # What came is not shown: it may be anything, of any length.
    message = f"{name} must be a whole number from {least} to {_MOST}"
    return RequestRefusal(RequestRefusalReason.INVALID_VALUE, message, name)


def _contradiction(facts: RequestFacts) -> RequestRefusal | None:
    older, newer = facts.max_tokens, facts.max_completion_tokens
    if older is None or newer is None or older == newer:
        return None
    message = f"max_tokens ({older}) and max_completion_tokens ({newer}) are one limit; give one of them"
    return RequestRefusal(RequestRefusalReason.INVALID_VALUE, message, "max_completion_tokens")


def _no_room(window: int, least: int, facts: RequestFacts) -> RequestRefusal:
    remaining = max(window - facts.estimated_input_tokens, 0)
    message = (
        f"the model takes {window} tokens, input and output together; the input is estimated at"
        f" {facts.estimated_input_tokens}, which leaves {remaining}, and an answer needs {least} or more"
    )
    return RequestRefusal(RequestRefusalReason.CONTEXT_LENGTH, message, "messages")


def _first(*values: object) -> int | None:
    return next((value for value in values if isinstance(value, int)), None)
