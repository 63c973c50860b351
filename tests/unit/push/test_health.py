"""What the Edge makes of the health that a Node reports."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from iop_edge.pool.status import Health, NodeConnection
from iop_edge.push.model import DEFAULT_SETTINGS
from iop_pb.iop.runtime.v1 import ResourceHealth, ResourceHealthState, WatchHealthRequest, WatchHealthResponse
from tests.support import run
from tests.unit.push.world import TOKEN, Scripted, Sleeper, Station, all_desired, fleet, patient, station

pytestmark = pytest.mark.contract("PSH-05")

HEALTHY, UNHEALTHY = ResourceHealthState.HEALTHY, ResourceHealthState.UNHEALTHY


class Reporting(Scripted):
    """A Node that reports what a test says; None ends the stream."""

    def __init__(self, node_id: str = "a") -> None:
        super().__init__(node_id)
        self.says: asyncio.Queue[WatchHealthResponse | None] = asyncio.Queue()
        self.streams = 0

    async def watch_health(self, message: WatchHealthRequest) -> AsyncIterator[WatchHealthResponse]:  # noqa: ARG002
        self.streams += 1
        while (report := await self.says.get()) is not None:
            yield report

    def report(self, generation: int, state: ResourceHealthState, detail: str = "", provider_id: str = "p") -> None:
        said = ResourceHealth(provider_id=provider_id, state=state, detail=detail)
        self.says.put_nowait(WatchHealthResponse(generation=generation, resources=[said]))


@asynccontextmanager
async def reporting() -> AsyncIterator[tuple[Station, Reporting]]:
    """Have such a Node serve for as long as the block runs."""
    made, node = Station("a"), Reporting()
    await made.start(node)
    try:
        yield made, node
    finally:
        node.says.put_nowait(None)
        await made.stop()


def test_health_of_the_reference_node_is_handed_on() -> None:
    async def scenario() -> None:
        async with station("a") as a, fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            await watcher.until(lambda: watcher.health.get("a-p") is Health.HEALTHY)

    run(scenario())


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (HEALTHY, Health.HEALTHY),
        (UNHEALTHY, Health.UNHEALTHY),
        (ResourceHealthState.UNKNOWN, Health.UNKNOWN),
        pytest.param(ResourceHealthState(99), Health.UNKNOWN, id="a state of later software"),
    ],
)
def test_state_is_handed_on_with_what_was_seen(said: ResourceHealthState, heard: Health) -> None:
    async def scenario() -> None:
        async with reporting() as (a, node), fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            node.report(1, said, "answers 503")
            await watcher.until(lambda: "p" in watcher.health)
            assert watcher.health["p"] is heard
            assert watcher.details["p"] == "answers 503"

    run(scenario())


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param("\x1b[2Jgone\r\n", "?[2Jgone??", id="control characters"),
        pytest.param(f"token {TOKEN}", "<redacted>", id="the Node's token"),
        pytest.param("x" * 5000, f"{'x' * 200}...", id="without end"),
    ],
)
def test_what_was_seen_is_safe_to_show(said: str, shown: str) -> None:
    async def scenario() -> None:
        async with reporting() as (a, node), fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            node.report(1, UNHEALTHY, said)
            await watcher.until(lambda: "p" in watcher.details)
            assert watcher.details["p"] == shown

    run(scenario())


def test_report_of_a_past_generation_is_passed_over() -> None:
    async def scenario() -> None:
        async with reporting() as (a, node), fleet(a.target(), wanted=all_desired(1, "a")) as (edge, watcher):
            await watcher.in_sync(1, "a")
            node.report(1, HEALTHY)
            await watcher.until(lambda: watcher.health.get("p") is Health.HEALTHY)
            edge.set_desired(all_desired(2, "a"))
            await watcher.in_sync(2, "a")
            node.report(1, UNHEALTHY, provider_id="p")
            node.report(2, HEALTHY, provider_id="after")
            await watcher.until(lambda: "after" in watcher.health)
            assert watcher.health["p"] is Health.HEALTHY

    run(scenario())


def test_stream_that_breaks_is_opened_again() -> None:
    async def scenario() -> None:
        async with reporting() as (a, node), fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            await watcher.in_sync(1, "a")
            node.says.put_nowait(None)
            await watcher.connection("a", NodeConnection.UNREACHABLE)
            node.report(1, UNHEALTHY)
            await watcher.until(lambda: watcher.health.get("p") is Health.UNHEALTHY)
            assert node.streams == 2
            assert node.commits == [1]

    run(scenario())


@pytest.mark.case("A14")
@pytest.mark.parametrize(
    "much",
    [
        pytest.param([ResourceHealth(provider_id=str(number)) for number in range(100_000)], id="too many resources"),
        pytest.param([ResourceHealth(detail="x" * (DEFAULT_SETTINGS.max_reply_bytes + 1))], id="too many bytes"),
    ],
)
def test_report_without_bounds_ends_the_session_and_delays_nobody(much: list[ResourceHealth]) -> None:
    async def scenario() -> None:
        async with reporting() as (a, node), station("b") as b:
            sleeper = Sleeper()
            wanted = all_desired(1, "a", "b")
            async with fleet(a.target(), b.target(), wanted=wanted, pace=patient(sleeper)) as (_, watcher):
                await watcher.in_sync(1, "a", "b")
                node.says.put_nowait(WatchHealthResponse(generation=1, resources=much))
                state = await watcher.connection("a", NodeConnection.UNREACHABLE)
                assert state.last_error.startswith("the Node sent a broken message")
                assert "p" not in watcher.health
                assert watcher.states["b"].connection is NodeConnection.CONNECTED

    run(scenario())


def test_as_many_resources_as_a_node_reports_at_once_are_taken() -> None:
    async def scenario() -> None:
        async with reporting() as (a, node), fleet(a.target(), wanted=all_desired(1, "a")) as (_, watcher):
            large = [
                ResourceHealth(provider_id=f"{number:0256}", state=HEALTHY, detail="x" * 200) for number in range(1000)
            ]
            node.says.put_nowait(WatchHealthResponse(generation=1, resources=large))
            await watcher.until(lambda: len(watcher.health) == 1000)

    run(scenario())
