"""The service of a Node: what it takes, what it refuses, and that it never takes half."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.ids import ProviderId
from iop_edge.node.adapters import Adapter, AdapterError, Connector, RestartNeededError
from iop_edge.node.node import Node
from iop_edge.node.session import LEASE_SECONDS
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    HandshakeRequest,
    NodeConfigRefreshOutcome,
    NodeConfigRefreshRequest,
    NodeConfigRefreshResponse,
    NodeConfigStatusRequest,
    NodeConfigStatusResponse,
    ResourceHealthState,
    RunningPayload,
)
from tests.clock import ManualClock
from tests.support import run
from tests.unit.node.pushes import (
    DRY_RUN,
    INSTANCE,
    NODE_ID,
    adapter,
    command_line,
    handshake,
    payload,
    push,
    resource,
    watch,
)

pytestmark = pytest.mark.contract("PSH-02")

COMMITTED = NodeConfigRefreshOutcome.COMMITTED
UNCHANGED = NodeConfigRefreshOutcome.UNCHANGED
REJECTED = NodeConfigRefreshOutcome.REJECTED
RESTART_REQUIRED = NodeConfigRefreshOutcome.RESTART_REQUIRED

A, B, C = payload(1), payload(2), payload(3)


async def status(node: Node) -> NodeConfigStatusResponse:
    return await node.node_config_status(NodeConfigStatusRequest())


async def turns() -> None:
    """Let everything happen that waits for nothing."""
    for _ in range(10):
        await asyncio.sleep(0)


def pushed(*requests: NodeConfigRefreshRequest, node: Node | None = None) -> list[NodeConfigRefreshResponse]:
    """Return a Node's answers to pushes in a session."""

    async def scenario() -> list[NodeConfigRefreshResponse]:
        target = node or Node(NODE_ID)
        await target.handshake(handshake())
        answers = [await target.node_config_refresh(request) for request in requests]
        await target.close()
        return answers

    return run(scenario())


def outcomes(*requests: NodeConfigRefreshRequest) -> list[NodeConfigRefreshOutcome]:
    return [answer.outcome for answer in pushed(*requests)]


def refusal(handshaking: HandshakeRequest, node: Node | None = None) -> GRPCError:
    with pytest.raises(GRPCError) as caught:
        run((node or Node(NODE_ID)).handshake(handshaking))
    return caught.value


@pytest.mark.contract("PSH-01")
def test_handshake_tells_who_answers_and_that_nothing_runs() -> None:
    answer = run(Node(NODE_ID).handshake(handshake()))
    assert (answer.node_id, answer.protocol_version) == (NODE_ID, 1)
    assert answer.running == RunningPayload()
    assert answer.software_version


@pytest.mark.contract("PSH-01")
def test_handshake_tells_what_runs() -> None:
    async def scenario() -> RunningPayload | None:
        node = Node(NODE_ID)
        await node.handshake(handshake())
        await node.node_config_refresh(push(5, A, payload_hash=b"tag", revision=3))
        answer = await node.handshake(handshake())
        await node.close()
        return answer.running

    assert run(scenario()) == RunningPayload(generation=5, payload_hash=b"tag", revision=3)


@pytest.mark.parametrize("version", [0, 2])
def test_protocol_of_another_version_is_refused(version: int) -> None:
    assert refusal(handshake(protocol_version=version)).status is Status.FAILED_PRECONDITION


@pytest.mark.parametrize("anonymous", [handshake(edge_id=""), handshake(instance_id="")])
def test_anonymous_edge_is_refused(anonymous: HandshakeRequest) -> None:
    assert refusal(anonymous).status is Status.INVALID_ARGUMENT


def test_second_process_and_other_edge_are_refused() -> None:
    node = Node(NODE_ID, clock=ManualClock())
    run(node.handshake(handshake()))
    assert refusal(handshake(instance_id="instance-2"), node).status is Status.ABORTED
    assert refusal(handshake(edge_id="edge-2"), node).status is Status.PERMISSION_DENIED
    run(node.handshake(handshake(edge_id="edge-2", take_over=True)))
    assert run(status(node)).edge_id == "edge-2"


def test_push_outside_a_session_is_refused() -> None:
    clock = ManualClock()
    node = Node(NODE_ID, clock=clock)
    with pytest.raises(GRPCError) as before:
        run(node.node_config_refresh(push(1)))
    run(node.handshake(handshake()))
    with pytest.raises(GRPCError) as another:
        run(node.node_config_refresh(push(1, edge_instance_id="instance-2")))
    clock.advance(LEASE_SECONDS)
    with pytest.raises(GRPCError) as after:
        run(node.node_config_refresh(push(1)))
    assert {caught.value.status for caught in (before, another, after)} == {Status.ABORTED}


def test_payload_is_taken() -> None:
    (answer,) = pushed(push(1, A, revision=9, payload_hash=b"tag"))
    assert answer.outcome is COMMITTED
    assert answer.running == RunningPayload(generation=1, payload_hash=b"tag", revision=9)
    assert not answer.violations


@pytest.mark.contract("PSH-03")
def test_check_says_what_a_commit_would_and_changes_nothing() -> None:
    answers = pushed(push(1, A), push(2, B, mode=DRY_RUN), push(3, A, mode=DRY_RUN), push(4, A))
    assert [answer.outcome for answer in answers] == [COMMITTED, COMMITTED, UNCHANGED, UNCHANGED]
    assert [answer.running.generation for answer in answers if answer.running] == [1, 1, 1, 4]


@pytest.mark.case("R10")
def test_equal_content_under_a_new_revision_is_unchanged_and_counts() -> None:
    again = pushed(push(1, A), push(2, A, revision=77))[1]
    assert again.outcome is UNCHANGED
    assert again.running is not None
    assert (again.running.generation, again.running.revision) == (2, 77)


def test_equal_content_under_a_new_hash_is_unchanged_and_takes_the_hash() -> None:
    again = pushed(push(1, A, payload_hash=b"old key"), push(2, A, payload_hash=b"new key"))[1]
    assert again.outcome is UNCHANGED
    assert again.running is not None
    assert again.running.payload_hash == b"new key"


def test_push_that_is_sent_twice_is_unchanged_the_second_time() -> None:
    assert outcomes(push(1, A), push(1, A)) == [COMMITTED, UNCHANGED]


@pytest.mark.case("R11")
def test_good_then_bad_then_good_are_each_answered() -> None:
    bad = payload(adapters=[command_line("unheard-of")])
    assert outcomes(push(1, A), push(2, bad), push(3, A), push(4, B), push(5, A)) == [
        COMMITTED,
        REJECTED,
        UNCHANGED,
        COMMITTED,
        COMMITTED,
    ]


@pytest.mark.parametrize(
    ("late", "rule"),
    [
        pytest.param(push(4, B), "node.generation", id="older, other content"),
        pytest.param(push(4, A), "node.generation", id="older, equal content"),
        pytest.param(push(5, B), "node.generation", id="the same, other content"),
        pytest.param(push(4, B, mode=DRY_RUN), "node.generation", id="older, checked only"),
        pytest.param(push(6, payload(node_id="gpu-b")), "node.id", id="another Node's"),
        pytest.param(push(6, B, edge_id="edge-2"), "node.edge", id="another Edge's"),
        pytest.param(push(6, payload(adapters=[AdapterConfig(name="new")])), "node.unknown", id="a newer kind"),
        pytest.param(push(6, payload(adapters=[command_line("x")])), "node.profile", id="an unknown profile"),
    ],
)
def test_push_that_does_not_belong_here_changes_nothing(late: NodeConfigRefreshRequest, rule: str) -> None:
    first, answer, again = pushed(push(5, A), late, push(5, A))
    assert answer.outcome is REJECTED
    assert [violation.rule for violation in answer.violations] == [rule]
    assert answer.running == first.running
    assert again.outcome is UNCHANGED


def test_unchanged_push_moves_the_order_on() -> None:
    assert outcomes(push(1, A), push(5, A), push(3, B)) == [COMMITTED, UNCHANGED, REJECTED]


def failing(error: Exception, name: str = "broken") -> Callable[[AdapterConfig], Adapter]:
    def builder(config: AdapterConfig) -> Adapter:
        if config.name == name:
            raise error
        return Connector(config)

    return builder


@pytest.mark.case("R14")
@pytest.mark.parametrize(
    ("error", "outcome"),
    [(AdapterError("no such backend"), REJECTED), (RestartNeededError("the port is held"), RESTART_REQUIRED)],
)
def test_node_that_fails_half_way_runs_what_it_ran(error: Exception, outcome: NodeConfigRefreshOutcome) -> None:
    half = payload(adapters=[adapter("good"), adapter("broken")])

    async def scenario() -> None:
        node = Node(NODE_ID, builder=failing(error))
        await node.handshake(handshake())
        await node.node_config_refresh(push(1, A))
        before = node.running_set
        answer = await node.node_config_refresh(push(2, half))
        assert answer.outcome is outcome
        assert answer.violations[0].message == str(error)
        assert node.running_set is before
        assert answer.running is not None
        assert answer.running.generation == 1
        await node.close()

    run(scenario())


def test_old_set_drains_while_the_new_one_runs() -> None:
    async def scenario() -> None:
        node = Node(NODE_ID)
        await node.handshake(handshake())
        await node.node_config_refresh(push(1, A))
        old = node.running_set
        with old.use(ProviderId("qwen")):
            await node.node_config_refresh(push(2, payload(adapters=[adapter("other")], resources=[])))
            assert node.running_set is not old
            await turns()
            now = await status(node)
            assert (now.draining_sets, now.adapters, now.resources) == (1, ["other"], [])
        await turns()
        assert not (await status(node)).draining_sets
        await node.close()

    run(scenario())


class Held:
    """An adapter that notes its end, which a test can hold up."""

    def __init__(self, name: str, closed: list[str], let_go: asyncio.Event) -> None:
        self._name = name
        self._closed = closed
        self._let_go = let_go

    async def close(self) -> None:
        await self._let_go.wait()
        self._closed.append(self._name)


def test_what_a_check_has_built_is_closed_before_the_next_push_is_looked_at() -> None:
    async def scenario() -> None:
        closed: list[str] = []
        let_go = asyncio.Event()
        node = Node(NODE_ID, builder=lambda config: Held(config.name, closed, let_go))
        await node.handshake(handshake())
        checking = asyncio.create_task(
            node.node_config_refresh(push(1, payload(adapters=[adapter("a")]), mode=DRY_RUN))
        )
        await turns()
        committing = asyncio.create_task(node.node_config_refresh(push(2, payload(adapters=[adapter("b")]))))
        await turns()
        assert not any(task.done() for task in (checking, committing))
        let_go.set()
        assert (await checking).outcome is (await committing).outcome is COMMITTED
        assert closed == ["a"]
        await node.close()
        assert closed == ["a", "b"]

    run(scenario())


@pytest.mark.contract("PSH-02")
def test_node_that_stops_closes_sets_that_still_drain() -> None:
    async def scenario() -> None:
        closed: list[str] = []
        let_go = asyncio.Event()
        let_go.set()
        node = Node(NODE_ID, builder=lambda config: Held(config.name, closed, let_go))
        await node.handshake(handshake())
        await node.node_config_refresh(
            push(1, payload(adapters=[adapter("old")], resources=[resource("p", name="old")]))
        )
        with node.running_set.use(ProviderId("p")):
            await node.node_config_refresh(push(2, payload(adapters=[adapter("new")], resources=[])))
            await turns()
            assert closed == []
            await node.close()
        assert sorted(closed) == ["new", "old"]

    run(scenario())


def test_status_lists_what_runs_by_name() -> None:
    content = payload(adapters=[adapter("b"), adapter("a")], resources=[resource("q"), resource("p")])

    async def scenario() -> NodeConfigStatusResponse:
        node = Node(NODE_ID)
        await node.handshake(handshake())
        await node.node_config_refresh(push(1, content))
        answer = await status(node)
        await node.close()
        return answer

    answer = run(scenario())
    assert (answer.node_id, answer.adapters, answer.resources) == (NODE_ID, ["a", "b"], ["p", "q"])


@pytest.mark.contract("CFG-08")
def test_refused_push_shows_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    secret = adapter("a", "http://user:s3cret@host")
    assert secret.vllm is not None
    secret.vllm.headers["Authorization"] = "Bearer s3cret"
    with caplog.at_level(logging.DEBUG):
        (answer,) = pushed(push(1, payload(node_id="gpu-b", adapters=[secret, secret])))
    assert answer.outcome is REJECTED
    assert "s3cret" not in caplog.text
    assert "s3cret" not in str(answer)


@pytest.mark.contract("PSH-05")
def test_health_is_streamed_and_keeps_the_session_alive() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        node = Node(NODE_ID, clock=clock)
        await node.handshake(handshake())
        await node.node_config_refresh(push(1, A))
        reports = node.watch_health(watch())
        first = await anext(reports)
        assert [item.provider_id for item in first.resources] == ["qwen"]
        clock.advance(LEASE_SECONDS * 100)
        with pytest.raises(GRPCError):
            await node.handshake(handshake(instance_id="instance-2"))
        node.health.observe(ProviderId("qwen"), good=True)
        assert (await anext(reports)).resources[0].state is ResourceHealthState.HEALTHY
        await node.close()
        with pytest.raises(StopAsyncIteration):
            await anext(reports)

    run(scenario())


@pytest.mark.parametrize(
    ("request_", "status_"),
    [
        (watch(instance_id="instance-2"), Status.ABORTED),
        (watch(edge_id="edge-2"), Status.PERMISSION_DENIED),
    ],
)
def test_stream_is_for_the_holder_of_the_session(request_: object, status_: Status) -> None:
    async def scenario() -> None:
        node = Node(NODE_ID)
        await node.handshake(handshake())
        with pytest.raises(GRPCError) as caught:
            await anext(node.watch_health(request_))  # type: ignore[arg-type]
        assert caught.value.status is status_

    run(scenario())


def test_old_edge_hears_that_it_was_taken_over() -> None:
    async def scenario() -> None:
        node = Node(NODE_ID)
        await node.handshake(handshake())
        reports = node.watch_health(watch())
        await anext(reports)
        await node.handshake(handshake(edge_id="edge-2", instance_id=INSTANCE, take_over=True))
        with pytest.raises(GRPCError) as caught:
            await anext(reports)
        assert caught.value.status is Status.PERMISSION_DENIED

    run(scenario())
