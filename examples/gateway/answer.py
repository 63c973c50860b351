"""The answer to the client, and the tokens that it used."""

import json
from typing import Any, Final

from starlette.types import Send

from iop_edge import RequestRefusedError

_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_LONGEST_LINE: Final = 1 << 20


class Answer:
    """An HTTP answer that is sent part by part. Once it has begun, no other backend can take the request over."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def whole(self, status: int, body: bytes) -> None:
        """Send an answer of JSON."""
        await self._begin(status, _JSON, [(b"content-length", b"%d" % len(body))])
        await self._end(body)

    async def error(self, error: RequestRefusedError) -> None:
        """Send an error; in a stream that has begun, as its last event."""
        body = json.dumps(error.body()).encode()
        if self.has_begun:
            await self._end(b"\n\ndata: " + body + b"\n\n")
        else:
            await self.whole(error.status, body)

    async def part(self, part: bytes) -> None:
        """Send a part of a stream of events."""
        if not self.has_begun:
            await self._begin(200, _EVENTS, [(b"cache-control", b"no-cache")])
        await self._send({"type": "http.response.body", "body": part, "more_body": True})

    async def end(self) -> None:
        """End a stream of events."""
        await self._end(b"")

    async def _begin(self, status: int, media_type: str, headers: list[tuple[bytes, bytes]]) -> None:
        self.has_begun = True
        fields = [(b"content-type", media_type.encode()), *headers]
        await self._send({"type": "http.response.start", "status": status, "headers": fields})

    async def _end(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body})


class Meter:
    """Counts the tokens of an answer as it passes through.

    A backend that reports its `usage` is believed; of a stream that does not, or was cut, each event counts as a token.
    """

    def __init__(self, estimated_input: int) -> None:
        self.input_tokens = estimated_input
        self.output_tokens = 0
        self.is_complete = False
        self._rest = b""

    def see_part(self, part: bytes) -> None:
        """Count a part of a stream of events, which may begin and end anywhere."""
        *lines, rest = (self._rest + part).split(b"\n")
        # What is that long reports no usage; to keep it would let a backend fill the memory.
        self._rest = rest if len(rest) <= _LONGEST_LINE else b""
        for line in lines:
            if line.startswith(b"data:"):
                self._see_event(line.removeprefix(b"data:").strip())

    def see_whole(self, body: bytes) -> None:
        """Count an answer that came in one piece."""
        self._take_usage(body)
        self.is_complete = True

    def _see_event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.is_complete = True
        elif not (b'"usage"' in data and self._take_usage(data)):
            self.output_tokens += 1

    def _take_usage(self, text: bytes) -> bool:
        try:
            usage: Any = json.loads(text)["usage"]
            counts = usage["prompt_tokens"], usage["completion_tokens"]
        except (ValueError, TypeError, LookupError, RecursionError):
            return False
        if any(type(count) is not int or count < 0 for count in counts):
            return False
        self.input_tokens, self.output_tokens = counts
        return True
