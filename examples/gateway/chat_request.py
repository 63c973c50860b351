"""A chat request: the body of a chat completion, as far as the front looks into it."""

import json
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from starlette.datastructures import Headers

from iop_edge import Execution, RequestFacts, RequestRefusedError

_BYTES_PER_TOKEN: Final = 4
_LIMITS: Final = ("max_completion_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for a chat completion. `body` is the client's text and stays out of logs."""

    body: dict[str, Any] = field(repr=False)

    @property
    def streams(self) -> bool:
        """Whether the answer is streamed."""
        return self.body.get("stream") is True

    def input_tokens(self) -> int:
        """Estimate the input: the text of the messages, at four bytes of UTF-8 a token.

        It is simple, and knows neither images nor tools; a real front has a tokenizer for each model.
        """
        size = sum(_text_bytes(message) for message in self.body["messages"])
        return -(-size // _BYTES_PER_TOKEN)

    def facts(self, headers: Headers) -> RequestFacts:
        """Return what the Edge's policy looks at."""
        return RequestFacts(
            model=self.body.get("model"),
            headers=headers.items(),
            estimated_input_tokens=self.input_tokens(),
            max_tokens=self.body.get("max_tokens"),
            max_completion_tokens=self.body.get("max_completion_tokens"),
            thinking_token_budget=self.body.get("thinking_token_budget"),
        )

    def body_for(self, execution: Execution, target: str) -> bytes:
        """Return the body for a backend: its own name of the model, and the token counts of the policy."""
        limit = next((name for name in _LIMITS if self.body.get(name) is not None), "max_tokens")
        counts = {limit: execution.max_tokens, "thinking_token_budget": execution.thinking_token_budget}
        kept = {name: value for name, value in self.body.items() if name not in (*_LIMITS, *counts)}
        known = {name: value for name, value in counts.items() if value is not None}
        return json.dumps({**kept, **known, "model": target}).encode()


def read_body(text: bytes) -> ChatRequest:
    """Read a request's body. Its model and token counts are for the policy to check.

    Raises:
        RequestRefusedError: it is not a chat request.
    """
    try:
        body = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise _invalid("invalid_json", "the body is not JSON") from None
    if not isinstance(body, dict):
        raise _invalid("invalid_json", "the body must be a JSON object")
    messages = body.get("messages")
    if not (isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages)):
        raise _invalid("invalid_value", "messages must be a list of messages, at least one", "messages")
    if not isinstance(body.get("stream"), bool | None):
        raise _invalid("invalid_value", "stream must be true or false", "stream")
    return ChatRequest(body)


def _invalid(code: str, message: str, param: str | None = None) -> RequestRefusedError:
    return RequestRefusedError(message, status=400, code=code, param=param)


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)  # NaN and Infinity, which Python reads and JSON does not have


def _text_bytes(message: dict[str, Any]) -> int:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts if isinstance(text, str))
