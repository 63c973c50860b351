"""A small OpenAI-compatible front: what the config means when a request comes.

`python examples/gateway/front.py edge.yaml` serves `/v1/chat/completions` and `/v1/models` on the config's
`openai.listen`, through the provider pool of an Edge in the same process. SIGHUP makes it read the file again.

It is an example. It calls the backends itself, where a real Edge would have the Nodes call them.
"""

import argparse
import asyncio
import json
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import iop_edge

LOG: Final = logging.getLogger("gateway")
MOST_BYTES: Final = 4 * 1024 * 1024
CHARACTERS_PER_TOKEN: Final = 4
"""A rough guess. A real front asks the model's tokenizer."""


@dataclass(frozen=True)
class Backend:
    """Where an adapter instance connects to; its headers are secrets."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout: float | None


class RefusedError(Exception):
    """The request is answered with an error; no provider runs it."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        kind = "invalid_request_error" if status < 500 else "server_error"
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code}}

    @classmethod
    def of(cls, refusal: iop_edge.RequestRefusal | iop_edge.Refusal) -> "RefusedError":
        """Return the error for a refusal of the policy or of the pool."""
        error = iop_edge.openai_error(refusal)
        return cls(error.status, error.code, error.message, error.param)


class ProviderFailedError(Exception):
    """The provider has not begun to answer: another one may be tried."""


class Relay:
    """Hands on what a provider streams, and gives its place back when that ends, or the caller has gone."""

    def __init__(self, upstream: httpx.Response, held: AsyncExitStack) -> None:
        self._held = held
        self._response = StreamingResponse(
            _chunks(upstream), upstream.status_code, media_type=upstream.headers.get("content-type")
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream to the caller."""
        async with self._held:
            await self._response(scope, receive, send)


class Gateway:
    """The front of one Edge."""

    def __init__(self, edge: iop_edge.Edge, client: httpx.AsyncClient) -> None:
        self._edge = edge
        self._client = client
        self.app = Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
            ],
            exception_handlers={RefusedError: _refused},
        )

    async def _models(self, request: Request) -> Response:
        policy = self._edge.policy
        principal = policy.authenticate(iop_edge.RequestFacts("", request.headers.items(), 0))
        if isinstance(principal, iop_edge.RequestRefusal):
            raise RefusedError.of(principal)
        return JSONResponse({"object": "list", "data": [{"id": name, "object": "model"} for name in policy.names()]})

    async def _complete(self, request: Request) -> ASGIApp:
        body = await _body(request)
        facts = iop_edge.RequestFacts(
            model=body.get("model"),
            headers=request.headers.items(),
            estimated_input_tokens=len(json.dumps(body.get("messages"))) // CHARACTERS_PER_TOKEN,
            max_tokens=body.get("max_tokens"),
            max_completion_tokens=body.get("max_completion_tokens"),
        )
        execution = self._edge.policy.prepare(facts)
        if isinstance(execution, iop_edge.RequestRefusal):
            raise RefusedError.of(execution)
        return await _unless_gone(request, self._execute(execution, body))

    async def _execute(self, execution: iop_edge.Execution, body: dict[str, Any]) -> ASGIApp:
        """Try one provider after the other until one begins to answer."""
        failed: list[str] = []
        while True:
            try:
                return await self._try(execution, body, failed)
            except ProviderFailedError:
                continue
            except iop_edge.NoProviderError as error:
                if failed:
                    raise RefusedError(502, "provider_failed", "no provider could answer") from None
                raise RefusedError.of(error.refusal) from None

    async def _try(self, execution: iop_edge.Execution, body: dict[str, Any], failed: list[str]) -> ASGIApp:
        async with AsyncExitStack() as stack:
            lease = await stack.enter_async_context(self._edge.pool.acquire_for(execution.key, avoid=failed))
            backend = self._backend(lease)
            headers = execution.headers_for(lease.provider_id, lease.category, backend.headers)
            if isinstance(headers, iop_edge.RequestRefusal):
                raise RefusedError.of(headers)
            sent = {**body, "model": lease.target}
            sent.pop("max_completion_tokens", None)
            if execution.max_tokens is not None:
                sent["max_tokens"] = execution.max_tokens
            call = self._client.stream("POST", backend.url, json=sent, headers=headers, timeout=backend.timeout)
            try:
                upstream = await stack.enter_async_context(call)
            except httpx.HTTPError:
                failed.append(lease.provider_id)
                raise ProviderFailedError from None
            if upstream.status_code >= 500:
                failed.append(lease.provider_id)
                raise ProviderFailedError
            if body.get("stream") and upstream.is_success:
                return Relay(upstream, stack.pop_all())
            answer = json.loads(await upstream.aread())
            used = answer.get("usage", {})
            LOG.info("%s", execution.usage(lease, used.get("prompt_tokens", 0), used.get("completion_tokens", 0)))
            return JSONResponse(answer, upstream.status_code)

    def _backend(self, lease: iop_edge.Lease) -> Backend:
        """Look up where a lease's adapter instance connects to, in the running config."""
        (node,) = (node for node in self._edge.snapshot.config.nodes if node.id == lease.node_id)
        (adapter,) = (adapter for adapter in node.adapters if adapter.name == lease.adapter)
        timeout = adapter.request_timeout_ms
        return Backend(f"{adapter.base_url}/chat/completions", adapter.headers, timeout / 1000 if timeout else None)


async def _body(request: Request) -> dict[str, Any]:
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            raise RefusedError(413, "request_too_large", f"a request has at most {MOST_BYTES} bytes")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise RefusedError(400, "invalid_json", "the body is not JSON") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "invalid_json", "the body must be a JSON object")
    return body


async def _unless_gone(request: Request, work: Awaitable[ASGIApp]) -> ASGIApp:
    """Do the work, unless the caller goes away meanwhile: a request that nobody waits for takes no place."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        return Response(status_code=499)
    finally:
        for task in (working, gone):
            task.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _chunks(upstream: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in upstream.aiter_raw():
            yield chunk
    except httpx.HTTPError:
        # The head has been sent: all that is left is to say so in the stream, and to end it.
        error = RefusedError(502, "provider_failed", "the provider stopped in the middle of its answer")
        yield f"data: {json.dumps(error.body)}\n\n".encode()


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return JSONResponse(error.body, error.status)


async def serve(path: str) -> None:
    """Serve the config of a file until interrupted."""
    snapshot = iop_edge.load(path)
    front = snapshot.config.openai
    assert front is not None, "a snapshot has every section"
    host, _, port = str(front.listen).rpartition(":")
    async with iop_edge.Edge.start(snapshot) as edge, httpx.AsyncClient(trust_env=False) as client:
        hangup = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hangup.set)
        reloading = asyncio.create_task(_reload(edge, path, hangup))
        server = uvicorn.Server(
            uvicorn.Config(Gateway(edge, client).app, host=host, port=int(port), log_level="warning")
        )
        await server.serve()
        reloading.cancel()


async def _reload(edge: iop_edge.Edge, path: str, hangup: asyncio.Event) -> None:
    while True:
        await hangup.wait()
        hangup.clear()
        try:
            result = await edge.refresh(iop_edge.load(path))
        except iop_edge.ConfigError as error:
            LOG.error("%s", error)
        else:
            LOG.warning("%s, revision %d", result.status.value, edge.revision)


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description="A small OpenAI-compatible front.")
    parser.add_argument("config")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    asyncio.run(serve(parser.parse_args().config))


if __name__ == "__main__":
    main()
