"""A simulated OpenAI-compatible backend: it counts aloud, so that a lost or repeated number is noticed.

`python examples/gateway/backend.py --port 9001` starts one.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Pace = Callable[[], Awaitable[None]]
"""Waits until the next number is due."""


class Backend:
    """Answers chat completions with as many numbers as `max_tokens` asks for, and counts what it runs.

    `running` and `most` are the requests that it runs now and has run at once; `seen` holds their headers, for tests.
    """

    def __init__(self, name: str, pace: Pace) -> None:
        self.name = name
        self.running = 0
        self.most = 0
        self.failing = False
        self.seen: list[dict[str, str]] = []
        self._pace = pace
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        self.seen.append(dict(request.headers))
        if self.failing:
            return JSONResponse({"error": {"message": f"{self.name} is out of order"}}, status_code=500)
        numbers = self._numbers(int(body.get("max_tokens") or 5))
        if body.get("stream"):
            return StreamingResponse(self._events(body["model"], numbers), media_type="text/event-stream")
        text = " ".join([number async for number in numbers])
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": len(text.split()), "total_tokens": 1 + len(text.split())}
        return JSONResponse({"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage})

    async def _numbers(self, count: int) -> AsyncIterator[str]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for number in range(count):
                await self._pace()
                yield str(number)
        finally:
            self.running -= 1

    async def _events(self, model: str, numbers: AsyncIterator[str]) -> AsyncIterator[bytes]:
        async for number in numbers:
            yield _event({"object": "chat.completion.chunk", "model": model, "choices": [_delta(number)]})
        yield b"data: [DONE]\n\n"


def _delta(text: str) -> dict[str, Any]:
    return {"index": 0, "delta": {"content": f"{text} "}, "finish_reason": None}


def _event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--interval", type=float, default=0.1, help="seconds between two numbers")
    arguments = parser.parse_args()
    backend = Backend(f"backend {arguments.port}", lambda: asyncio.sleep(arguments.interval))
    uvicorn.run(backend.app, host="127.0.0.1", port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
