"""Backends that fail and clients that go away."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.rig import Receive, Rig, Scope, Send, rig
from tests.support import run

HELLO = b'data: {"choices": [{"delta": {"content": "hello"}}]}\n\n'
GOODBYES = 1000
AT_ONCE = 50


class Scripted:
    """A backend that answers as a test says, and remembers what it was asked."""

    def __init__(self, status: int = 200, *parts: bytes, is_complete: bool = True) -> None:
        self.asked: list[tuple[dict[str, str], dict[str, Any]]] = []
        self._status = status
        self._parts = parts
        self._is_complete = is_complete

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.asked.append((headers, json.loads(body)))
        if self._parts:
            fields = [(b"set-cookie", b"id=1")]
            await send({"type": "http.response.start", "status": self._status, "headers": fields})
        for part in self._parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        if self._is_complete:
            await send({"type": "http.response.body", "body": b""})


def to_nowhere(config: dict[str, Any]) -> None:
    """Let the first provider's adapter lead to a port that nobody listens on."""
    config["nodes"][0]["adapters"][0]["base_url"] = "http://127.0.0.1:1/v1"


def impatient(config: dict[str, Any]) -> None:
    """Let a request to the first provider's adapter take a millisecond."""
    config["nodes"][0]["adapters"][0]["request_timeout_ms"] = 1


FAILURES: Mapping[str, tuple[Scripted, Callable[[dict[str, Any]], None]]] = {
    "answers 500": (Scripted(500, b"secret of the backend"), lambda _: None),
    "answers 401": (Scripted(401, b"secret of the backend"), lambda _: None),
    "breaks off at once": (Scripted(is_complete=False), lambda _: None),
    "is not there": (Scripted(), to_nowhere),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
def test_backend_that_fails_before_it_has_begun_is_replaced_by_another(failure: str, stream: bool) -> None:
    async def test() -> None:
        failing, change = FAILURES[failure]
        async with rig(2, change=change, others={"p0": failing}) as gateway:
            # They take turns: one of two requests goes to the one that fails first.
            answers = [await gateway.ask(stream=stream, max_tokens=2) for _ in range(2)]
            assert [answer.status_code for answer in answers] == [200, 200]
            assert len(gateway.backends["p1"].seen) == 2
            assert gateway.in_flight() == 0

    run(test())


@pytest.mark.parametrize("failure", FAILURES)
def test_no_other_backend_left_is_a_bad_gateway(failure: str) -> None:
    async def test() -> None:
        failing, change = FAILURES[failure]
        async with rig(1, change=change, others={"p0": failing}) as gateway:
            answer = await gateway.ask()
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "provider_failed")
            assert "secret" not in answer.text

    run(test())


def test_backend_that_takes_too_long_is_given_up() -> None:
    async def test() -> None:
        async with rig(1, change=impatient) as gateway:
            gateway.gate.let(0)
            answer = await gateway.ask()
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "provider_failed")
            assert gateway.in_flight() == 0

    run(test())


def test_backend_that_falls_silent_is_given_up() -> None:
    async def test() -> None:
        async with rig(1, silence_seconds=0.05) as gateway:
            gateway.gate.let(0)
            answer = await gateway.ask(stream=True)
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "provider_failed")

    run(test())


def test_backend_that_finds_fault_with_the_request_is_heard() -> None:
    async def test() -> None:
        async with rig(2, others={name: Scripted(400, b'{"error": {}}') for name in ("p0", "p1")}) as gateway:
            for stream in (False, True):
                answer = await gateway.ask(stream=stream)
                assert (answer.status_code, answer.text) == (400, '{"error": {}}')

    run(test())


@pytest.mark.parametrize("is_complete", [False, True])
def test_stream_that_is_cut_after_its_first_part_ends_with_an_error_and_is_not_tried_again(is_complete: bool) -> None:
    async def test() -> None:
        cut = {name: Scripted(200, HELLO, b"data: {", is_complete=is_complete) for name in ("p0", "p1")}
        async with rig(2, others=cut) as gateway:
            answer = await gateway.ask(stream=True)
            *_, last = answer.text.split("\n\ndata: ")
            assert answer.status_code == 200
            assert answer.content.startswith(HELLO)
            assert json.loads(last)["error"]["code"] == "provider_failed"
            assert sum(len(backend.asked) for backend in cut.values()) == 1
            assert gateway.in_flight() == 0

    run(test())


@pytest.mark.contract("POL-06")
@pytest.mark.contract("POL-08")
@pytest.mark.contract("POL-09")
def test_backend_hears_what_the_config_says_and_nothing_else_of_the_clients_headers() -> None:
    def change(config: dict[str, Any]) -> None:
        config["openai"] = {"provider_auth": {"enabled": True}}
        config["models"][0]["providers"] = [{"id": "p0", "target": "m"}]
        config["models"][0].update(id="group", min_max_tokens=7)
        config["nodes"][0]["adapters"][0]["headers"] = {"X-Tenant": "platform", "authorization": "Bearer configured"}

    async def test() -> None:
        backend = Scripted(200, b"{}")
        async with rig(1, change=change, others={"p0": backend}) as gateway:
            sent = {
                "Authorization": "Bearer s3cr3t-caller",
                "Cookie": "id=1",
                "X-Forwarded-For": "192.0.2.1",
                "X-Tenant": "other",
                "TE": "trailers",
                "X-IOP-Provider-Authorization": "Bearer callers-own",
            }
            for _ in range(2):
                answer = await gateway.ask(headers=sent, model="group", max_completion_tokens=2, seed=1)
                assert answer.status_code == 200
                assert "set-cookie" not in answer.headers
        first, (headers, body) = backend.asked
        assert first == (headers, body)
        assert headers.keys() == {
            *("accept", "accept-encoding", "authorization", "content-length", "content-type", "host", "user-agent"),
            "x-tenant",
        }
        assert (headers["authorization"], headers["x-tenant"]) == ("Bearer callers-own", "platform")
        # What is handed on as it comes must be readable as it comes.
        assert headers["accept-encoding"] == "identity"
        assert body == {
            "model": "m",
            "messages": [{"role": "user", "content": "hello"}],
            "max_completion_tokens": 7,
            "seed": 1,
        }

    run(test())


@pytest.mark.contract("POL-08")
def test_provider_that_needs_the_callers_token_is_not_asked_without_it() -> None:
    async def test() -> None:
        auth = {"openai": {"provider_auth": {"enabled": True}}}
        async with rig(1, change=lambda config: config.update(auth)) as gateway:
            answer = await gateway.ask()
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "provider_token_missing")
            assert len(gateway.backends["p0"].seen) == 0

    run(test())


async def go_away(gateway: Rig, when: Awaitable[object]) -> None:
    """Ask for a stream, and close the connection at some moment."""
    body = json.dumps({"model": "m", "messages": [{"content": "hello"}], "stream": True}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", gateway.client.base_url.port)
    writer.write(b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    await when
    writer.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that the pool says."""
    while not holds():  # noqa: ASYNC110 - the pool has no event for it
        await asyncio.sleep(0)


@pytest.mark.contract("POL-02")
def test_client_that_goes_away_leaves_no_lease_no_place_in_a_queue_and_no_request_behind() -> None:
    async def test() -> None:
        async with rig(1) as gateway:

            def load() -> tuple[int, int]:
                status = gateway.edge.pool.statuses()[0]
                return status.in_flight, status.queued

            gateway.gate.let(2)
            leave = asyncio.Event()
            first = asyncio.create_task(go_away(gateway, leave.wait()))
            await gateway.gate.until_waiting(1)
            await go_away(gateway, until(lambda: load() == (1, 1)))
            await until(lambda: load() == (1, 0))
            leave.set()
            await first
            await until(lambda: load() == (0, 0))
            await gateway.gate.until_waiting(0)
            assert gateway.backends["p0"].running == 0
            assert len(gateway.backends["p0"].seen) == 1

    run(test())


def test_a_thousand_clients_that_go_away_leak_no_lease_and_no_descriptor() -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def roomy(config: dict[str, Any]) -> None:
        config["nodes"][0]["providers"][0]["capacity"] = AT_ONCE

    async def test() -> None:
        async with rig(1, change=roomy) as gateway:

            async def come_and_go(clients: int) -> None:
                together = asyncio.create_task(gateway.gate.until_waiting(clients))
                await asyncio.gather(*(go_away(gateway, together) for _ in range(clients)))
                await gateway.gate.until_waiting(0)
                await until(lambda: gateway.in_flight() == 0)

            gateway.gate.let(1)
            await come_and_go(1)
            before = descriptors()
            for _ in range(GOODBYES // AT_ONCE):
                await come_and_go(AT_ONCE)
            await until(lambda: descriptors() <= before)
            assert len(gateway.backends["p0"].seen) == GOODBYES + 1

    run(test())
