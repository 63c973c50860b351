"""The health of resources, as it is watched."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from iop_edge.agent.health import HealthBook
from iop_edge.ids import Generation, ProviderId
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import ResourceHealthState, WatchHealthResponse
from tests.support import run
from tests.unit.agent.pushes import resource

pytestmark = pytest.mark.contract("PSH-05")

HEALTHY, UNHEALTHY, UNKNOWN = (
    ResourceHealthState.HEALTHY,
    ResourceHealthState.UNHEALTHY,
    ResourceHealthState.UNKNOWN,
)
A, B = ProviderId("a"), ProviderId("b")

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
        book = HealthBook()
        book.follow(Generation(7), [resource("a"), resource("b", HealthMode.NONE), resource("c", HealthMode.ACTIVE)])
        assert await following(book.watch()) == (7, {"a": UNKNOWN, "b": HEALTHY, "c": UNKNOWN})

    run(scenario())


def test_watching_an_empty_node_begins_at_once() -> None:
    async def scenario() -> None:
        watch = HealthBook().watch()
        assert await following(watch) == (0, {})
        assert await is_waiting(watch)

    run(scenario())


def test_later_reports_have_what_has_changed() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [resource("a"), resource("b")])
        watch = book.watch()
        await following(watch)
        book.report(A, UNHEALTHY, "503")
        assert await following(watch) == (1, {"a": UNHEALTHY})

    run(scenario())


def test_changes_between_two_readings_are_one_report_of_the_newest() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [resource("a"), resource("b")])
        watch = book.watch()
        await following(watch)
        book.report(A, UNHEALTHY)
        book.report(B, HEALTHY)
        book.report(A, HEALTHY)
        assert await following(watch) == (1, {"a": HEALTHY, "b": HEALTHY})

    run(scenario())


def test_report_of_what_is_known_is_no_news() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [resource("a")])
        book.report(A, HEALTHY)
        watch = book.watch()
        await following(watch)
        book.report(A, HEALTHY)
        book.report(ProviderId("gone"), HEALTHY)
        assert await is_waiting(watch)

    run(scenario())


def test_new_payload_keeps_what_is_known_of_resources_that_stay() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [resource("a"), resource("b")])
        book.report(A, UNHEALTHY)
        book.report(B, UNHEALTHY)
        watch = book.watch()
        await following(watch)
        book.follow(Generation(2), [resource("a"), resource("b", name="other"), resource("c")])
        assert await following(watch) == (2, {"b": UNKNOWN, "c": UNKNOWN})

    run(scenario())


def test_every_watcher_hears_everything() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [resource("a")])
        watches = [book.watch(), book.watch()]
        for watch in watches:
            await following(watch)
        book.report(A, HEALTHY)
        assert [await following(watch) for watch in watches] == [(1, {"a": HEALTHY})] * 2

    run(scenario())
