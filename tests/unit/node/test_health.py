"""The health of resources, as it is watched."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from iop_edge.ids import Generation, ProviderId
from iop_edge.node.health import MOST_IN_A_REPORT, HealthBook
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import ResourceHealthState, WatchHealthResponse
from tests.support import run
from tests.unit.node.pushes import subject

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
        book = HealthBook()
        book.follow(Generation(7), [subject("a"), subject("b", HealthMode.NONE), subject("c", HealthMode.ACTIVE)])
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
        book.follow(Generation(1), [subject("a"), subject("b")])
        watch = book.watch()
        await following(watch)
        book.observe(A, good=False, detail="503")
        assert await following(watch) == (1, {"a": UNHEALTHY})

    run(scenario())


def test_changes_between_two_readings_are_one_report_of_the_newest() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a"), subject("b")])
        watch = book.watch()
        await following(watch)
        book.observe(A, good=False)
        book.observe(B, good=True)
        book.observe(A, good=True)
        assert await following(watch) == (1, {"a": HEALTHY, "b": HEALTHY})

    run(scenario())


def test_report_of_what_is_known_is_no_news() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a")])
        book.observe(A, good=True)
        watch = book.watch()
        await following(watch)
        book.observe(A, good=True)
        book.observe(ProviderId("gone"), good=True)
        assert await is_waiting(watch)

    run(scenario())


def test_new_generation_is_reported_whole_and_keeps_what_is_known_of_what_stays() -> None:
    async def scenario() -> None:
        book = HealthBook()
        first = [subject("a"), subject("b"), subject("c")]
        book.follow(Generation(1), first)
        for provider_id in (A, B, C):
            book.observe(provider_id, good=False)
        watch = book.watch()
        await following(watch)
        book.follow(Generation(2), [subject("a"), subject("b", base_url="http://127.0.0.1:9"), subject("c", path="/x")])
        assert await following(watch) == (2, {"a": UNHEALTHY, "b": UNKNOWN, "c": UNKNOWN})
        assert await is_waiting(watch)

    run(scenario())


def test_generation_that_changes_nothing_is_reported_whole_too() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a")])
        watch = book.watch()
        await following(watch)
        book.follow(Generation(2), [subject("a")])
        assert await following(watch) == (2, {"a": UNKNOWN})

    run(scenario())


def test_many_resources_are_told_in_messages_that_stay_small() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(3), [subject(f"p-{number}") for number in range(MOST_IN_A_REPORT * 2 + 1)])
        watch = book.watch()
        reports = [await following(watch) for _ in range(3)]
        assert [(generation, len(states)) for generation, states in reports] == [
            (3, MOST_IN_A_REPORT),
            (3, MOST_IN_A_REPORT),
            (3, 1),
        ]
        assert len({provider_id for _, states in reports for provider_id in states}) == MOST_IN_A_REPORT * 2 + 1
        assert await is_waiting(watch)

    run(scenario())


def test_state_follows_the_thresholds_of_the_config() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a", healthy_threshold=2, unhealthy_threshold=2)])
        watch = book.watch()
        await following(watch)
        seen: list[ResourceHealthState] = []
        for good in (True, False, False, True, True):
            book.observe(A, good=good, detail=f"seen {len(seen)}")
            seen.append((await following(watch))[1]["a"])
        assert seen == [HEALTHY, HEALTHY, UNHEALTHY, UNHEALTHY, HEALTHY]

    run(scenario())


def test_what_is_not_checked_stays_healthy() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a", HealthMode.NONE)])
        watch = book.watch()
        await following(watch)
        book.observe(A, good=False)
        assert await is_waiting(watch)

    run(scenario())


@pytest.mark.contract("POL-01")
def test_unhealthy_resource_gets_requests_again_when_it_is_put_on_trial() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a", unhealthy_threshold=3)])
        watch = book.watch()
        await following(watch)
        for _ in range(3):
            book.observe(A, good=False)
        await book.unhealthy(A)
        assert await following(watch) == (1, {"a": UNHEALTHY})
        book.put_on_trial(A)
        assert await following(watch) == (1, {"a": UNKNOWN})
        book.observe(A, good=False)
        assert await following(watch) == (1, {"a": UNHEALTHY})

    run(scenario())


def test_only_what_is_unhealthy_is_put_on_trial() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a")])
        book.observe(A, good=True)
        watch = book.watch()
        await following(watch)
        book.put_on_trial(A)
        book.put_on_trial(ProviderId("gone"))
        assert await is_waiting(watch)

    run(scenario())


@pytest.mark.contract("CFG-08")
def test_change_of_state_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a", base_url="http://user:s3cret@127.0.0.1/")])
        book.observe(A, good=False, detail="answers 503")
        book.observe(A, good=False, detail="answers 500")
        book.observe(A, good=True, detail="answers 200")

    with caplog.at_level("INFO"):
        run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "provider a: unhealthy: answers 503",
        "provider a: healthy: answers 200",
    ]


def test_every_watcher_hears_everything() -> None:
    async def scenario() -> None:
        book = HealthBook()
        book.follow(Generation(1), [subject("a")])
        watches = [book.watch(), book.watch()]
        for watch in watches:
            await following(watch)
        book.observe(A, good=True)
        assert [await following(watch) for watch in watches] == [(1, {"a": HEALTHY})] * 2

    run(scenario())
