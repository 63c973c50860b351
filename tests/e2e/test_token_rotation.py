"""A Node's token is rotated: the Node takes two for a while, the Edge's comes from a file and takes a restart."""

import json
import signal
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from iop_edge.client.admin import AdminClient
from iop_edge.client.status import NodeStatus
from iop_edge.pool.status import NodeConnection
from tests.e2e.processes import command, running, said, stop
from tests.support import run

OLD, NEW = "0ld-t0ken", "n3w-t0ken"


class Site:
    """A directory with the files of an Edge and of its Node."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.admin = f"unix:{directory}/admin.sock"
        node = f'{{id: n, address: "unix:{directory}/node.sock", token: "${{file:edge.token}}"}}'
        self.write("edge.yaml", f"edge: {{id: e}}\nnodes: [{node}]\n")
        self.write("edge.token", OLD)
        self.write("node.tokens", OLD)

    def write(self, name: str, *lines: str) -> None:
        (self.directory / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def node(self) -> AbstractContextManager[Popen[str]]:
        listen = ("--listen", f"unix:{self.directory}/node.sock")
        return running("node", "run", "--id", "n", *listen, "--token-file", "node.tokens", cwd=self.directory)

    def edge(self) -> AbstractContextManager[Popen[str]]:
        return running("serve", "--state-dir", "state", "--admin", self.admin, cwd=self.directory)

    async def found(self, wanted: NodeConnection) -> NodeStatus:
        """Ask the Edge until its Node is as wanted."""
        async with AdminClient(self.admin) as client:
            while True:
                (node,) = (await client.status()).nodes
                if node.connection is wanted:
                    return node

    def refresh(self) -> tuple[int, dict[str, Any], str]:
        options = ("--mode", "apply", "--format", "json", "--admin", self.admin)
        asked = command("config", "refresh", *options, cwd=self.directory)
        return asked.returncode, json.loads(asked.stdout), (asked.stdout + asked.stderr).decode()


@pytest.fixture
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory() as name:
        yield Site(Path(name))


@pytest.mark.contract("PAY-02", "REF-04", "CFG-08")
@pytest.mark.case("R13")
def test_a_token_is_rotated_without_a_moment_in_which_the_node_is_lost(site: Site) -> None:
    with site.node() as node:
        said(node, "")
        with site.edge() as edge:
            said(edge, "iop-edge: ready")
            run(site.found(NodeConnection.CONNECTED))
            site.write("node.tokens", OLD, NEW)
            site.write("edge.token", NEW)
            code, result, printed = site.refresh()
            assert (code, result["status"], result["committed"]) == (3, "restart_required", False)
            assert [change["path"] for change in result["pending"]] == ["nodes[n].token"]
            assert OLD not in printed
            assert NEW not in printed
            assert run(site.found(NodeConnection.CONNECTED)).in_sync, "the session goes on with the old token"
            assert stop(edge) == 0
        with site.edge() as edge:
            said(edge, "iop-edge: ready")
            run(site.found(NodeConnection.CONNECTED))
            site.write("node.tokens", NEW)
            node.send_signal(signal.SIGHUP)
            said(node, "")
            assert site.refresh()[:1] == (0,)
            assert run(site.found(NodeConnection.CONNECTED)).in_sync
            assert stop(edge) == 0


@pytest.mark.contract("PSH-03", "CFG-08")
def test_a_token_that_the_node_no_longer_takes_is_told_without_it(site: Site) -> None:
    site.write("node.tokens", NEW)
    with site.node() as node:
        said(node, "")
        with site.edge() as edge:
            said(edge, "iop-edge: ready")
            refused = run(site.found(NodeConnection.REFUSED))
            assert "does not accept the token" in refused.last_error
            assert OLD not in refused.last_error
            assert stop(edge) == 0
