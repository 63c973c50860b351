import asyncio
import io
import os
import signal
from dataclasses import replace

import pytest

from iop_edge.cli.commands.edge import Screen
from iop_edge.cli.console import Console
from iop_edge.cli.polling import drained, follow, progress, until_stopped
from iop_edge.client.status import NodeStatus, StatusSnapshot
from iop_edge.errors import EdgeError
from iop_edge.ids import EdgeId, NodeId, ProviderId
from iop_edge.pool.status import Health, NodeConnection, ProviderState, ProviderStatus
from iop_edge.refresh.result import Mode, RefreshResult, Status
from tests.support import run
from tests.unit.cli.invoke import Terminal

RESULT = RefreshResult(Status.APPLIED, Mode.APPLY, committed=True, changed_providers=("p", "q"))
EMPTY = StatusSnapshot(EdgeId("e"), 3, "ab", 0, False, "", (), (), ())
NODES = tuple(
    NodeStatus(NodeId(name), "", "", NodeConnection.CONNECTED, 1, revision, True, "")
    for name, revision in (("a", 4), ("b", 3))
)


class StoppedError(Exception):
    """The end of a test's time."""


class Edge:
    """Answers with these states in turn, the last one for ever; also the clock, which counts the time between."""

    def __init__(self, *answers: StatusSnapshot | EdgeError, until: float = 1000) -> None:
        self._answers = list(answers)
        self._until = until
        self.slept = 0.0

    async def ask(self) -> StatusSnapshot:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, EdgeError):
            raise answer
        return answer

    def wall_ms(self) -> int:
        return round(self.slept * 1000)

    def monotonic(self) -> float:
        return self.slept

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        if self.slept > self._until:
            raise StoppedError


def providers(**in_flight: int) -> StatusSnapshot:
    """A state in which each provider takes one request."""
    return replace(
        EMPTY,
        providers=tuple(
            ProviderStatus(ProviderId(name), NodeId("n"), ProviderState.BUSY, Health.HEALTHY, 1, count, 0, 0, ("m",))
            for name, count in in_flight.items()
        ),
    )


def console(*, terminal: bool = False) -> tuple[Console, io.StringIO, io.StringIO]:
    out, err = (Terminal() if terminal else io.StringIO() for _ in range(2))
    return Console(io.StringIO(), out, err, {"NO_COLOR": "1"}), out, err


@pytest.mark.contract("POL-05")
def test_a_wait_ends_when_no_changed_provider_runs_more_than_it_takes() -> None:
    edge = Edge(providers(p=3, q=1), providers(p=2, q=0), providers(p=1, q=0, other=9))
    where, _, err = console(terminal=True)
    assert run(drained(RESULT, 60_000, edge.ask, where, edge)) == RESULT
    assert edge.slept == 1.0
    assert "2 requests over capacity at 1 provider" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K"), "nothing of the progress stands at the end"


@pytest.mark.contract("POL-05")
def test_a_wait_that_is_over_names_who_has_not_drained() -> None:
    edge = Edge(providers(p=3, q=5))
    where, out, err = console()
    result = run(drained(RESULT, 1_200, edge.ask, where, edge))
    assert [(warning.rule, warning.path) for warning in result.warnings] == [
        ("provider.draining", "nodes[n].providers[p]"),
        ("provider.draining", "nodes[n].providers[q]"),
    ]
    assert edge.slept == pytest.approx(1.2)
    assert (out.getvalue(), err.getvalue()) == ("", "")


def test_a_wait_in_which_the_edge_goes_away_keeps_the_result_and_says_so() -> None:
    edge = Edge(providers(p=3), EdgeError("gone"))
    where, _, err = console(terminal=True)
    result = run(drained(RESULT, 60_000, edge.ask, where, edge))
    (warning,) = result.warnings
    assert (warning.rule, "gone" in warning.message) == ("provider.draining", True)
    assert replace(result, warnings=()) == RESULT
    assert err.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_of_an_apply_is_told_on_a_terminal_alone_and_taken_away(terminal: bool) -> None:
    where, _, err = console(terminal=terminal)
    told = asyncio.Event()

    class Patient(Edge):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            if err.getvalue():
                told.set()
                await asyncio.Event().wait()

    async def scenario() -> None:
        edge = Patient(replace(EMPTY, nodes=NODES))
        async with progress(edge.ask, where, edge):
            if terminal:
                await told.wait()

    run(scenario())
    written = err.getvalue()
    assert ("1 of 2 Nodes" in written) is terminal
    assert written.endswith("\r\x1b[K") is terminal


def test_progress_ends_where_the_edge_does_not_answer_and_the_apply_goes_on() -> None:
    where, _, _ = console(terminal=True)

    async def scenario() -> None:
        edge = Edge(EdgeError("gone"))
        async with progress(edge.ask, where, edge):
            pass

    run(scenario())


def watched(form: str, *answers: StatusSnapshot | EdgeError, terminal: bool = False) -> tuple[str, str]:
    edge = Edge(*answers, until=2.0 * len(answers))
    where, out, err = console(terminal=terminal)
    with pytest.raises(StoppedError):
        run(follow(edge.ask, Screen(where, form).show, 2.0, edge))
    return out.getvalue(), err.getvalue()


def test_a_watch_writes_a_line_for_each_change_and_says_that_the_edge_went_away() -> None:
    after = replace(EMPTY, revision=4, drift=True, confirm_until_ms=9, nodes=NODES)
    out, err = watched("text", EMPTY, EMPTY, EdgeError("gone"), EdgeError("gone"), after)
    assert out == "revision 3, 0 of 0 Nodes in sync\nrevision 4, 2 of 2 Nodes in sync, awaiting confirmation, drift\n"
    assert err == "iop-edge: gone\n"


def test_a_watch_shows_who_runs_and_who_waits_where_as_it_changes() -> None:
    (busy,) = providers(p=1).providers
    waiting = replace(EMPTY, providers=(replace(busy, queued=2),))
    shrunk = replace(EMPTY, providers=(replace(busy, in_flight=0, queued=1),))
    out, _ = watched("text", providers(p=1, q=0), waiting, shrunk, providers(p=0))
    assert [line.partition("in sync")[2] for line in out.splitlines()] == [
        ", 1 at p",
        ", 1 and 2 waiting at p",
        ", 0 and 1 waiting at p",
        "",
    ]


def test_a_watch_for_programs_writes_a_json_document_a_line() -> None:
    out, _ = watched("json", EMPTY, replace(EMPTY, revision=4))
    assert [line[:30] for line in out.splitlines()] == [
        '{"edge_id": "e", "revision": 3',
        '{"edge_id": "e", "revision": 4',
    ]


def test_a_watch_on_a_terminal_shows_the_whole_state_in_place() -> None:
    out, _ = watched("text", EMPTY, EMPTY, EdgeError("gone"), terminal=True)
    first, second = out.split("\x1b[H\x1b[2J")[1:]
    assert first.startswith("Edge e, revision 3")
    assert second == "iop-edge: gone\n"


def test_a_watch_of_an_edge_that_cannot_be_reached_at_all_is_a_fault() -> None:
    edge = Edge(EdgeError("gone"))
    with pytest.raises(EdgeError):
        run(follow(edge.ask, lambda _: None, 2.0, edge))


async def _signals_are_handled() -> None:
    """Wait until the loop has dealt with all signals that were sent so far: it takes them in order."""
    handled = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, handled.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await handled.wait()
    loop.remove_signal_handler(signal.SIGUSR1)


def test_work_that_ends_by_itself_says_so() -> None:
    async def work() -> None:
        pass

    assert run(until_stopped(work())) is True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_stops_the_work(number: signal.Signals) -> None:
    async def work() -> None:
        os.kill(os.getpid(), number)
        await asyncio.Event().wait()

    assert run(until_stopped(work())) is False


def test_second_signal_does_not_cut_the_cleaning_short() -> None:
    cleaned = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            await _signals_are_handled()
            cleaned.append("all")

    assert run(until_stopped(work())) is False
    assert cleaned == ["all"]


def test_fault_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run(until_stopped(work()))


def test_cancellation_that_no_signal_asked_for_is_passed_on() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    async def scenario() -> None:
        with pytest.raises(asyncio.CancelledError):
            await until_stopped(work())

    run(scenario())
