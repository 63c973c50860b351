"""Questions to real HTTP servers, and what the answers mean."""

import asyncio
import gc
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from iop_edge.net import Tls, server_context
from iop_edge.node.probe import MAX_BODY_BYTES, MAX_CONCURRENT, HttpProber, Probe, ProbeResult, probe_of
from iop_pb.iop.config.v1 import HealthMode
from tests.backend import Backend, backend
from tests.pki import NODE
from tests.support import PATIENCE, run
from tests.unit.node.pushes import monitored

pytestmark = pytest.mark.contract("PSH-05")

SECRET = "s3cret"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def probe(
    base_url: str,
    path: str = "/health",
    timeout_ms: int = int(PATIENCE * 1000),
    headers: Mapping[str, str] = NO_HEADERS,
) -> Probe:
    asked = monitored(mode=HealthMode.ACTIVE, base_url=base_url, path=path, timeout_ms=timeout_ms)
    assert asked.adapter is not None
    assert asked.adapter.vllm is not None
    asked.adapter.vllm.headers.update(headers)
    made = probe_of(asked.resource, asked.adapter)
    assert made is not None
    return made


async def ask_once(asked: Probe) -> ProbeResult:
    return await HttpProber().probe(asked)


@asynccontextmanager
async def saying(*parts: bytes, hang: bool = False, tls: Tls | None = None) -> AsyncIterator[str]:
    """A server that says these parts to everybody who asks, whatever HTTP makes of them; it hangs up, or hangs."""
    over = asyncio.Event()
    calls: set[asyncio.Task[Any]] = set()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        calls.add(task)
        try:
            await reader.read(1 << 16)
            for part in parts:
                writer.write(part)
                await writer.drain()
            if hang:
                await over.wait()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=server_context(tls) if tls else None)
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        over.set()
        server.close()
        await asyncio.gather(*calls)


@pytest.fixture
def served() -> Iterator[Backend]:
    with backend() as made:
        yield made


@pytest.mark.parametrize("status", [200, 204, 299])
def test_success_is_good(served: Backend, status: int) -> None:
    served.status = status
    assert run(ask_once(probe(served.url))) == ProbeResult(good=True, detail=f"answers {status}")


@pytest.mark.parametrize("status", [300, 302, 401, 404, 429, 500, 503])
def test_other_answers_are_bad(served: Backend, status: int) -> None:
    served.status = status
    assert run(ask_once(probe(served.url))) == ProbeResult(good=False, detail=f"answers {status}")


def test_backend_is_asked_for_the_path_with_the_headers_of_its_adapter(served: Backend) -> None:
    run(
        ask_once(
            probe(f"{served.url}/v1?key=k", "/health?deep=1", headers={"X-Tenant": "a", "Authorization": "Bearer t"})
        )
    )
    [(line, headers)] = served.asked
    assert line == "GET /health?key=k&deep=1 HTTP/1.1"
    assert headers["X-Tenant"] == "a"
    assert headers["Authorization"] == "Bearer t"
    assert headers["Host"] == f"127.0.0.1:{served.port}"


def test_user_of_the_url_is_shown_as_credentials(served: Backend) -> None:
    run(ask_once(probe(served.url.replace("//", "//us%40er:p%3Aw@"))))
    [(_, headers)] = served.asked
    assert headers["Authorization"] == "Basic dXNAZXI6cDp3"


def test_redirect_is_not_followed() -> None:
    async def scenario() -> None:
        with backend() as elsewhere:
            away = f"HTTP/1.1 307 Elsewhere\r\nLocation: {elsewhere.url}/\r\nContent-Length: 0\r\n\r\n".encode()
            async with saying(away) as url:
                assert await ask_once(probe(url)) == ProbeResult(good=False, detail="answers 307")
            assert not elsewhere.asked

    run(scenario())


def test_proxy_of_the_environment_is_not_used(served: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert run(ask_once(probe(served.url))).good


def test_refused_connection_is_bad(served: Backend) -> None:
    served.refuse()
    found = run(ask_once(probe(served.url)))
    served.serve_again()
    assert found == ProbeResult(good=False, detail="cannot connect: Connection refused")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([], id="nothing"),
        pytest.param([b"HTTP/1.1 200 OK\r\n"], id="half a head"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok"], id="half a body"),
    ],
)
def test_backend_that_hangs_is_bad_after_the_timeout(parts: list[bytes]) -> None:
    async def scenario() -> None:
        async with saying(*parts, hang=True) as url:
            found = await ask_once(probe(url, timeout_ms=50))
            assert found == ProbeResult(good=False, detail="no answer within 0.05 s")

    run(scenario())


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([], id="nothing"),
        pytest.param([b"SSH-2.0-OpenSSH_9.6\r\n\r\n"], id="another protocol"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok"], id="half a body"),
        pytest.param([b"HTTP/1.1 200 OK\r\nX: ", b"x" * (1 << 20)], id="a head without end"),
    ],
)
def test_backend_that_breaks_off_is_bad(parts: list[bytes]) -> None:
    async def scenario() -> None:
        async with saying(*parts) as url:
            found = await ask_once(probe(url))
            assert not found.good
            assert found.detail in ("the answer is not HTTP, or is cut off", "the connection was lost")

    run(scenario())


def test_body_is_read_up_to_a_bound() -> None:
    async def scenario() -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        async with saying(head, b"%x\r\n" % MAX_BODY_BYTES, b"x" * MAX_BODY_BYTES, b"\r\n", hang=True) as url:
            assert (await ask_once(probe(url))).good

    run(scenario())


def test_certificate_that_does_not_verify_is_bad() -> None:
    async def scenario() -> None:
        async with saying(OK, tls=NODE) as url:
            found = await ask_once(probe(url))
            assert not found.good
            assert found.detail.startswith("the certificate does not verify: ")

    run(scenario())


def test_plain_text_behind_https_is_bad() -> None:
    async def scenario() -> None:
        async with saying(b"HTTP/1.1 400 No\r\n\r\n") as url:
            found = await ask_once(probe(url.replace("http:", "https:")))
            assert not found.good

    run(scenario())


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("host", ["127.0.0.1:1", "unheard-of.invalid", "127.0.0.1:{port}"])
def test_secrets_are_nowhere_to_be_seen(served: Backend, host: str, caplog: pytest.LogCaptureFixture) -> None:
    served.status = 500
    url = f"http://user:{SECRET}@{host.format(port=served.port)}/?api_key={SECRET}"
    asked = probe(url, headers={"X-Key": SECRET, "Authorization": f"Bearer {SECRET}"})
    with caplog.at_level(logging.DEBUG, "httpx"), caplog.at_level(logging.INFO):
        found = run(ask_once(asked))
    assert not found.good
    assert SECRET not in f"{found}{asked}{caplog.text}"


def descriptors() -> int:
    gc.collect()
    return len(list(Path(f"/proc/{os.getpid()}/fd").iterdir()))


@pytest.mark.case("A13")
def test_no_connection_is_left_of_a_question_that_is_answered_or_given_up(served: Backend) -> None:
    async def scenario() -> None:
        prober = HttpProber()
        await prober.probe(probe(served.url))
        await asyncio.to_thread(served.wait_idle)
        before = descriptors()
        assert (await prober.probe(probe(served.url))).good
        served.answers.clear()
        questions = [asyncio.create_task(prober.probe(probe(served.url))) for _ in range(20)]
        await asyncio.to_thread(served.wait_asked, 22)
        for question in questions:
            question.cancel()
        await asyncio.gather(*questions, return_exceptions=True)
        assert all(question.cancelled() for question in questions)
        served.answers.set()
        await asyncio.to_thread(served.wait_idle)
        assert descriptors() == before

    run(scenario())


def test_only_so_many_questions_are_asked_at_once(served: Backend) -> None:
    async def scenario() -> None:
        served.answers.clear()
        prober = HttpProber()
        questions = [asyncio.create_task(prober.probe(probe(served.url))) for _ in range(MAX_CONCURRENT + 20)]
        await asyncio.to_thread(served.wait_asked, MAX_CONCURRENT)
        await asyncio.wait(questions, timeout=0)
        assert len(served.asked) == MAX_CONCURRENT
        served.answers.set()
        assert all(found.good for found in await asyncio.gather(*questions))

    run(scenario())


def test_node_without_probes_does_without_what_probes() -> None:
    script = "import sys, iop_edge.node.node; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=PATIENCE).returncode == 0
