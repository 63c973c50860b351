"""What an Edge makes of requests follows its running config."""

import asyncio

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.edge import Edge
from iop_edge.pool.catalogue import Catalogue
from iop_edge.pool.explain import DispatchKind
from iop_edge.refresh.result import Mode, Status
from iop_edge.requests.facts import RequestFacts
from iop_edge.requests.policy import Execution, RequestPolicy
from tests.support import run
from tests.unit.config.loading import load


def config(number: int) -> Snapshot:
    """A config that says its number wherever a request can see it."""
    return load(f"""\
        edge: {{id: e}}
        long_context_threshold_tokens: {number}
        models:
          - {{id: always, default_max_tokens: {number}}}
          - {{id: only-{number}}}
        """)


def prepared(policy: RequestPolicy, model: str = "always") -> Execution:
    return policy.prepare(RequestFacts(model, {}, 5))


@pytest.mark.contract("REF-08", "POL-06", "POL-07")
def test_a_refresh_changes_what_becomes_of_requests_and_not_what_has_become() -> None:
    async def scenario() -> None:
        async with Edge.start(config(5)) as edge:
            before = edge.policy
            execution = prepared(before)
            assert (await edge.refresh(config(9), Mode.DRY_RUN)).status is Status.APPLIED
            assert edge.policy is before
            assert (await edge.refresh(config(9))).committed
            assert (execution.max_tokens, execution.is_long_context) == (5, True)
            assert (prepared(edge.policy).max_tokens, prepared(edge.policy).is_long_context) == (9, False)
            assert prepared(before).max_tokens == 5

    run(scenario())


@pytest.mark.contract("REF-08")
def test_a_rejected_candidate_changes_nothing() -> None:
    async def scenario() -> None:
        async with Edge.start(config(5)) as edge:
            before = edge.policy
            assert (await edge.refresh(config(9), expected_revision=7)).status is Status.REJECTED
            assert edge.policy is before

    run(scenario())


@pytest.mark.contract("REF-08")
@pytest.mark.parametrize("part", [RequestPolicy, Catalogue])
def test_what_runs_is_built_before_anything_is_committed(part: type, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise RuntimeError("cannot be built")

    async def scenario() -> None:
        async with Edge.start(config(5)) as edge:
            before, history = edge.policy, await edge.history()
            with monkeypatch.context() as patch:
                patch.setattr(part, "of", fail)
                with pytest.raises(RuntimeError):
                    await edge.refresh(config(9))
            assert (edge.policy is before, edge.revision, await edge.history()) == (True, 1, history)
            assert edge.pool.explain("only-5").kind is DispatchKind.MODEL
            assert (await edge.refresh(config(9))).committed

    run(scenario())


@pytest.mark.contract("REF-08")
def test_readers_see_policy_pool_and_revision_of_one_config() -> None:
    seen: list[int] = []

    async def read(edge: Edge) -> None:
        while True:
            number = prepared(edge.policy).max_tokens
            assert edge.policy.names() == ("always", f"only-{number}")
            assert edge.pool.explain(f"only-{number}").kind is DispatchKind.MODEL
            assert edge.snapshot == config(number or 0)
            assert edge.revision == number
            seen.append(edge.revision)
            await asyncio.sleep(0)

    async def scenario() -> None:
        async with Edge.start(config(1)) as edge:
            reader = asyncio.create_task(read(edge))
            for number in range(2, 12):
                assert (await edge.refresh(config(number))).committed
            reader.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reader

    run(scenario())
    assert set(seen) >= {2, 10}
