"""Backends and Nodes that fail and recover, as a serving Edge and its Nodes see them: all as processes."""

import asyncio
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.client.admin import AdminClient
from iop_edge.net import parse_address
from iop_edge.pool.status import Health, ProviderState, ProviderStatus
from iop_edge.transport import PROTOCOL_VERSION
from iop_edge.transport.channel import ClientChannel
from iop_pb.iop.runtime.v1 import HandshakeRequest, HandshakeResponse
from tests.backend import Backend, backend
from tests.e2e.processes import running, said, stop
from tests.support import PATIENCE, run

pytestmark = pytest.mark.contract("PSH-05")

TOKEN = "n0de-t0ken"
SECRET = "b4ckend-s3cret"
HANDSHAKE = "/iop.runtime.v1.NodeConfigService/Handshake"
QUICK = "{mode: active, path: /health, interval_ms: 30, timeout_ms: 500, healthy_threshold: 2, unhealthy_threshold: 2}"
PATIENT = "{mode: active, path: /health, interval_ms: 30, timeout_ms: 2000, unhealthy_threshold: 1}"

SEEN = {
    "fails": "answers 500",
    "hangs": "no answer within 0.5 s",
    "refuses": "cannot connect: Connection refused",
}

AVAILABLE, UNHEALTHY, UNREACHABLE = ProviderState.AVAILABLE, ProviderState.UNHEALTHY, ProviderState.UNREACHABLE

Providers = Mapping[str, ProviderStatus]


def config(address: str, backends: Mapping[str, Backend], token: str = TOKEN, check: str = QUICK) -> str:
    """Return a config in which each backend is a provider of its name, and all are in the model group `m`."""
    providers = "".join(
        f"""
      - id: {name}
        type: openai_compat
        category: api
        base_url: "{served.url}/v1"
        headers: {{Authorization: "Bearer {SECRET}"}}
        models: [m]
        health: {check}"""
        for name, served in backends.items()
    )
    return f"""\
edge: {{id: edge-1}}
models:
  - {{id: m, providers: [{", ".join(backends)}]}}
nodes:
  - id: gpu-a
    address: "{address}"
    token: {token}
    providers:{providers}
"""


class Machine:
    """A machine with an Edge and a Node."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.admin = f"unix:{self.directory}/admin.sock"
        self.address = "127.0.0.1:0"

    def backend(self) -> Backend:
        """Start a backend."""
        return self._stack.enter_context(backend())

    def node(self, *options: str) -> subprocess.Popen[str]:
        """Start the Node, at the address of before."""
        arguments = ("node", "run", "--id", "gpu-a", "--listen", self.address, *options)
        process = self._stack.enter_context(running(*arguments, environ={"IOP_NODE_TOKEN": TOKEN}))
        self.address = said(process, "node gpu-a listens on ")
        return process

    def edge(self, text: str) -> subprocess.Popen[str]:
        """Start the Edge with a config."""
        (self.directory / "private.yaml").write_text(text, encoding="utf-8")
        options = ("--private", "private.yaml", "--state-dir", "state", "--admin", self.admin)
        tracked = self.directory / "edge.yaml"
        tracked.write_text("edge: {id: edge-1}\n", encoding="utf-8")
        process = self._stack.enter_context(running("serve", "edge.yaml", *options, cwd=self.directory))
        said(process, "iop-edge: ready")
        return process

    def until(self, holds: Callable[[Providers], bool]) -> Providers:
        """Ask the Edge until something holds of its providers."""
        return run(self._until(holds))

    def all_in(self, **states: ProviderState) -> Providers:
        """Ask the Edge until its providers are in these states."""
        return self.until(lambda found: {name: each.status for name, each in found.items()} == states)

    async def _until(self, holds: Callable[[Providers], bool]) -> Providers:
        async with AdminClient(self.admin) as client:
            while True:
                found = {str(each.provider_id): each for each in (await client.status()).providers}
                if holds(found):
                    return found
                await asyncio.sleep(0.05)

    def chosen(self) -> str | None:
        """Ask the Edge which provider a request for the model group would get."""

        async def ask() -> str | None:
            async with AdminClient(self.admin) as client:
                return (await client.explain_dispatch("m")).chosen

        return run(ask())


@pytest.fixture
def machine() -> Iterator[Machine]:
    with ExitStack() as stack:
        yield Machine(stack)


def are_healthy(found: Providers) -> bool:
    return all(each.health is Health.HEALTHY for each in found.values())


def break_down(served: Backend, how: str) -> None:
    if how == "fails":
        served.status = 500
    elif how == "hangs":
        served.answers.clear()
    else:
        served.refuse()


def recover(served: Backend, how: str) -> None:
    if how == "refuses":
        served.serve_again()
    served.status = 200
    served.answers.set()


@pytest.mark.contract("POL-01")
@pytest.mark.case("A2")
def test_backend_that_breaks_down_leaves_dispatch_and_comes_back(machine: Machine) -> None:
    backends = {"p": machine.backend(), "q": machine.backend()}
    node = machine.node()
    edge = machine.edge(config(machine.address, backends))
    machine.until(are_healthy)
    for how, seen in SEEN.items():
        break_down(backends["p"], how)
        assert machine.all_in(p=UNHEALTHY, q=AVAILABLE)["p"].health_detail == seen
        assert machine.chosen() == "q", how
        recover(backends["p"], how)
        machine.all_in(p=AVAILABLE, q=AVAILABLE)
    for served in backends.values():
        break_down(served, "fails")
    machine.all_in(p=UNHEALTHY, q=UNHEALTHY)
    assert machine.chosen() is None
    line, headers = backends["p"].asked[0]
    assert line == "GET /health HTTP/1.1"
    assert headers["Authorization"] == f"Bearer {SECRET}"
    for process in (edge, node):
        process.send_signal(signal.SIGTERM)
        out, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert SECRET not in out + told


@pytest.mark.contract("POL-01")
def test_node_that_is_killed_takes_its_providers_with_it_and_brings_them_back(machine: Machine) -> None:
    backends = {"p": machine.backend()}
    node = machine.node()
    machine.edge(config(machine.address, backends))
    machine.until(are_healthy)
    stop(node, signal.SIGKILL)
    machine.all_in(p=UNREACHABLE)
    assert machine.chosen() is None
    machine.node()
    machine.until(are_healthy)
    assert machine.chosen() == "p"


@pytest.mark.case("A13")
def test_backend_that_is_removed_is_probed_no_more_and_the_others_go_on(machine: Machine) -> None:
    backends = {"p": machine.backend(), "q": machine.backend()}
    machine.node()
    edge = machine.edge(config(machine.address, backends))
    machine.until(are_healthy)
    backends["q"].status = 500
    machine.all_in(p=AVAILABLE, q=UNHEALTHY)
    stop(edge)
    removed = backends.pop("p")
    machine.edge(config(machine.address, backends))
    machine.all_in(q=UNHEALTHY)
    removed.wait_idle()
    asked = len(removed.asked)
    backends["q"].wait_asked(len(backends["q"].asked) + 5)
    assert len(removed.asked) == asked


def descriptors(process: subprocess.Popen[str]) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


@pytest.mark.case("A13")
def test_node_whose_backends_all_hang_answers_and_stops_and_leaks_nothing(machine: Machine) -> None:
    served = machine.backend()
    node = machine.node()
    few, many = {"p": served}, {f"p-{number}": served for number in range(60)}
    edge = machine.edge(config(machine.address, few))
    machine.until(are_healthy)
    stop(edge)
    served.answers.clear()
    edge = machine.edge(config(machine.address, many, check=PATIENT))
    machine.until(lambda found: {each.status for each in found.values()} == {UNHEALTHY})
    assert descriptors(node) > 40
    stop(edge)
    served.answers.set()
    edge = machine.edge(config(machine.address, few))
    machine.until(are_healthy)
    assert descriptors(node) < 30
    served.answers.clear()
    machine.all_in(p=UNHEALTHY)
    assert stop(node) == 0


def shown(address: str, token: str, edge_id: str = "edge-1") -> Status:
    """Shake hands as an Edge would, and return how that ended."""

    async def shake_hands() -> Status:
        channel = ClientChannel(parse_address(address))
        request = HandshakeRequest(protocol_version=PROTOCOL_VERSION, edge_id=edge_id, edge_instance_id="i")
        metadata = (("authorization", f"Bearer {token}"),)
        try:
            await channel.unary(HANDSHAKE, request, HandshakeResponse, deadline=PATIENCE, metadata=metadata)
        except GRPCError as error:
            return error.status
        finally:
            await channel.finish()
        return Status.OK

    return run(shake_hands())


@pytest.mark.contract("PAY-02")
def test_token_is_rotated_without_a_restart_of_the_node(machine: Machine) -> None:
    tokens = machine.directory / "tokens"
    tokens.write_text("old\n", encoding="utf-8")
    node = machine.node("--token-file", str(tokens))
    backends = {"p": machine.backend()}
    edge = machine.edge(config(machine.address, backends, token="old"))
    machine.until(are_healthy)
    assert shown(machine.address, "new") is Status.UNAUTHENTICATED

    tokens.write_text("new\nold\n", encoding="utf-8")
    node.send_signal(signal.SIGHUP)
    assert said(node, "node gpu-a accepts ") == "2 tokens"
    stop(edge)
    machine.edge(config(machine.address, backends, token="new"))
    machine.until(are_healthy)

    tokens.write_text("new\n", encoding="utf-8")
    assert shown(machine.address, "old") is Status.UNAUTHENTICATED
    tokens.unlink()
    assert shown(machine.address, "old") is Status.UNAUTHENTICATED
    assert "keeping the old ones" in said(node, "")
    machine.all_in(p=AVAILABLE)


@pytest.mark.contract("PSH-02")
@pytest.mark.parametrize("form", ["json", "text"])
def test_what_a_stranger_says_cannot_act_on_the_terminal_of_a_node(machine: Machine, form: str) -> None:
    node = machine.node("--log-format", form)
    assert shown(machine.address, TOKEN) is Status.OK
    assert shown(machine.address, TOKEN, "\x1b]0;owned\x07\nedge-2") is Status.PERMISSION_DENIED
    node.send_signal(signal.SIGTERM)
    _, told = node.communicate(timeout=PATIENCE)
    assert "owned" in told
    assert all(char.isprintable() or char == "\n" for char in told)
    assert len(told.splitlines()) == 1
