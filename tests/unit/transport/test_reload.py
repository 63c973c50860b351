"""Certificates that are renewed while they are in use."""

import logging
import ssl
from dataclasses import replace

import pytest
from grpclib.exceptions import StreamTerminatedError

from iop_edge.net import Tls, TlsError, client_context
from iop_edge.transport.channel import ClientChannel
from iop_edge.transport.reload import ReloadedContext, ReloadingServerContext
from iop_edge.transport.server import BoundedServer
from tests.pki import CA, EDGE, NODE, STRANGER
from tests.support import run
from tests.unit.transport.service import LOOPBACK, Service, ask, dialled

HALF_RENEWED = Tls(cert=NODE.cert, key=EDGE.key)


class Texts:
    """What a test says the certificates are now; None: they cannot be read."""

    def __init__(self, tls: Tls | None) -> None:
        self.now = tls

    def __call__(self) -> Tls:
        if self.now is None:
            raise TlsError("tls: cert: No such file or directory")
        return self.now


def test_context_is_kept_as_long_as_its_texts_stay() -> None:
    renewed = ReloadedContext(Texts(Tls(ca=CA)), client_context)
    assert renewed.current()[1] is renewed.current()[1]


def test_context_is_made_anew_when_its_texts_have_changed() -> None:
    texts = Texts(Tls(ca=CA))
    renewed = ReloadedContext(texts, client_context)
    _, first = renewed.current()
    texts.now = Tls(ca=STRANGER, server_name="node.test")
    tls, second = renewed.current()
    assert second is not first
    assert tls == texts.now


@pytest.mark.parametrize("broken", [None, HALF_RENEWED], ids=["unreadable", "the key of another certificate"])
def test_texts_that_cannot_be_used_leave_the_context_and_are_told_of_once(
    broken: Tls | None, caplog: pytest.LogCaptureFixture
) -> None:
    texts = Texts(replace(EDGE, ca=CA))
    renewed = ReloadedContext(texts, client_context)
    first = renewed.current()
    texts.now = broken
    with caplog.at_level(logging.WARNING):
        assert renewed.current() == renewed.current() == first
    assert len(caplog.records) == 1
    assert "PRIVATE" not in caplog.text
    texts.now = Tls(ca=CA)
    assert renewed.current() != first


@pytest.mark.parametrize("broken", [None, HALF_RENEWED], ids=["unreadable", "the key of another certificate"])
def test_texts_that_could_never_be_used_are_an_error(broken: Tls | None) -> None:
    with pytest.raises(TlsError):
        ReloadedContext(Texts(broken), client_context).current()
    with pytest.raises(TlsError):
        ReloadingServerContext(Texts(broken))


def test_server_shows_each_new_connection_its_certificate_of_that_moment() -> None:
    async def scenario() -> None:
        texts = Texts(EDGE)
        server = BoundedServer([Service()])
        address = await server.start(LOOPBACK, ReloadingServerContext(texts))
        async with dialled(address, tls=Tls(ca=CA)) as channel:
            with pytest.raises(ssl.SSLCertVerificationError):  # it is not a certificate of this host
                await ask(channel)
            texts.now = NODE
            await ask(channel)
            texts.now = EDGE
            await ask(channel)  # a connection that is made stays
        await server.drain(0)

    run(scenario())


async def refusal(channel: ClientChannel) -> Exception:
    try:
        await ask(channel)
    except (ssl.SSLError, StreamTerminatedError, OSError) as error:
        return error
    raise AssertionError


def test_server_asks_each_new_connection_for_a_certificate_of_its_authority_of_that_moment() -> None:
    async def scenario() -> None:
        texts = Texts(replace(NODE, ca=STRANGER))
        server = BoundedServer([Service()])
        address = await server.start(LOOPBACK, ReloadingServerContext(texts))
        async with dialled(address, tls=replace(EDGE, ca=CA)) as channel:
            await refusal(channel)
            texts.now = replace(NODE, ca=CA)
            await ask(channel)
        await server.drain(0)

    run(scenario())


def test_tls_connection_reads_into_little_memory() -> None:
    async def scenario() -> None:
        server = BoundedServer([Service()])
        address = await server.start(LOOPBACK, ReloadingServerContext(lambda: NODE))
        async with dialled(address, tls=Tls(ca=CA)) as channel:
            await ask(channel)
            ends = [*channel.open_connections, *server._server.connections()]
            assert len(ends) == 2
            for end in ends:
                buffers = end.transport._ssl_protocol  # type: ignore[attr-defined]
                assert len(buffers._ssl_buffer) == buffers.max_size == 1 << 15
        await server.drain(0)

    run(scenario())
