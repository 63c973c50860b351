"""Renewed certificates: in force without a restart, and so no change."""

from pathlib import Path

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.edge import Edge
from iop_edge.net import Tls
from iop_edge.refresh.result import Status
from iop_edge.serve.own_files import OwnFiles
from tests.pki import CA, EDGE, NODE
from tests.support import run

CONFIG = """
edge: {id: e}
long_context_threshold_tokens: %d
listen: {tls: {cert: '${file:%s}', key: '${file:cert.key}', ca: '${file:ca.pem}'}}
nodes:
- {id: n, address: 'unix:/nowhere.sock', tls: {ca: '${file:ca.pem}', cert: '${file:cert.pem}', key: '${file:cert.key}'}}
"""


class Place:
    """A directory with a config and its certificates."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.files = OwnFiles([str(directory / "edge.yaml")])
        (directory / "ca.pem").write_text(CA)
        self.install(EDGE)
        self.write()

    def write(self, threshold: int = 1000, cert: str = "cert.pem") -> None:
        (self.directory / "edge.yaml").write_text(CONFIG % (threshold, cert))

    def install(self, tls: Tls) -> None:
        for name, text in (("cert.pem", tls.cert), ("cert.key", tls.key), ("other.pem", tls.cert)):
            (self.directory / name).write_text(text)

    def load(self) -> Snapshot:
        return self.files.load()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.case("R13")
@pytest.mark.contract("REF-04", "REF-09")
def test_a_renewed_certificate_is_no_change_and_no_drift(place: Place) -> None:
    async def scenario() -> None:
        async with Edge.start(place.load(), files=place.files) as edge:
            place.install(NODE)
            result = await edge.reload()
            assert (result.status, result.changes, result.pending) == (Status.APPLIED, (), ())
            assert (await edge.status()).drift is False

    run(scenario())


@pytest.mark.case("R13")
@pytest.mark.contract("REF-07")
def test_a_renewed_certificate_holds_up_no_live_change(place: Place) -> None:
    async def scenario() -> None:
        async with Edge.start(place.load(), files=place.files) as edge:
            place.install(NODE)
            place.write(threshold=2000)
            result = await edge.reload()
            assert (result.status, result.committed, edge.revision) == (Status.APPLIED, True, 2)
            assert [change.path for change in result.changes] == ["long_context_threshold_tokens"]

    run(scenario())


@pytest.mark.contract("REF-04")
def test_another_file_is_a_change_that_needs_a_restart(place: Place) -> None:
    async def scenario() -> None:
        async with Edge.start(place.load(), files=place.files) as edge:
            place.install(NODE)
            place.write(cert="other.pem")
            result = await edge.reload()
            assert result.status is Status.RESTART_REQUIRED
            assert [change.path for change in result.changes] == ["listen.tls.cert"]

    run(scenario())
