"""The example gateway: real sockets, real Nodes, and configs that change under its streams."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import iop_edge
from iop_edge.push.model import PushSettings
from tests.support import run
from tests.unit.edge.house import House, made

pytest.importorskip("starlette", reason="the extra `gateway` is not installed")
pytest.importorskip("uvicorn", reason="the extra `gateway` is not installed")

import uvicorn

from examples.gateway.answer import Meter
from examples.gateway.backend import Backend
from examples.gateway.backends import Backends
from examples.gateway.front import Gateway

TOKEN = "principal-s3cr3t"
NAMES = ("a", "b", "c")
EAGER = PushSettings(backoff_base=0.001, backoff_cap=0.01)


class Gate:
    """Lets numbers through, as many as it is told to; once opened, all."""

    def __init__(self) -> None:
        self._permits = asyncio.Semaphore(0)
        self._is_open = False

    async def __call__(self) -> None:
        if not self._is_open:
            await self._permits.acquire()

    def let(self, count: int) -> None:
        for _ in range(count):
            self._permits.release()

    def open(self) -> None:
        self._is_open = True
        self.let(100_000)


class World:
    """An Edge with its Nodes, their backends, and the gateway in front of them."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.gate = Gate()
        self.backends = {name: Backend(name, self.gate) for name in NAMES}
        self.urls: dict[str, str] = {}
        self.url = ""
        self.edge: iop_edge.Edge

    def config(self, changes: dict[str, dict[str, Any]] | None = None, front: dict[str, Any] | None = None) -> Any:
        """Load a config of all backends, with these fields of providers and of the section `openai`."""
        nodes = [
            {
                "id": name,
                "address": self.house.address(name),
                "token": "node-token-s3cr3t",
                "adapters": [{"name": "local", "type": "vllm", "base_url": self.urls[name]}],
                "providers": [
                    {
                        "id": name,
                        "type": "vllm",
                        "category": "local_inference",
                        "adapter": "local",
                        "models": ["numbers"],
                        "max_queue": 500,
                        "queue_timeout_ms": 0,
                        **(changes or {}).get(name, {}),
                    }
                ],
            }
            for name in NAMES
        ]
        model = {"id": "m", "providers": dict.fromkeys(NAMES, "numbers"), "context_window_tokens": 1000}
        text = json.dumps({"edge": {"id": "e"}, "openai": front or {}, "models": [model], "nodes": nodes})
        self.house.tracked.write_text("edge: {}\n")
        self.house.private.write_text(text)
        return iop_edge.load(self.house.tracked, private=[self.house.private])

    def in_flight(self) -> int:
        return sum(item.in_flight for item in self.edge.pool.statuses())


@asynccontextmanager
async def served(app: Any) -> AsyncIterator[str]:
    """Serve an application on a port of its own."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    (listener,) = server.servers[0].sockets
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def world(changes: dict[str, dict[str, Any]] | None = None, **front: Any) -> AsyncIterator[World]:
    with made() as house:
        here = World(house)
        async with AsyncExitStack() as stack:
            for name, backend in here.backends.items():
                here.urls[name] = f"{await stack.enter_async_context(served(backend.app))}/v1"
            await stack.enter_async_context(house.nodes(*NAMES))
            here.edge = await stack.enter_async_context(
                iop_edge.Edge.start(here.config(changes, front), settings=EAGER)
            )
            await here.edge.settled()
            backends = Backends(here.edge)
            stack.push_async_callback(backends.close)
            here.url = await stack.enter_async_context(served(Gateway(here.edge, backends).app))
            yield here


async def until(holds: Callable[[], bool]) -> None:
    while True:
        if holds():
            return
        await asyncio.sleep(0.001)


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "count"}], "max_tokens": 4, **fields}


async def posted(here: World, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(f"{here.url}/v1/chat/completions", json=body(**fields), headers=headers)


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"model": "nope"}, 404, "model_not_found"),
        ({"model": None}, 400, "invalid_value"),
        ({"max_tokens": 0}, 400, "invalid_value"),
        ({"max_tokens": "many"}, 400, "invalid_value"),
        ({"messages": [{"content": "x" * 5000}]}, 400, "context_length_exceeded"),
    ],
)
def test_a_request_that_is_refused_is_answered_in_openais_manner(
    fields: dict[str, Any], status: int, code: str
) -> None:
    async def scenario() -> None:
        async with world() as here:
            answer = await posted(here, **fields)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            assert here.in_flight() == 0

    run(scenario())


def test_what_is_no_request_is_answered_in_openais_manner() -> None:
    async def scenario() -> None:
        async with world() as here, httpx.AsyncClient(trust_env=False) as client:
            for data, status in ((b"{", 400), (b"[]", 400), (b"[" * 100_000, 400), (b" " * 5_000_000, 413)):
                answer = await client.post(f"{here.url}/v1/chat/completions", content=data)
                assert answer.status_code == status
                assert answer.json()["error"]["message"]

    run(scenario())


@pytest.mark.contract("POL-09", "POL-08")
@pytest.mark.case("A6", "A8")
def test_only_who_has_a_token_gets_in_and_no_header_of_the_caller_gets_out() -> None:
    entry = {
        "token_ref": "t",
        "token_hash_sha256": hashlib.sha256(TOKEN.encode()).hexdigest(),
        "principal_ref": "alice",
    }

    async def scenario() -> None:
        async with world(principal_tokens=[entry]) as here, httpx.AsyncClient(trust_env=False) as client:
            here.gate.open()
            assert (await posted(here)).status_code == 401
            assert (await client.get(f"{here.url}/v1/models")).status_code == 401
            headers = {"Authorization": f"Bearer {TOKEN}", "Cookie": "c=s3cr3t", "X-Own": "s3cr3t"}
            models = await client.get(f"{here.url}/v1/models", headers=headers)
            assert [item["id"] for item in models.json()["data"]] == ["m"]
            answer = await posted(here, headers)
            assert answer.json()["choices"][0]["message"]["content"] == "0 1 2 3"
            (seen,) = (headers for backend in here.backends.values() for headers in backend.seen)
            assert TOKEN not in str(seen)
            assert "s3cr3t" not in str(seen)

    run(scenario())


def test_a_provider_that_fails_is_avoided_and_the_next_one_tried() -> None:
    async def scenario() -> None:
        async with world() as here:
            here.gate.open()
            here.backends["a"].failing = here.backends["b"].failing = True
            for _ in range(6):
                assert (await posted(here)).status_code == 200
            here.backends["c"].failing = True
            answer = await posted(here)
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "provider_failed")
            assert here.in_flight() == 0

    run(scenario())


@pytest.mark.contract("POL-02")
@pytest.mark.parametrize("queue", [{"max_queue": 0}, {"queue_timeout_ms": 1}])
def test_a_full_pool_is_answered_with_503(queue: dict[str, int]) -> None:
    async def scenario() -> None:
        changes = {name: {"enabled": name == "a", **queue} for name in NAMES}
        async with world(changes) as here:
            running = asyncio.create_task(posted(here))
            await until(lambda: here.in_flight() == 1)
            answer = await posted(here)
            assert answer.status_code == 503
            assert answer.json()["error"]["code"] in ("queue_full", "queue_timeout")
            here.gate.open()
            assert (await running).status_code == 200

    run(scenario())


@pytest.mark.contract("POL-05")
@pytest.mark.parametrize("moment", ["while it waits", "before the first byte", "in mid-stream"])
def test_a_caller_that_goes_away_leaves_its_place(moment: str) -> None:
    async def scenario() -> None:
        async with world({name: {"enabled": name == "a"} for name in NAMES}) as here:
            backend = here.backends["a"]
            blocker = asyncio.create_task(posted(here)) if moment == "while it waits" else None
            if blocker is not None:
                await until(lambda: backend.running == 1)

            async def ask() -> None:
                async with (
                    httpx.AsyncClient(trust_env=False) as client,
                    client.stream("POST", f"{here.url}/v1/chat/completions", json=body(stream=True)) as answer,
                ):
                    async for _ in answer.aiter_lines():
                        pass

            asking = asyncio.create_task(ask())
            if blocker is not None:
                await until(lambda: here.edge.pool.statuses()[0].queued == 1)
            else:
                await until(lambda: backend.running == 1)
            if moment == "in mid-stream":
                here.gate.let(1)
            asking.cancel()
            await asyncio.wait([asking])
            if blocker is not None:
                await until(lambda: here.edge.pool.statuses()[0].queued == 0)
                here.gate.open()
                assert (await blocker).status_code == 200
            await until(lambda: here.in_flight() == 0 and backend.running == 0)

    run(scenario())


def test_the_readmes_commands_name_what_is_there() -> None:
    directory = Path(__file__).parents[2] / "examples" / "gateway"
    text = (directory / "README.md").read_text(encoding="utf-8")
    for name in ("front.py", "backend.py", "edge.yaml"):
        assert name in text
        assert (directory / name).is_file()
    report = iop_edge.check(directory / "edge.yaml", env={"IOP_NODE_TOKEN": "t"})
    assert not report.violations


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize("count", ["1e999", "NaN", "-1", "1.5", "true", "null", '"7"', "[]", "9" * 5000])
def test_a_count_of_a_backend_that_is_none_is_not_believed_and_cuts_nothing(count: str) -> None:
    usage = f'{{"usage": {{"prompt_tokens": {count}, "completion_tokens": 2}}}}'.encode()
    meter = Meter(estimated_input=5)
    meter.see_part(b"data: " + usage + b"\n\ndata: [DONE]\n\n")
    assert (meter.input_tokens, meter.output_tokens, meter.is_complete) == (5, 1, True)
    meter.see_whole(usage)
    assert (meter.input_tokens, meter.output_tokens) == (5, 1)
