"""Sessions with Nodes over TLS."""

from dataclasses import replace

import pytest

from iop_edge.ids import NodeId
from iop_edge.net import Tls
from iop_edge.pool.status import NodeConnection
from tests.pki import CA, EDGE, NODE, STRANGER
from tests.support import run
from tests.unit.push.world import Sleeper, all_desired, fleet, patient, station

A = NodeId("a")

SLOW = 60.0

MUTUAL = replace(NODE, ca=CA)


@pytest.mark.contract("PSH-01")
@pytest.mark.parametrize(
    ("node", "edge"),
    [
        pytest.param(NODE, Tls(ca=CA), id="the Node shows a certificate"),
        pytest.param(NODE, Tls(ca=CA, server_name="node.test"), id="of another name"),
        pytest.param(MUTUAL, replace(EDGE, ca=CA), id="both do"),
    ],
)
def test_nodes_are_dialled_with_tls(node: Tls, edge: Tls) -> None:
    async def scenario() -> None:
        async with (
            station("a", tls=node) as a,
            fleet(a.target(tls=lambda: edge), wanted=all_desired(1, "a")) as (_, watcher),
        ):
            await watcher.in_sync(1, "a")

    run(scenario())


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize("edge", [Tls(ca=CA), Tls(ca=CA, cert=STRANGER, key=EDGE.key)], ids=["none", "unusable"])
def test_node_that_wants_another_certificate_is_a_permanent_fault(edge: Tls) -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with station("a", tls=MUTUAL) as a:
            target = a.target(tls=lambda: edge)
            async with fleet(target, wanted=all_desired(1, "a"), pace=patient(sleeper)) as (_, watcher):
                state = await watcher.connection("a", NodeConnection.REFUSED)
                assert "certificate" in state.last_error
                await sleeper.asleep()
                assert sleeper.delays == [SLOW]

    run(scenario())


@pytest.mark.contract("PSH-01")
@pytest.mark.case("R13")
def test_renewed_certificates_count_when_the_node_is_dialled_again() -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        edge = [Tls(ca=STRANGER)]
        async with station("a", tls=NODE) as a:
            target = a.target(tls=lambda: edge[0])
            async with fleet(target, wanted=all_desired(1, "a"), pace=patient(sleeper)) as (_, watcher):
                await watcher.connection("a", NodeConnection.REFUSED)
                edge[0] = Tls(ca=CA)
                await sleeper.wake()
                await watcher.in_sync(1, "a")

    run(scenario())


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize(
    "edge",
    [pytest.param(Tls(ca=STRANGER), id="authority"), pytest.param(Tls(ca=CA, server_name="other.test"), id="name")],
)
def test_certificate_that_does_not_verify_is_permanent(edge: Tls) -> None:
    async def scenario() -> None:
        sleeper = Sleeper()
        async with station("a", tls=NODE) as a:
            target = a.target(tls=lambda: edge)
            async with fleet(target, wanted=all_desired(1, "a"), pace=patient(sleeper)) as (_, watcher):
                state = await watcher.connection("a", NodeConnection.REFUSED)
                assert state.last_error.startswith("the Node's certificate does not verify")
                await sleeper.asleep()
                assert sleeper.delays == [SLOW]
                assert not a.node.handshakes

    run(scenario())
