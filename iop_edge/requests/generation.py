"""How many tokens a request may generate (POL-06)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from iop_edge.errors import RequestRefusedError
from iop_edge.requests.facts import MAX_TOKENS, RequestFacts, is_token_count

if TYPE_CHECKING:
    from iop_pb import trees


@dataclass(frozen=True, slots=True)
class GenerationPolicy:
    """The token counts of a model group; None: unspecified, as all of them are for a route."""

    context_window: int | None = None
    default_max: int | None = None
    min_max: int | None = None
    default_thinking: int | None = None

    @classmethod
    def of(cls, model: "trees.Model") -> Self:
        """Read the policy of a model group."""
        return cls(
            context_window=model.get("context_window_tokens"),
            default_max=model.get("default_max_tokens"),
            min_max=model.get("min_max_tokens"),
            default_thinking=model.get("default_thinking_token_budget"),
        )

    def limits(self, facts: RequestFacts) -> tuple[int | None, int | None]:
        """Return max tokens and thinking budget of a request; None: the backend decides.

        Raises:
            RequestRefusedError: a count is invalid, or the input leaves no room for an answer.
        """
        older = _count("max_tokens", facts.max_tokens, 1)
        newer = _count("max_completion_tokens", facts.max_completion_tokens, 1)
        thinking = _count("thinking_token_budget", facts.thinking_token_budget, 0)
        if older is not None and newer is not None and older != newer:
            message = f"max_tokens ({older}) and max_completion_tokens ({newer}) are one limit; give one of them"
            raise invalid_value(message, "max_completion_tokens")
        wanted = next((count for count in (newer, older, self.default_max) if count is not None), None)
        limit = wanted if wanted is None or self.min_max is None else max(wanted, self.min_max)
        if self.context_window is not None:
            room = self._room(self.context_window, facts.estimated_input_tokens)
            limit = None if limit is None else min(limit, room)
        return limit, self.default_thinking if thinking is None else thinking

    def _room(self, window: int, estimated: int) -> int:
        least = self.min_max or 1
        room = max(window - estimated, 0)
        if room < least:
            message = (
                f"the model takes {window} tokens, input and output together; the input is estimated at {estimated},"
                f" which leaves {room}, and an answer needs {least} or more"
            )
            raise RequestRefusedError(message, status=400, code="context_length_exceeded", param="messages")
        return room


def invalid_value(message: str, param: str) -> RequestRefusedError:
    """Return the error of a field with an invalid value."""
    return RequestRefusedError(message, status=400, code="invalid_value", param=param)


def _count(name: str, value: object, least: int) -> int | None:
    if value is None:
        return None
    if is_token_count(value, least):
        return value
    # The value is not shown: it may be anything, of any length.
    raise invalid_value(f"{name} must be a whole number from {least} to {MAX_TOKENS}", name)
