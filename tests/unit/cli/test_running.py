import asyncio
import os
import signal

import pytest

from iop_edge.cli.running import until_stopped
from tests.support import run


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
