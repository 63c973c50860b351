"""What the front answers, to whom, and what it tells the backends."""

import hashlib
import json
import logging
from typing import Any

import pytest

from tests.gateway.rig import Bounds, request, rig
from tests.support import run

CALLER = "s3cr3t-caller"
BEARER = {"Authorization": f"Bearer {CALLER}"}


def closed_to_strangers(config: dict[str, Any]) -> None:
    token_hash = hashlib.sha256(CALLER.encode()).hexdigest()
    config["openai"] = {
        "principal_tokens": [{"token_ref": "t", "token_hash_sha256": token_hash, "principal_ref": "team"}],
        "provider_auth": {"enabled": True, "required": False},
    }


def small_window(config: dict[str, Any]) -> None:
    config["models"][0].update(context_window_tokens=100, default_max_tokens=3)


@pytest.mark.contract("POL-06")
@pytest.mark.contract("POL-07")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid_json"),
        (b"[]", 400, "invalid_json"),
        (b'{"messages": [{}], "seed": NaN}', 400, "invalid_json"),
        (b"[" * 100_000, 400, "invalid_json"),
        (b"\xff", 400, "invalid_json"),
        (b'{"model": "m"}', 400, "invalid_value"),
        (b'{"model": "m", "messages": []}', 400, "invalid_value"),
        (b'{"model": "m", "messages": ["hello"]}', 400, "invalid_value"),
        (b'{"model": "m", "messages": [{}], "stream": "yes"}', 400, "invalid_value"),
        (b'{"model": "m", "messages": [{}], "max_tokens": 0}', 400, "invalid_value"),
        (b'{"model": 1, "messages": [{}]}', 400, "invalid_value"),
        (b'{"model": "unheard-of", "messages": [{}]}', 404, "model_not_found"),
        (json.dumps(request(messages=[{"content": "word" * 100}])).encode(), 400, "context_length_exceeded"),
        (
            json.dumps(request(messages=[{"content": [{"text": "word" * 100}]}])).encode(),
            400,
            "context_length_exceeded",
        ),
        (b" " * 200_001, 413, "request_too_large"),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, bytes) else None,
)
def test_request_that_is_wrong_is_refused_in_the_form_of_openai(body: bytes, status: int, code: str) -> None:
    async def test() -> None:
        async with rig(1, change=small_window, bounds=Bounds(body_bytes=200_000)) as gateway:
            answer = await gateway.client.post("/chat/completions", content=body)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            assert answer.json()["error"].keys() == {"message", "type", "param", "code"}
            assert len(gateway.backends["p0"].seen) == 0

    run(test())


@pytest.mark.contract("POL-09")
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer other"}, {"Authorization": CALLER}])
def test_stranger_is_refused_before_the_body_is_looked_at(headers: dict[str, str]) -> None:
    async def test() -> None:
        async with rig(1, change=closed_to_strangers) as gateway:
            for answer in (
                await gateway.client.post("/chat/completions", content=b"{", headers=headers),
                await gateway.client.get("/models", headers=headers),
            ):
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")

    run(test())


def test_models_are_those_of_the_running_config() -> None:
    async def test() -> None:
        async with rig(1, change=closed_to_strangers) as gateway:
            listed = await gateway.client.get("/models", headers=BEARER)
            assert [model["id"] for model in listed.json()["data"]] == ["m"]

    run(test())


def test_answer_comes_whole_or_in_parts() -> None:
    async def test() -> None:
        async with rig(1) as gateway:
            whole = await gateway.ask(max_tokens=3)
            assert (whole.status_code, whole.json()["choices"][0]["message"]["content"]) == (200, "0 1 2")
            async with gateway.streaming(max_tokens=3) as response:
                assert response.headers["content-type"] == "text/event-stream"
                await response.aread()
            assert await gateway.streamed(max_tokens=3) == "0 1 2 "

    run(test())


@pytest.mark.contract("POL-03")
@pytest.mark.contract("POL-04")
@pytest.mark.parametrize(
    ("fields", "code"),
    [({"max_queue": 0}, "queue_full"), ({"queue_timeout_ms": 1}, "queue_timeout"), ({"capacity": 2}, None)],
)
def test_busy_pool_answers_503(fields: dict[str, Any], code: str | None) -> None:
    async def test() -> None:
        async with rig(1, change=lambda config: config["nodes"][0]["providers"][0].update(fields)) as gateway:
            async with gateway.edge.pool.acquire("m"):
                answer = await gateway.ask()
            assert (answer.status_code, answer.json().get("error", {}).get("code")) == (503 if code else 200, code)

    run(test())


def test_pool_without_a_provider_answers_503() -> None:
    async def test() -> None:
        disabled = {"enabled": False}
        async with rig(1, change=lambda config: config["nodes"][0]["providers"][0].update(disabled)) as gateway:
            answer = await gateway.ask()
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_provider")

    run(test())


@pytest.mark.contract("POL-09")
@pytest.mark.contract("CFG-08")
def test_usage_is_logged_with_its_principal_and_without_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def test() -> None:
        async with rig(1, change=closed_to_strangers) as gateway:
            await gateway.ask(headers=BEARER, max_tokens=2)
            async with gateway.client.stream(
                "POST", "/chat/completions", json=request(stream=True, max_tokens=5), headers=BEARER
            ) as response:
                await response.aread()

    run(test())
    records = [json.loads(record.message) for record in caplog.records if record.name == "gateway.usage"]
    assert [(record["output_tokens"], record["input_tokens"]) for record in records] == [(2, 1), (5, 2)]
    assert {(record["provider_id"], record["principal_ref"], record["token_ref"]) for record in records} == {
        ("p0", "team", "t")
    }
    assert not any(CALLER in record.message for record in caplog.records if record.name.startswith("gateway"))
