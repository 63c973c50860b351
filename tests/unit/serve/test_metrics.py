import asyncio
import socket
from contextlib import suppress
from types import MappingProxyType

import pytest
from prometheus_client.parser import text_string_to_metric_families

from iop_edge.edge.edge import Edge, metrics_snapshot
from iop_edge.edge.status import Counters, MetricsSnapshot
from iop_edge.errors import EdgeError, Violation
from iop_edge.ids import NodeId, ProviderId, RouteId, RouteKey
from iop_edge.pool.errors import NoProviderError, RefusalReason
from iop_edge.pool.status import Health, NodeConnection, ProviderState, ProviderStatus
from iop_edge.push.model import NodeState, Pushed
from iop_edge.refresh.result import Mode, NodeOutcome, RefreshResult, Status
from iop_edge.serve.metrics import exposition, serving_metrics
from tests.clock import ManualClock
from tests.support import run
from tests.unit.edge.house import EAGER, TOKEN, House

CLOCK = ManualClock()
BUSY = ProviderStatus(ProviderId("p"), NodeId("n"), ProviderState.BUSY, Health.HEALTHY, 2, 3, 5, 7, ("m",))


def samples(text: bytes) -> dict[tuple[str, ...], float]:
    """Return the samples by their name and the values of their labels, in the order of the labels' names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def shown(counters: Counters, **nodes: NodeState) -> dict[tuple[str, ...], float]:
    states = MappingProxyType({NodeId(name): state for name, state in nodes.items()})
    return samples(exposition(MetricsSnapshot(7, 2, True, states, (BUSY,), counters)))


def test_config_nodes_and_providers_are_shown() -> None:
    found = shown(Counters(), a=NodeState(NodeConnection.CONNECTED, 9, 7, True), b=NodeState(NodeConnection.REFUSED))
    expected = {
        ("iop_edge_revision",): 7,
        ("iop_edge_pending_changes",): 2,
        ("iop_edge_awaits_confirmation",): 1,
        ("iop_edge_node_connection", "a", "connected"): 1,
        ("iop_edge_node_connection", "a", "refused"): 0,
        ("iop_edge_node_connection", "b", "refused"): 1,
        ("iop_edge_node_revision", "a"): 7,
        ("iop_edge_node_revision", "b"): 0,
        ("iop_edge_node_in_sync", "a"): 1,
        ("iop_edge_node_in_sync", "b"): 0,
        ("iop_edge_provider_in_flight", "n", "p"): 3,
        ("iop_edge_provider_capacity", "n", "p"): 2,
        ("iop_edge_provider_queued", "n", "p"): 5,
        ("iop_edge_provider_priority", "n", "p"): 7,
        ("iop_edge_provider_health", "healthy", "n", "p"): 1,
        ("iop_edge_provider_health", "disabled", "n", "p"): 0,
        ("iop_edge_provider_state", "n", "p", "busy"): 1,
        ("iop_edge_provider_state", "n", "p", "available"): 0,
    }
    assert {key: found[key] for key in expected} == expected


@pytest.mark.case("R17")
def test_refreshes_are_counted_by_mode_status_and_reason_and_the_last_apply_is_told() -> None:
    counters = Counters()
    rejected = RefreshResult(
        Status.REJECTED, Mode.APPLY, violations=(Violation("node.rejected", "", None, f"says {TOKEN}"),)
    )
    assert shown(counters)["iop_edge_last_apply_timestamp_seconds",] == 0
    for _ in range(2):
        counters.take_result(Mode.DRY_RUN, RefreshResult(Status.APPLIED, Mode.DRY_RUN), CLOCK)
    assert shown(counters)["iop_edge_last_apply_timestamp_seconds",] == 0
    counters.take_result(Mode.APPLY, RefreshResult(Status.APPLIED, Mode.APPLY), CLOCK)
    succeeded_at = shown(counters)["iop_edge_last_apply_success_timestamp_seconds",]
    assert succeeded_at == CLOCK.wall_ms() / 1000
    counters.take_result(Mode.APPLY, rejected, CLOCK)
    found = shown(counters)
    assert found["iop_edge_refreshes_total", "dry_run", "", "applied"] == 2
    assert found["iop_edge_refreshes_total", "apply", "node.rejected", "rejected"] == 1
    assert found["iop_edge_last_apply_successful",] == 0
    assert found["iop_edge_last_apply_success_timestamp_seconds",] == succeeded_at
    assert not any(TOKEN in label for key in found for label in key)


def test_pushes_are_counted_by_outcome_and_duration() -> None:
    counters = Counters()
    for outcome, seconds in ((NodeOutcome.COMMITTED, 0.005), (NodeOutcome.COMMITTED, 0.3), (None, 60.0)):
        counters.take_push(Pushed(Mode.APPLY, outcome, seconds))
    found = shown(counters)
    assert found["iop_edge_pushes_total", "committed"] == 2
    assert found["iop_edge_pushes_total", "lost"] == 1
    buckets = {
        bound: found["iop_edge_push_duration_seconds_bucket", bound] for bound in ("0.005", "0.25", "0.5", "+Inf")
    }
    assert buckets == {"0.005": 1, "0.25": 1, "0.5": 2, "+Inf": 3}
    assert found["iop_edge_push_duration_seconds_sum",] == pytest.approx(60.305)


@pytest.mark.contract("POL-02", "CFG-08")
def test_requests_that_are_not_served_at_once_are_counted_and_what_is_gone_is_forgotten(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.node("a"), Edge.start(house.files.load(), files=house.files, settings=EAGER) as edge:
            await edge.settled()
            lease = edge.pool.try_acquire("m")
            tasks = [asyncio.create_task(held(edge)) for _ in range(3)]
            await asyncio.sleep(0)
            assert edge.pool.statuses()[0].queued == 3
            tasks[2].cancel()
            await asyncio.wait([tasks[2]])
            lease.release()
            await asyncio.gather(*tasks[:2])
            with pytest.raises(NoProviderError):
                async with edge.pool.acquire(TOKEN):
                    pass
            found = samples(exposition(metrics_snapshot(edge)))
            assert found["iop_edge_request_waits_total", "model", "m", "granted"] == 2
            assert found["iop_edge_request_waits_total", "model", "m", "cancelled"] == 1
            assert found["iop_edge_requests_refused_total", "", "", "unknown"] == 1
            assert found["iop_edge_request_wait_seconds_bucket", "+Inf"] == 3
            assert found["iop_edge_request_wait_seconds_sum",] > 0
            text = house.tracked.read_text()
            house.tracked.write_text(text.replace("- id: m\n  providers: [a-p]", "- id: n\n  providers: {a-p: m}"))
            assert (await edge.reload()).committed
            names = set(samples(exposition(metrics_snapshot(edge))))
            assert not any("m" in key for key in names)
            assert not any(TOKEN in label for key in names for label in key)

    run(scenario())


async def held(edge: Edge) -> None:
    async with edge.pool.acquire("m"):
        pass


@pytest.mark.parametrize("reason", [RefusalReason.TIMEOUT, RefusalReason.CLOSED, RefusalReason.NO_PROVIDER])
def test_a_wait_that_ends_without_a_provider_is_counted_by_its_reason(reason: RefusalReason) -> None:
    counters, key = Counters(), RouteKey(RouteId("r"))
    counters.on_wait_ended(key, reason, 30.0)
    counters.on_refused(key, RefusalReason.QUEUE_FULL)
    found = shown(counters)
    assert found["iop_edge_request_waits_total", "route", "r", reason.value] == 1
    assert found["iop_edge_requests_refused_total", "route", "r", "queue_full"] == 1
    assert [found["iop_edge_request_wait_seconds_bucket", bound] for bound in ("10.0", "30.0")] == [0, 1]


async def ask(port: int, request_text: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request_text)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_an_edge_is_asked_over_http(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.node("a"), Edge.start(house.files.load(), files=house.files, settings=EAGER) as edge:
            await edge.settled()

            async def page() -> bytes:
                return exposition(metrics_snapshot(edge))

            async with serving_metrics("127.0.0.1:0", page) as address:
                head, _, body = (await ask(address.port, b"GET /metrics?x=1 HTTP/1.1\r\nHost: e\r\n\r\n")).partition(
                    b"\r\n\r\n"
                )
            assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4")
            assert samples(body)["iop_edge_node_connection", "a", "connected"] == 1
            assert samples(body)["iop_edge_pushes_total", "committed"] == 1
            assert b"s3cr3t" not in body

    run(scenario())


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 "),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 404 "),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 405 "),
        (b"\x16\x03\x01\r\n\r\n", b"HTTP/1.1 405 "),
    ],
)
def test_anything_else_is_answered_in_kind_and_the_next_one_is_served(sent: bytes, answer: bytes) -> None:
    async def page() -> bytes:
        return b"a 1\n"

    async def scenario() -> None:
        async with serving_metrics("127.0.0.1:0", page) as address:
            got = await ask(address.port, sent)
            assert got.startswith(answer)
            assert not got.endswith(b"a 1\n")
            assert (await ask(address.port, b"GET /metrics HTTP/1.1\r\n\r\n")).endswith(b"\r\n\r\na 1\n")

    run(scenario())


def test_a_head_without_end_is_cut_off_and_open_connections_do_not_keep_it_from_stopping() -> None:
    async def page() -> bytes:
        return b""

    async def scenario() -> None:
        before = asyncio.all_tasks()
        async with serving_metrics("127.0.0.1:0", page) as address:
            reader, writer = await asyncio.open_connection("127.0.0.1", address.port)
            writer.write(b"x" * 1_000_000)
            with suppress(ConnectionError):
                assert await reader.read() == b""
            idle = await asyncio.open_connection("127.0.0.1", address.port)
        assert asyncio.all_tasks() == before
        for end in (writer, idle[1]):
            end.transport.abort()

    run(scenario())


@pytest.mark.parametrize("address", ["unix:/tmp/x.sock", "nowhere"])
def test_an_address_that_serves_no_metrics_is_a_clear_error(address: str) -> None:
    with pytest.raises(EdgeError, match=r"metrics\.listen"):
        run(_serve(address))


@pytest.mark.case("R12")
def test_an_address_that_is_taken_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(EdgeError, match=r"cannot serve metrics on .* in use"):
            run(_serve(address))


async def _serve(address: str) -> None:
    async def page() -> bytes:
        return b""

    async with serving_metrics(address, page):
        pass


def test_what_a_scrape_shows_does_not_change_while_it_is_written() -> None:
    counters, key = Counters(), RouteKey(RouteId("r"))

    def happen() -> None:
        counters.take_result(Mode.DRY_RUN, RefreshResult(Status.APPLIED, Mode.DRY_RUN), CLOCK)
        counters.take_push(Pushed(Mode.APPLY, NodeOutcome.COMMITTED, 0.1))
        counters.on_wait_ended(key, None, 0.1)
        counters.on_refused(key, RefusalReason.QUEUE_FULL)

    happen()
    copy = counters.copy()
    before = shown(copy)
    assert before == shown(counters)
    happen()
    assert shown(copy) == before
    assert shown(counters) != before
