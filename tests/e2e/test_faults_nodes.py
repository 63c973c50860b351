"""Nodes that die, come back empty, or show other certificates, as real processes beside an Edge."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import iop_edge
from iop_edge.client.status import NodeStatus
from iop_edge.edge.edge import Edge
from iop_edge.ids import NodeId
from iop_edge.pool.status import NodeConnection
from iop_edge.push.model import Desired, PushSettings
from iop_edge.refresh.result import NodeOutcome, NodeReport, Status
from tests.e2e.processes import clean_environ
from tests.pki import CA, EDGE, NODE, STRANGER
from tests.support import COMMAND, run

TOKEN = "n0de-t0ken"
EAGER = PushSettings(backoff_base=0.001, backoff_cap=0.05, slow_retry=0.05)
OLD, NEW = 1, 2
A, B = NodeId("a"), NodeId("b")


class Machine:
    """A machine on which the processes of a Node come and go."""

    def __init__(self, name: str, *options: str) -> None:
        self.name = name
        self.address = "127.0.0.1:0"
        self._options = options
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start a process, at the address of before."""
        arguments = ("node", "run", "--id", self.name, "--listen", self.address, *self._options)
        environ = clean_environ({"IOP_NODE_TOKEN": TOKEN})
        self._process = await asyncio.create_subprocess_exec(COMMAND, *arguments, stderr=PIPE, env=environ)
        assert self._process.stderr is not None
        said = (await self._process.stderr.readline()).decode()
        assert "listens on" in said, said
        self.address = said.rpartition(" ")[2].strip()

    async def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the process."""
        if self._process is not None:
            self._process.send_signal(number)
            await self._process.communicate()
            self._process = None

    def stop_in_its_tracks(self) -> None:
        """Have the process do nothing any more, while the system goes on taking what it is sent."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)


@asynccontextmanager
async def machines(*made: Machine) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for machine in made:
            await machine.start()
            stack.push_async_callback(machine.end)
        yield


def config(*made: Machine, concurrency: int = OLD, tls: str = "{}") -> str:
    nodes = "".join(
        f'- {{id: {each.name}, address: "{each.address}", token: {TOKEN}, runtime: {{concurrency: {concurrency}}}, '
        f"tls: {tls}}}\n"
        for each in made
    )
    return f"edge: {{id: edge-1}}\nnodes:\n{nodes}"


def load(directory: Path, text: str) -> iop_edge.Snapshot:
    path = directory / "edge.yaml"
    path.write_text(text, encoding="utf-8")
    return iop_edge.load((), private=[path])


async def node(edge: Edge, node_id: NodeId, holds: Callable[[NodeStatus], bool]) -> NodeStatus:
    """Ask until something holds of a Node."""
    while True:
        (found,) = (each for each in (await edge.status()).nodes if each.node_id == node_id)
        if holds(found):
            return found
        await asyncio.sleep(0.005)


def runs(revision: int) -> Callable[[NodeStatus], bool]:
    return lambda found: found.in_sync and found.revision == revision


def is_away(found: NodeStatus) -> bool:
    return found.connection is NodeConnection.UNREACHABLE


@pytest.mark.contract("PSH-03")
@pytest.mark.parametrize(
    ("moment", "outcome"),
    [
        ("before the check", NodeOutcome.UNREACHABLE),
        ("before the commit", NodeOutcome.UNKNOWN),
        ("during the commit", NodeOutcome.UNKNOWN),
        ("after the commit", NodeOutcome.COMMITTED),
    ],
)
def test_node_that_is_killed_is_reported_and_ends_on_the_new_revision(
    moment: str, outcome: NodeOutcome, tmp_path: Path
) -> None:
    async def scenario() -> None:
        a, b = Machine("a"), Machine("b")
        async with machines(a, b), Edge.start(load(tmp_path, config(a, b)), settings=EAGER) as edge:
            for node_id in (A, B):
                await node(edge, node_id, runs(1))
            commit = edge._fleet.commit

            async def disturbed(desired: dict[NodeId, Desired]) -> dict[NodeId, NodeReport]:
                if moment == "before the commit":
                    await b.end()
                    await node(edge, B, is_away)
                if moment != "during the commit":
                    return await commit(desired)
                b.stop_in_its_tracks()
                committing = asyncio.create_task(commit(desired))
                await node(edge, A, runs(2))
                await b.end()
                return await committing

            edge._fleet.commit = disturbed  # type: ignore[method-assign, assignment]
            if moment == "before the check":
                await b.end()
                await node(edge, B, is_away)
            result = await edge.refresh(load(tmp_path, config(a, b, concurrency=NEW)))
            assert (result.status, result.committed, edge.revision) == (Status.APPLIED, True, 2)
            outcomes = {report.node_id: report.outcome for report in result.reports}
            assert outcomes == {"a": NodeOutcome.COMMITTED, "b": outcome}
            await b.end()
            await node(edge, B, is_away)
            await b.start()
            back = await node(edge, B, runs(2))
            assert (await node(edge, A, runs(2))).connection is back.connection is NodeConnection.CONNECTED

    run(scenario())


@pytest.mark.contract("PSH-01")
def test_node_that_restarts_idle_and_empty_is_pushed_to_without_being_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        a = Machine("a")
        async with machines(a), Edge.start(load(tmp_path, config(a)), settings=EAGER) as edge:
            first = await node(edge, A, runs(1))
            await a.end(signal.SIGTERM)
            await node(edge, A, is_away)
            await a.start()
            again = await node(edge, A, runs(1))
            assert again.generation > first.generation

    run(scenario())


def write(directory: Path, **texts: str) -> None:
    for name, text in texts.items():
        (directory / f"{name}.pem").write_text(text, encoding="ascii")


@pytest.mark.contract("PSH-01", "PSH-03")
@pytest.mark.case("R13")
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param({"cert": EDGE.cert, "key": EDGE.key}, {"cert": NODE.cert, "key": NODE.key}, id="the Node's"),
        pytest.param({"edge_ca": STRANGER}, {"edge_ca": CA}, id="the authority at the Edge"),
        pytest.param({"ca": STRANGER}, {"ca": CA}, id="the authority at the Node"),
    ],
)
def test_wrong_certificate_is_shown_and_a_renewed_one_needs_no_restart(
    wrong: dict[str, str], right: dict[str, str], tmp_path: Path
) -> None:
    write(tmp_path, cert=NODE.cert, key=NODE.key, ca=CA, edge_ca=CA, edge_cert=EDGE.cert, edge_key=EDGE.key)
    write(tmp_path, **wrong)
    files = {name: str(tmp_path / f"{name}.pem") for name in ("cert", "key", "ca")}
    options = ("--tls-cert", files["cert"], "--tls-key", files["key"], "--tls-ca", files["ca"])
    tls = '{ca: "${file:edge_ca.pem}", cert: "${file:edge_cert.pem}", key: "${file:edge_key.pem}"}'

    async def scenario() -> None:
        a = Machine("a", *options)
        settings = replace(EAGER, handshake_deadline=30)
        async with machines(a), Edge.start(load(tmp_path, config(a, tls=tls)), settings=settings) as edge:
            refused = await node(edge, A, lambda found: found.connection is NodeConnection.REFUSED)
            assert "certificate" in refused.last_error
            write(tmp_path, **right)
            await node(edge, A, runs(1))

    run(scenario())
