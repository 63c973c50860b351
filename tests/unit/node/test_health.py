"""The health of resources, as it is watched."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from iop_edge.ids import Generation, ProviderId
from iop_edge.node.health import MAX_REPORTED, HealthRegistry
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import ResourceHealthState, WatchHealthResponse
from tests.support import run
from tests.unit.node.pushes import monitored

pytestmark = pytest.mark.contract("PSH-05")

HEALTHY, UNHEALTHY, UNKNOWN = (
    ResourceHealthState.HEALTHY,
    ResourceHealthState.UNHEALTHY,
    ResourceHealthState.UNKNOWN,
)
A, B, C = ProviderId("a"), ProviderId("b"), ProviderId("c")

Watch = AsyncIterator[WatchHealthResponse]


async def following(watch: Watch) -> tuple[int, dict[str, ResourceHealthState]]:
    report = await anext(watch)
    return report.generation, {item.provider_id: item.state for item in report.resources}


async def is_waiting(watch: Watch) -> bool:
    waiting = asyncio.ensure_future(anext(watch))
    for _ in range(5):
        await asyncio.sleep(0)
    was_waiting = not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    return was_waiting


def test_first_report_has_all_resources() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(
            Generation(7), [monitored("a"), monitored("b", HealthMode.NONE), monitored("c", HealthMode.ACTIVE)]
        )
        assert await following(registry.watch()) == (7, {"a": UNKNOWN, "b": HEALTHY, "c": UNKNOWN})

    run(scenario())


def test_watching_an_empty_node_begins_at_once() -> None:
    async def scenario() -> None:
        watch = HealthRegistry().watch()
        assert await following(watch) == (0, {})
        assert await is_waiting(watch)

    run(scenario())


def test_later_reports_have_what_has_changed() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a"), monitored("b")])
        watch = registry.watch()
        await following(watch)
        registry.observe(A, good=False, detail="503")
        assert await following(watch) == (1, {"a": UNHEALTHY})

    run(scenario())


def test_changes_between_two_readings_are_one_report_of_the_newest() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a"), monitored("b")])
        watch = registry.watch()
        await following(watch)
        registry.observe(A, good=False)
        registry.observe(B, good=True)
        registry.observe(A, good=True)
        assert await following(watch) == (1, {"a": HEALTHY, "b": HEALTHY})

    run(scenario())


def test_report_of_what_is_known_is_no_news() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a")])
        registry.observe(A, good=True)
        watch = registry.watch()
        await following(watch)
        registry.observe(A, good=True)
        registry.observe(ProviderId("gone"), good=True)
        assert await is_waiting(watch)

    run(scenario())


def test_new_generation_is_reported_whole_and_keeps_what_is_known_of_what_stays() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        first = [monitored("a"), monitored("b"), monitored("c")]
        registry.replace(Generation(1), first)
        for provider_id in (A, B, C):
            registry.observe(provider_id, good=False)
        watch = registry.watch()
        await following(watch)
        registry.replace(
            Generation(2), [monitored("a"), monitored("b", base_url="http://127.0.0.1:9"), monitored("c", path="/x")]
        )
        assert await following(watch) == (2, {"a": UNHEALTHY, "b": UNKNOWN, "c": UNKNOWN})
        assert await is_waiting(watch)

    run(scenario())


def test_generation_that_changes_nothing_is_reported_whole_too() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a")])
        watch = registry.watch()
        await following(watch)
        registry.replace(Generation(2), [monitored("a")])
        assert await following(watch) == (2, {"a": UNKNOWN})

    run(scenario())


def test_many_resources_are_told_in_messages_that_stay_small() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(3), [monitored(f"p-{number}") for number in range(MAX_REPORTED * 2 + 1)])
        watch = registry.watch()
        reports = [await following(watch) for _ in range(3)]
        assert [(generation, len(states)) for generation, states in reports] == [
            (3, MAX_REPORTED),
            (3, MAX_REPORTED),
            (3, 1),
        ]
        assert len({provider_id for _, states in reports for provider_id in states}) == MAX_REPORTED * 2 + 1
        assert await is_waiting(watch)

    run(scenario())


def test_state_follows_the_thresholds_of_the_config() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a", healthy_threshold=2, unhealthy_threshold=2)])
        watch = registry.watch()
        await following(watch)
        seen: list[ResourceHealthState] = []
        for good in (True, False, False, True, True):
            registry.observe(A, good=good, detail=f"seen {len(seen)}")
            seen.append((await following(watch))[1]["a"])
        assert seen == [HEALTHY, HEALTHY, UNHEALTHY, UNHEALTHY, HEALTHY]

    run(scenario())


def test_what_is_not_checked_stays_healthy() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a", HealthMode.NONE)])
        watch = registry.watch()
        await following(watch)
        registry.observe(A, good=False)
        assert await is_waiting(watch)

    run(scenario())


@pytest.mark.contract("POL-01")
def test_unhealthy_resource_gets_requests_again_when_it_is_half_open() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a", unhealthy_threshold=3)])
        watch = registry.watch()
        await following(watch)
        for _ in range(3):
            registry.observe(A, good=False)
        await registry.wait_unhealthy(A)
        assert await following(watch) == (1, {"a": UNHEALTHY})
        registry.half_open(A)
        assert await following(watch) == (1, {"a": UNKNOWN})
        registry.observe(A, good=False)
        assert await following(watch) == (1, {"a": UNHEALTHY})

    run(scenario())


def test_only_what_is_unhealthy_is_half_open() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a")])
        registry.observe(A, good=True)
        watch = registry.watch()
        await following(watch)
        registry.half_open(A)
        registry.half_open(ProviderId("gone"))
        assert await is_waiting(watch)

    run(scenario())


@pytest.mark.contract("CFG-08")
def test_change_of_state_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a", base_url="http://user:s3cret@127.0.0.1/")])
        registry.observe(A, good=False, detail="answers 503")
        registry.observe(A, good=False, detail="answers 500")
        registry.observe(A, good=True, detail="answers 200")

    with caplog.at_level("INFO"):
        run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "provider a: unhealthy: answers 503",
        "provider a: healthy: answers 200",
    ]


def test_every_watcher_hears_everything() -> None:
    async def scenario() -> None:
        registry = HealthRegistry()
        registry.replace(Generation(1), [monitored("a")])
        watches = [registry.watch(), registry.watch()]
        for watch in watches:
            await following(watch)
        registry.observe(A, good=True)
        assert [await following(watch) for watch in watches] == [(1, {"a": HEALTHY})] * 2

    run(scenario())
