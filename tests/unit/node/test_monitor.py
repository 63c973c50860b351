"""Who is probed when, and that a probe ends with its generation."""

import asyncio

import pytest

from iop_edge.ids import Generation, ProviderId
from iop_edge.node.health import FIRST_WITHIN_SECONDS, HealthMonitor, HealthRegistry, MonitoredResource
from iop_edge.node.node import Node
from iop_edge.node.probe import Probe, ProbeResult
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import NodeConfigPayload, NodeConfigRefreshOutcome, ResourceHealthState
from tests.support import run
from tests.unit.node.pushes import DRY_RUN, NODE_ID, handshake, monitored, payload, push

pytestmark = [pytest.mark.contract("PSH-05"), pytest.mark.case("A13")]

ACTIVE = HealthMode.ACTIVE
GOOD, BAD = ProbeResult(good=True, detail="answers 200"), ProbeResult(good=False, detail="answers 503")

INTERVAL = 10.0
"""Seconds between the probes of `subject`."""


def chance() -> float:
    return 0.5


class World:
    """A clock: time that stands still, and backends that answer when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: dict[asyncio.Future[None], float] = {}
        self.questions: dict[asyncio.Future[ProbeResult], Probe] = {}

    @property
    def asked(self) -> list[str]:
        """Of which resources an answer is awaited."""
        return sorted(probe.provider_id for probe in self.questions.values())

    async def probe(self, probe: Probe) -> ProbeResult:
        answer: asyncio.Future[ProbeResult] = asyncio.get_running_loop().create_future()
        self.questions[answer] = probe
        try:
            return await answer
        finally:
            del self.questions[answer]

    async def wake(self) -> list[float]:
        """Let all pauses pass; return how long they were."""
        await turns()
        delays = sorted(self.pauses.values())
        for pause in self.pauses:
            pause.set_result(None)
        await turns()
        return delays

    async def answer(self, finding: ProbeResult) -> None:
        """Answer all questions."""
        for question in self.questions:
            question.set_result(finding)
        await turns()

    def wall_ms(self) -> int:
        raise NotImplementedError

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, delay: float) -> None:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.pauses[over] = delay
        try:
            await over
        finally:
            del self.pauses[over]


class House:
    """A registry and its monitor."""

    def __init__(self) -> None:
        self.world = World()
        self.registry = HealthRegistry()
        self.monitor = HealthMonitor(self.registry, self.world, self.world, chance)
        self.generation = 0

    async def follow(self, *resources: MonitoredResource) -> None:
        self.generation += 1
        self.registry.replace(Generation(self.generation), resources)
        self.monitor.replace(resources)
        await turns()

    async def states(self) -> dict[str, ResourceHealthState]:
        report = await anext(self.registry.watch())
        return {item.provider_id: item.state for item in report.resources}


async def turns() -> None:
    """Let everything happen that waits for nothing."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_first_probes_are_spread_and_the_others_keep_the_interval() -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", ACTIVE))
        assert await house.world.wake() == [FIRST_WITHIN_SECONDS / 2]
        assert house.world.asked == ["a"]
        house.world.now += 3
        await house.world.answer(GOOD)
        assert await house.world.wake() == [INTERVAL - 3]
        house.world.now += INTERVAL + 1
        await house.world.answer(GOOD)
        assert await house.world.wake() == [0]
        await house.monitor.close()

    run(scenario())


def test_short_interval_spreads_the_first_probes_over_no_more_than_itself() -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", ACTIVE, interval_ms=100))
        assert await house.world.wake() == [0.05]
        await house.monitor.close()

    run(scenario())


def test_resource_that_hangs_has_one_probe_and_holds_up_no_other() -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("hangs", ACTIVE), monitored("serves", ACTIVE))
        await house.world.wake()
        [serves] = [question for question, probe in house.world.questions.items() if probe.provider_id == "serves"]
        serves.set_result(GOOD)
        await turns()
        await house.world.wake()
        assert house.world.asked == ["hangs", "serves"]
        await house.monitor.close()

    run(scenario())


def test_state_follows_the_answers() -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", ACTIVE, unhealthy_threshold=2, healthy_threshold=2))
        seen = []
        for finding in (GOOD, BAD, BAD, GOOD, GOOD):
            await house.world.wake()
            await house.world.answer(finding)
            seen.append((await house.states())["a"].name)
        assert seen == ["HEALTHY", "HEALTHY", "UNHEALTHY", "UNHEALTHY", "HEALTHY"]
        await house.monitor.close()

    run(scenario())


def test_resource_that_stays_keeps_its_probe_and_its_history() -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", ACTIVE, unhealthy_threshold=2))
        await house.world.wake()
        await house.world.answer(BAD)
        await house.world.wake()
        [(question, _)] = house.world.questions.items()
        await house.follow(monitored("a", ACTIVE, unhealthy_threshold=2), monitored("b", ACTIVE))
        assert list(house.world.questions) == [question]
        await house.world.answer(BAD)
        assert await house.states() == {"a": ResourceHealthState.UNHEALTHY, "b": ResourceHealthState.UNKNOWN}
        await house.monitor.close()

    run(scenario())


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([], id="it is removed"),
        pytest.param([monitored("a", HealthMode.NONE)], id="it is not checked any more"),
        pytest.param([monitored("a", HealthMode.PASSIVE)], id="it is passive"),
    ],
)
@pytest.mark.parametrize("moment", ["paused", "asking", "answered"])
def test_probe_ends_with_its_generation(after: list[MonitoredResource], moment: str) -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", ACTIVE))
        if moment != "paused":
            await house.world.wake()
        if moment == "answered":
            for question in house.world.questions:
                question.set_result(BAD)  # and the probe has not heard of it yet
        await house.follow(*after)
        assert not house.world.questions
        assert not house.world.pauses
        assert ResourceHealthState.UNHEALTHY not in (await house.states()).values()
        await house.monitor.close()

    run(scenario())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(monitored("a", ACTIVE, path="/other"), id="its check"),
        pytest.param(monitored("a", ACTIVE, base_url="http://127.0.0.1:9"), id="its backend"),
    ],
)
def test_change_of_a_resource_begins_anew(changed: MonitoredResource) -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", ACTIVE))
        await house.world.wake()
        await house.world.answer(BAD)
        assert (await house.states())["a"] is ResourceHealthState.UNHEALTHY
        await house.follow(changed)
        assert (await house.states())["a"] is ResourceHealthState.UNKNOWN
        assert await house.world.wake() == [FIRST_WITHIN_SECONDS / 2]
        assert house.world.asked == ["a"]
        await house.monitor.close()

    run(scenario())


@pytest.mark.contract("POL-01")
def test_passive_resource_that_is_unhealthy_is_half_open_after_its_interval() -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", HealthMode.PASSIVE))
        assert not house.world.pauses
        house.registry.observe(ProviderId("a"), good=False)
        assert (await house.states())["a"] is ResourceHealthState.UNHEALTHY
        assert await house.world.wake() == [INTERVAL]
        assert (await house.states())["a"] is ResourceHealthState.UNKNOWN
        assert not house.world.pauses
        house.registry.observe(ProviderId("a"), good=False)
        assert await house.world.wake() == [INTERVAL]
        house.registry.observe(ProviderId("a"), good=True)
        assert (await house.states())["a"] is ResourceHealthState.HEALTHY
        assert not house.world.questions
        await house.monitor.close()

    run(scenario())


def test_closed_keeper_leaves_no_task() -> None:
    async def scenario() -> None:
        house = House()
        before = asyncio.all_tasks()
        await house.follow(
            *(monitored(f"p-{number}", ACTIVE) for number in range(50)), monitored("q", HealthMode.PASSIVE)
        )
        await house.world.wake()
        assert len(house.world.asked) == 50
        await house.monitor.close()
        assert asyncio.all_tasks() == before
        assert not house.world.questions

    run(scenario())


def test_fault_of_our_own_is_told_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        house = House()
        await house.follow(monitored("a", ACTIVE))
        await house.world.wake()
        for question in house.world.questions:
            question.set_exception(RuntimeError("s3cret"))
        await turns()
        await house.monitor.close()

    run(scenario())
    assert [record.getMessage() for record in caplog.records] == ["the health check of a failed: RuntimeError"]


def probed(*provider_ids: str, concurrency: int = 1) -> NodeConfigPayload:
    resources = [monitored(provider_id, ACTIVE) for provider_id in provider_ids]
    adapters = [item.adapter for item in resources[:1] if item.adapter is not None]
    return payload(concurrency, resources=[item.resource for item in resources], adapters=adapters)


def test_node_probes_what_it_runs_and_nothing_that_was_only_checked_or_refused() -> None:
    async def scenario() -> None:
        world = World()
        node = Node(NODE_ID, prober=world, clock=world, chance=chance)
        await node.handshake(handshake())
        for request, asked in (
            (push(1, probed("a"), mode=DRY_RUN), []),
            (push(2, probed("a")), ["a"]),
            (push(3, probed("a", "b", concurrency=2), mode=DRY_RUN), ["a"]),
            (push(1, probed("b")), ["a"]),
            (push(4, probed("a")), ["a"]),
            (push(5, probed("b", "c")), ["b", "c"]),
            (push(6, payload()), []),
        ):
            await node.node_config_refresh(request)
            await world.wake()
            assert world.asked == asked, request.generation
        await node.close()
        assert not world.questions
        assert not world.pauses

    run(scenario())


def replaced(checked: MonitoredResource, field: str, value: int) -> MonitoredResource:
    setattr(checked.check, field, value)
    return checked


@pytest.mark.contract("PSH-02")
@pytest.mark.parametrize("field", ["interval_ms", "timeout_ms"])
def test_node_refuses_a_check_that_could_not_be_carried_out(field: str) -> None:
    async def scenario() -> None:
        world = World()
        node = Node(NODE_ID, prober=world, clock=world, chance=chance)
        await node.handshake(handshake())
        broken = payload(resources=[replaced(monitored(mode=ACTIVE), field, 0).resource])
        answer = await node.node_config_refresh(push(1, broken))
        assert answer.outcome is NodeConfigRefreshOutcome.REJECTED
        [violation] = answer.violations
        assert (violation.rule, violation.path) == ("node.health", f"payload.resources[0].health.{field}")
        await node.close()

    run(scenario())
