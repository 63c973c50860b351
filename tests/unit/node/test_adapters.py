"""A set of adapters: built aside, drained when nothing uses it."""

import asyncio

import pytest

from iop_edge.ids import ProviderId
from iop_edge.node.adapters import Adapter, AdapterError, BuildError, RestartNeededError, build
from iop_pb.iop.runtime.v1 import AdapterConfig
from tests.support import run
from tests.unit.node.pushes import adapter, payload, resource

pytestmark = pytest.mark.contract("PSH-02")


class Recorder:
    """Builds adapters that note when they are closed; some names fail."""

    def __init__(self, **errors: Exception) -> None:
        self.closed: list[str] = []
        self._errors = errors

    def __call__(self, config: AdapterConfig) -> Adapter:
        if config.name in self._errors:
            raise self._errors[config.name]
        return _Recorded(config.name, self.closed)


class _Recorded:
    def __init__(self, name: str, closed: list[str]) -> None:
        self.name = name
        self._closed = closed

    async def close(self) -> None:
        self._closed.append(self.name)


CONTENT = payload(adapters=[adapter("a"), adapter("b")], resources=[resource("p", name="a"), resource("q", name="off")])


def test_set_holds_what_the_payload_says() -> None:
    built = run(build(CONTENT, Recorder()))
    assert set(built.adapters) == {"a", "b"}
    assert set(built.resources) == {"p", "q"}


def test_set_that_fails_is_closed_again() -> None:
    recorder = Recorder(b=AdapterError("no such backend"))
    with pytest.raises(BuildError) as caught:
        run(build(CONTENT, recorder))
    assert recorder.closed == ["a"]
    (refusal,) = caught.value.violations
    assert (refusal.rule, refusal.path, refusal.message) == ("node.adapter", "payload.adapters[1]", "no such backend")
    assert not caught.value.restart


@pytest.mark.parametrize(
    ("errors", "restart"),
    [
        ({"a": RestartNeededError("held")}, True),
        ({"a": RestartNeededError("held"), "b": RestartNeededError("held")}, True),
        ({"a": RestartNeededError("held"), "b": AdapterError("broken")}, False),
    ],
)
def test_restart_helps_only_where_nothing_else_is_wrong(errors: dict[str, Exception], *, restart: bool) -> None:
    with pytest.raises(BuildError) as caught:
        run(build(CONTENT, Recorder(**errors)))
    assert caught.value.restart is restart


def test_set_is_closed_when_nothing_uses_it_any_more() -> None:
    recorder = Recorder()

    async def scenario() -> None:
        built = await build(CONTENT, recorder)
        with built.use(ProviderId("p")) as used:
            assert used is built.adapters[next(iter(built.adapters))]
            with built.use(ProviderId("p")):
                draining = asyncio.create_task(built.drain())
                await asyncio.sleep(0)
            assert not recorder.closed
        await draining

    run(scenario())
    assert sorted(recorder.closed) == ["a", "b"]


@pytest.mark.parametrize("provider_id", ["q", "nobody"])
def test_resource_without_an_adapter_runs_nothing(provider_id: str) -> None:
    async def scenario() -> None:
        built = await build(CONTENT, Recorder())
        with pytest.raises(KeyError), built.use(ProviderId(provider_id)):
            pass
        await built.drain()

    run(scenario())
