"""TLS at the client's end: who trusts whom, and how a refusal shows."""

import asyncio
import contextlib
import socket
import ssl

import pytest
from grpclib.exceptions import StreamTerminatedError

from iop_edge.net import Address, Tls, server_context
from iop_edge.transport.channel import TlsRefusedError
from tests.pki import CA, EDGE, NODE, STRANGER
from tests.support import run
from tests.unit.transport.service import REPLY, Pause, Service, ask, dialled, serving

MUTUAL = Tls(ca=CA, cert=NODE.cert, key=NODE.key)


@pytest.mark.parametrize(
    ("server", "client"),
    [
        pytest.param(NODE, Tls(ca=CA), id="the host of the address"),
        pytest.param(NODE, Tls(ca=CA, server_name="node.test"), id="another name"),
        pytest.param(MUTUAL, Tls(ca=CA, cert=EDGE.cert, key=EDGE.key), id="both ends"),
    ],
)
def test_tls_connects_ends_that_trust_each_other(server: Tls, client: Tls) -> None:
    async def scenario() -> None:
        async with serving(Service(), tls=server) as (_, address), dialled(address, tls=client) as channel:
            assert await ask(channel) == REPLY

    run(scenario())


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(Tls(ca=STRANGER), id="another authority"),
        pytest.param(Tls(ca=CA, server_name="other.test"), id="a name that the certificate does not carry"),
    ],
)
def test_certificate_that_does_not_verify_is_told_apart(client: Tls) -> None:
    async def scenario() -> None:
        async with serving(Service(), tls=NODE) as (_, address), dialled(address, tls=client) as channel:
            with pytest.raises(ssl.SSLCertVerificationError):
                await ask(channel)

    run(scenario())


def test_client_without_a_certificate_is_refused_where_one_is_asked_for() -> None:
    async def scenario() -> None:
        async with serving(Service(), tls=MUTUAL) as (_, address), dialled(address, tls=Tls(ca=CA)) as channel:
            with pytest.raises(TlsRefusedError):
                await ask(channel)

    run(scenario())


def test_alert_of_a_peer_that_refuses_the_certificate_is_raised() -> None:
    """Other servers than asyncio's say why they refuse."""

    def refuse(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection.dup() as kept:
            with pytest.raises(ssl.SSLError):
                server_context(MUTUAL).wrap_socket(connection, server_side=True)
            with contextlib.suppress(ConnectionResetError):
                while kept.recv(4096):
                    pass  # what is not read would make the end a reset, which can overtake the alert

    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = Address(host="127.0.0.1", port=listener.getsockname()[1])
            refusing = asyncio.create_task(asyncio.to_thread(refuse, listener))
            async with dialled(address, tls=Tls(ca=CA)) as channel:
                with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
                    await ask(channel)
            await refusing

    run(scenario())


def test_call_that_is_given_up_says_nothing_of_certificates() -> None:
    async def scenario() -> None:
        service = Service(unary=Pause())
        async with serving(service, tls=NODE) as (_, address), dialled(address, tls=Tls(ca=CA)) as channel:
            await channel.connect()
            asking = asyncio.create_task(ask(channel))
            await asyncio.sleep(0)
            channel.close()
            with pytest.raises(StreamTerminatedError):
                await asking

    run(scenario())


def test_plain_text_peer_is_no_tls_peer() -> None:
    async def scenario() -> None:
        async with serving(Service()) as (_, address), dialled(address, tls=Tls(ca=CA)) as channel:
            with pytest.raises((ssl.SSLError, OSError)):
                await ask(channel)

    run(scenario())
