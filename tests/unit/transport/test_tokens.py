"""Tokens that are rotated while they are in use."""

import logging

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.transport.channel import ClientChannel
from iop_edge.transport.reload import RotatedTokens, TokensError
from tests.support import run
from tests.unit.transport.service import Service, ask, dialled, serving

pytestmark = pytest.mark.contract("PAY-02")


class Source:
    """What a test says the tokens are now; None: they cannot be read."""

    def __init__(self, *tokens: str) -> None:
        self.now: tuple[str, ...] | None = tokens
        self.fault: Exception = TokensError("tokens is not UTF-8")

    def __call__(self) -> tuple[str, ...]:
        if self.now is None:
            raise self.fault
        return self.now


async def shown(channel: ClientChannel, token: str) -> Status:
    try:
        await ask(channel, metadata=(("authorization", f"Bearer {token}"),))
    except GRPCError as error:
        return error.status
    return Status.OK


def test_each_call_is_held_against_the_tokens_of_its_moment() -> None:
    async def scenario() -> None:
        source = Source("old")
        async with serving(Service(), tokens=RotatedTokens(source)) as (_, address), dialled(address) as channel:
            seen = []
            for now in (("old",), ("old", "new"), ("new",)):
                source.now = now
                seen.append([await shown(channel, token) is Status.OK for token in ("old", "new")])
        assert seen == [[True, False], [True, True], [False, True]]

    run(scenario())


@pytest.mark.parametrize("fault", [TokensError("tokens is not UTF-8"), FileNotFoundError(2, "No such file", "tokens")])
def test_tokens_that_cannot_be_read_stay_and_are_told_of_once(
    fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source("s3cret")
    source.fault = fault
    tokens = RotatedTokens(source)
    source.now = None
    with caplog.at_level(logging.WARNING):
        assert tokens.current() == tokens.current() == ("s3cret",)
    assert len(caplog.records) == 1
    assert "s3cret" not in caplog.text
    source.now = ("new",)
    assert tokens.current() == ("new",)
    source.now = None
    assert tokens.current() == ("new",)
    assert len(caplog.records) == 2


def test_tokens_that_never_could_be_read_are_an_error() -> None:
    source = Source()
    source.now = None
    with pytest.raises(TokensError):
        RotatedTokens(source)
