import shutil
import subprocess
from pathlib import Path

import pytest

from iop_edge.client.admin import AdminClient
from iop_edge.edge.edge import Edge
from iop_edge.errors import EdgeError
from iop_edge.net import Address, Tls
from iop_edge.refresh.result import Mode
from iop_edge.serve.admin import AdminService
from iop_edge.serve.listeners import Listener, listening
from tests.support import run
from tests.unit.edge.house import EAGER, House

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="certificates are made with openssl")


def certificate(directory: Path, name: str) -> tuple[str, str]:
    """A certificate that is its own authority, and its key."""
    key, cert = directory / f"{name}.key", directory / f"{name}.pem"
    command = [
        *(str(OPENSSL), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", f"/CN={name}"),
        *("-addext", f"subjectAltName=DNS:{name}"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return cert.read_text(), key.read_text()


def test_a_client_with_a_certificate_is_let_in_and_named_and_others_are_not(house: House) -> None:
    house.write("a")
    edge_cert, edge_key = certificate(house.root, "edge.example.net")
    ops_cert, ops_key = certificate(house.root, "ops.example.net")
    other_cert, other_key = certificate(house.root, "other.example.net")
    listener = Listener(Address(host="127.0.0.1"), lambda: Tls(ca=ops_cert, cert=edge_cert, key=edge_key))

    def client(address: Address, ca: str = edge_cert, cert: str = ops_cert, key: str = ops_key) -> AdminClient:
        return AdminClient(str(address), Tls(ca=ca, cert=cert, key=key, server_name="edge.example.net"))

    async def scenario() -> None:
        files = house.files
        service = AdminService(())
        async with (
            Edge.start(files.load(), files=files, settings=EAGER) as edge,
            listening([listener], [service]) as (address,),
        ):
            service.attach(edge)
            async with client(address) as ops:
                await ops.refresh(mode=Mode.APPLY)
                assert (await ops.history(1))[0].actor == "ops.example.net"
            for stranger in (
                client(address, cert=other_cert, key=other_key),
                client(address, cert="", key=""),
                client(address, ca=other_cert),
                AdminClient(str(address)),
            ):
                async with stranger:
                    with pytest.raises(EdgeError):
                        await stranger.status()

    run(scenario())
