import socket
from pathlib import Path
from typing import Any

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.errors import EdgeError
from iop_edge.net import Address
from iop_edge.serve.listeners import Listener, listeners, listening
from tests import trees
from tests.support import run


def config(**listen: Any) -> Snapshot:
    return Snapshot(trees.edge(listen=trees.normal("Listen", **listen)))


def test_the_admin_address_of_the_config_is_listened_on_and_no_tcp_unless_asked_for() -> None:
    assert listeners(config(admin="unix:/tmp/x.sock")) == (Listener(Address(path="/tmp/x.sock")),)


def test_an_admin_address_from_outside_replaces_that_of_the_config() -> None:
    wanted = listeners(config(admin="unix:/tmp/x.sock", grpc="127.0.0.1:7400"), "unix:/tmp/y.sock")
    assert [str(listener.address) for listener in wanted] == ["unix:/tmp/y.sock", "127.0.0.1:7400"]


@pytest.mark.parametrize("address", ["0.0.0.0:7400", "[::]:7400", "192.0.2.1:7400", "edge.example.net:7400"])
@pytest.mark.parametrize("tls", [{}, {"cert": "pem", "key": "pem"}], ids=["no tls", "no authority of clients"])
def test_other_machines_need_a_certificate(address: str, tls: dict[str, str]) -> None:
    with pytest.raises(EdgeError, match=r"listen\.tls"):
        listeners(config(grpc=address, tls=tls))


@pytest.mark.parametrize("address", ["127.0.0.1:7400", "[::1]:7400", "localhost:7400"])
def test_this_machine_needs_none(address: str) -> None:
    assert len(listeners(config(grpc=address))) == 2


def test_other_machines_are_let_in_with_a_certificate() -> None:
    (_, wanted) = listeners(config(grpc="192.0.2.1:7400", tls={"ca": "pem", "cert": "pem", "key": "pem"}))
    assert wanted.tls is not None


def test_an_address_from_outside_that_is_none_is_a_clear_error() -> None:
    with pytest.raises(EdgeError, match="nonsense"):
        listeners(config(), "nonsense")


def test_a_unix_socket_is_the_owners_alone_and_gone_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run" / "admin.sock"

    async def scenario() -> None:
        async with listening([Listener(Address(path=str(path)))], []):
            assert path.stat().st_mode & 0o777 == 0o600
            assert path.parent.stat().st_mode & 0o777 == 0o700
        assert not path.exists()

    run(scenario())


def test_a_socket_that_a_dead_process_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    async def scenario() -> None:
        async with listening([Listener(Address(path=str(path)))], []) as addresses:
            assert addresses == (Address(path=str(path)),)

    run(scenario())


@pytest.mark.case("R12")
def test_an_address_that_is_taken_is_a_clear_error_and_its_owner_still_serves(tmp_path: Path) -> None:
    wanted = Listener(Address(path=str(tmp_path / "admin.sock")))

    async def scenario() -> None:
        async with listening([wanted], []):
            with pytest.raises(EdgeError, match="cannot listen"):
                async with listening([wanted], []):
                    pass
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(wanted.address.path)
        async with listening([Listener(Address(host="127.0.0.1"))], []) as (taken,):
            with pytest.raises(EdgeError, match="cannot listen"):
                async with listening([Listener(taken)], []):
                    pass

    run(scenario())


def test_a_second_address_that_is_taken_leaves_the_first_free(tmp_path: Path) -> None:
    first = tmp_path / "first.sock"
    (tmp_path / "second.sock").write_text("a file, not a socket")

    async def scenario() -> None:
        wanted = [Listener(Address(path=str(path))) for path in (first, tmp_path / "second.sock")]
        with pytest.raises(EdgeError, match="cannot listen"):
            async with listening(wanted, []):
                pass
        assert not first.exists()

    run(scenario())
    assert (tmp_path / "second.sock").read_text()
