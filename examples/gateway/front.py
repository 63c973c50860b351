"""A small OpenAI-compatible front: what the config means when a request comes.

`python -m examples.gateway.front edge.yaml` serves `/v1/chat/completions` and `/v1/models` on the config's
`openai.listen`, through the provider pool of an Edge in the same process. SIGHUP makes it read the file again.

It is an example. It calls the backends itself, where a real Edge would have the Nodes call them.
"""

import argparse
import asyncio
import json
import logging
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

import iop_edge
from examples.gateway.answer import Answer, Meter
from examples.gateway.backends import BackendError, Backends
from examples.gateway.chat_request import ChatRequest, read_body
from examples.gateway.connection import while_connected
from iop_edge import (
    ConfigError,
    Edge,
    EdgeError,
    Execution,
    Lease,
    NoProviderError,
    RefusalReason,
    RequestFacts,
    RequestRefusedError,
)
from iop_edge.ids import ProviderId

LOG: Final = logging.getLogger("gateway")
USAGE_LOG: Final = logging.getLogger("gateway.usage")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a client, or a backend that answers whole, may send."""

    body_bytes: int = 4 << 20
    body_seconds: float = 30.0
    answer_bytes: int = 32 << 20


DEFAULT_BOUNDS: Final = Bounds()


class Gateway:
    """The front of one Edge; `app` is the web application."""

    def __init__(self, edge: Edge, backends: Backends, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self._edge = edge
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", ChatCompletions(edge, backends, bounds), methods=["POST"]),
                Route("/v1/models", self._models),
            ]
        )

    async def _models(self, request: Request) -> Response:
        try:
            self._edge.policy.authenticate(RequestFacts(None, request.headers.items(), 0))
        except RequestRefusedError as error:
            return _refused(error)
        owner = str(self._edge.snapshot.tree["edge"]["id"])
        names = self._edge.policy.names()
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": owner} for name in names]
        return JSONResponse({"object": "list", "data": listed})


class ChatCompletions:
    """`POST /v1/chat/completions`, as an ASGI application: when it returns, whatever ended it, its lease is over."""

    def __init__(self, edge: Edge, backends: Backends, bounds: Bounds) -> None:
        self._edge = edge
        self._backends = backends
        self._bounds = bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            chat, execution = await self._prepared(request)
        except ClientDisconnect:
            return
        except RequestRefusedError as error:
            await _refused(error)(scope, receive, send)
            return
        await while_connected(receive, self._serve(chat, execution, Answer(send)))

    async def _prepared(self, request: Request) -> tuple[ChatRequest, Execution]:
        """Return what is to be run. An unknown caller is refused before the body is read.

        Raises:
            RequestRefusedError: the request is refused.
        """
        self._edge.policy.authenticate(RequestFacts(None, request.headers.items(), 0))
        try:
            async with asyncio.timeout(self._bounds.body_seconds):
                text = await _joined(request.stream(), self._bounds.body_bytes)
        except TimeoutError:
            raise RequestRefusedError("the body did not come in time", status=408, code="request_timeout") from None
        if text is None:
            message = f"the body may have {self._bounds.body_bytes} bytes"
            raise RequestRefusedError(message, status=413, code="request_too_large")
        chat = read_body(text)
        return chat, self._edge.policy.prepare(chat.facts(request.headers))

    async def _serve(self, chat: ChatRequest, execution: Execution, answer: Answer) -> None:
        """Try one provider after the other, until one of them has begun to answer."""
        tried: set[ProviderId] = set()
        fault = ""
        while not answer.has_begun:
            try:
                async with self._edge.pool.acquire(execution.key, avoid=tried) as lease:
                    tried.add(lease.provider_id)
                    await self._execute(lease, chat, execution, answer)
                    return
            except BackendError as error:
                fault = str(error)
                LOG.warning("%s: %s", lease.provider_id, fault)
            except NoProviderError as error:
                is_none_left = fault and error.reason is RefusalReason.NO_PROVIDER
                await answer.error(_provider_failed(fault) if is_none_left else error)
                return
            except RequestRefusedError as error:
                await answer.error(error)
                return
        await answer.error(_provider_failed(fault))

    async def _execute(self, lease: Lease, chat: ChatRequest, execution: Execution, answer: Answer) -> None:
        """Run the request where the lease says."""
        adapter = self._backends.adapter_of(lease)
        headers = execution.headers_for(lease.provider_id, lease.category, adapter.headers)
        meter = Meter(chat.input_tokens())
        try:
            async with self._backends.ask(adapter, headers, chat.body_for(execution, lease.target)) as response:
                if response.status_code == 200 and chat.streams:
                    await _relay_events(response, meter, answer)
                else:
                    await _relay_whole(response, meter, answer, self._bounds.answer_bytes)
        finally:
            # A stream that was cut has used tokens, too.
            if answer.has_begun:
                _log_usage(execution, lease, meter)


async def _relay_events(response: httpx.Response, meter: Meter, answer: Answer) -> None:
    async for part in response.aiter_raw():
        meter.see_part(part)
        await answer.part(part)
    if not meter.is_complete:
        raise BackendError("the backend broke off")
    await answer.end()


async def _relay_whole(response: httpx.Response, meter: Meter, answer: Answer, most_bytes: int) -> None:
    body = await _joined(response.aiter_raw(), most_bytes)
    if body is None:
        raise BackendError("the backend answered more than is taken")
    meter.see_whole(body)
    await answer.whole(response.status_code, body)


async def _joined(parts: AsyncIterator[bytes], most_bytes: int) -> bytes | None:
    """Return the parts in one piece; None: they are too large."""
    whole = bytearray()
    async for part in parts:
        whole += part
        if len(whole) > most_bytes:
            return None
    return bytes(whole)


def _refused(error: RequestRefusedError) -> Response:
    return JSONResponse(error.body(), error.status, error.headers)


def _provider_failed(why: str) -> RequestRefusedError:
    return RequestRefusedError(why, status=502, code="provider_failed")


def _log_usage(execution: Execution, lease: Lease, meter: Meter) -> None:
    record = execution.usage(lease.provider_id, meter.input_tokens, meter.output_tokens)
    shown: dict[str, Any] = {field.name: getattr(record, field.name) for field in fields(record)}
    USAGE_LOG.info("%s", json.dumps({**shown, "labels": dict(record.labels)}))


async def serve(path: str) -> None:
    """Serve the config of a file until interrupted."""
    snapshot = iop_edge.load(path)
    front = snapshot.config.openai
    assert front is not None, "a snapshot has every section"
    listen = urlsplit(f"//{front.listen}")
    async with Edge.start(snapshot) as edge:
        hangup = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, hangup.set)
        reloading = asyncio.create_task(_reload(edge, path, hangup))
        backends = Backends(edge)
        server = uvicorn.Server(
            uvicorn.Config(
                Gateway(edge, backends).app, host=listen.hostname or "", port=listen.port or 0, log_level="warning"
            )
        )
        try:
            await server.serve()
        finally:
            reloading.cancel()
            await backends.close()


async def _reload(edge: Edge, path: str, hangup: asyncio.Event) -> None:
    while True:
        await hangup.wait()
        hangup.clear()
        try:
            result = await edge.refresh(await asyncio.to_thread(iop_edge.load, path))
        except (ConfigError, EdgeError) as error:
            LOG.error("%s", error)
        else:
            LOG.warning("%s, revision %d", result.status.value, edge.revision)


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser(description="A small OpenAI-compatible front.")
    parser.add_argument("config")
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    asyncio.run(serve(parser.parse_args().config))


if __name__ == "__main__":
    main()
