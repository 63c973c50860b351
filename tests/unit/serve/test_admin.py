import asyncio
import getpass
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from grpclib.const import Status as GrpcStatus
from grpclib.exceptions import GRPCError

from iop_edge.client.admin import AdminClient
from iop_edge.config.files import read_sources
from iop_edge.config.source import Source
from iop_edge.edge.edge import Edge
from iop_edge.errors import EdgeError
from iop_edge.net import Address, parse_address
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.status import ProviderState
from iop_edge.refresh.result import Mode, RefreshOptions, Status, Trigger
from iop_edge.serve.admin import AdminService
from iop_edge.serve.listeners import Listener, listening
from iop_edge.transport.channel import ClientChannel
from iop_pb.iop.admin import v1 as pb
from tests.support import run
from tests.unit.edge.house import EAGER, House
from tests.unit.edge.scripted import rules

REFRESH = "/iop.admin.v1.EdgeAdminService/Refresh"


@asynccontextmanager
async def served(house: House, *, roots: tuple[Path, ...] | None = None) -> AsyncIterator[AdminClient]:
    """A client of an Edge behind its admin service."""
    async with edge_and_client(house, roots=roots) as (_, client):
        yield client


@asynccontextmanager
async def edge_and_client(
    house: House, *, roots: tuple[Path, ...] | None = None
) -> AsyncIterator[tuple[Edge, AdminClient]]:
    """An Edge behind its admin service, and a client of it."""
    files = house.files
    service = AdminService(files.directories if roots is None else roots)
    async with (
        Edge.start(files.load(), files=files, settings=EAGER) as edge,
        listening([Listener(parse_address(house.admin))], [service]),
        AdminClient(house.admin) as client,
    ):
        service.attach(edge)
        yield edge, client


def layers(house: House) -> list[Source]:
    return read_sources([house.tracked], [house.private])


def test_layers_that_are_sent_are_shown_then_applied(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with served(house) as client:
            house.write("a", capacity=5)
            sent = layers(house)
            house.write("a")
            shown = await client.refresh(sent)
            assert (shown.status, shown.mode, shown.committed) == (Status.APPLIED, Mode.DRY_RUN, False)
            assert [(change.path, change.before, change.after) for change in shown.changes] == [
                ("nodes[a].providers[a-p].capacity", 1, 5)
            ]
            options = RefreshOptions(expected_revision=1, expected_candidate=shown.candidate_hash)
            applied = await client.refresh(sent, Mode.APPLY, options)
            assert (applied.committed, applied.revision_after) == (True, 2)
            assert rules(await client.refresh(sent, Mode.APPLY, options)) == ["refresh.expected_revision"]
            status = await client.status()
            assert (status.revision, status.config_hash, status.drift) == (2, shown.candidate_hash, True)

    run(scenario())


def test_without_layers_the_edge_reads_its_own_files(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with served(house) as client:
            house.write("a", capacity=5)
            assert (await client.refresh(mode=Mode.APPLY)).committed
            assert not (await client.status()).drift

    run(scenario())


@pytest.mark.contract("CFG-06")
def test_references_of_sent_layers_resolve_in_the_environment_of_the_edge(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.write("a")
    sent = Source("x.yaml", house.config("a", alias="${env:IOP_TEST_ALIAS}").encode())
    overlay = Source("y.yaml", house.overlay("a").encode(), private=True)

    async def scenario() -> None:
        async with served(house) as client:
            missing = await client.refresh([sent, overlay])
            assert missing.status is Status.REJECTED
            assert "IOP_TEST_ALIAS" in missing.violations[0].message
            monkeypatch.setenv("IOP_TEST_ALIAS", "there")
            found = await client.refresh([sent, overlay])
            assert [change.after for change in found.changes] == ["${env:IOP_TEST_ALIAS}"]

    run(scenario())


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    "path", ["/etc/hostname", "../outside.txt", "link.txt"], ids=["absolute", "upwards", "through a link"]
)
def test_sent_layers_read_no_file_outside_of_the_directories_of_the_edge(house: House, path: str) -> None:
    inner = house.root / "inner"
    inner.mkdir()
    (house.root / "outside.txt").write_text("s3cr3t-outside")
    (inner / "link.txt").symlink_to(house.root / "outside.txt")
    house.write("a")
    config = house.config("a", alias=f"${{file:{path}}}")

    async def scenario() -> None:
        async with served(house, roots=(inner,)) as client:
            overlay = Source("y.yaml", house.overlay("a").encode(), private=True)
            result = await client.refresh([Source("x.yaml", config.encode(), base_dir=str(inner)), overlay])
            assert result.status is Status.REJECTED
            assert "s3cr3t" not in repr(result)

    run(scenario())


@pytest.mark.contract("CFG-06")
def test_sent_layers_read_files_inside_of_the_directories_of_the_edge(house: House) -> None:
    house.write("a")
    (house.root / "alias.txt").write_text("inside")
    config = house.config("a", alias="${file:alias.txt}")

    async def scenario() -> None:
        async with served(house) as client:
            overlay = Source("y.yaml", house.overlay("a").encode(), private=True)
            result = await client.refresh([Source("x.yaml", config.encode(), base_dir=str(house.root)), overlay])
            assert (result.status, rules(result)) == (Status.RESTART_REQUIRED, [])

    run(scenario())


def test_a_relative_directory_of_a_layer_is_that_of_the_client(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.write("a")
    (house.root / "alias.txt").write_text("inside")
    sent = [
        Source("x.yaml", house.config("a", alias="${file:alias.txt}").encode(), base_dir="."),
        Source("y.yaml", house.overlay("a").encode(), private=True),
    ]

    async def scenario() -> None:
        async with served(house) as client:
            monkeypatch.chdir(house.root)
            assert (await client.refresh(sent)).status is Status.RESTART_REQUIRED

    run(scenario())


@pytest.mark.contract("CFG-08")
def test_a_broken_candidate_is_rejected_with_its_places_and_without_secrets(house: House) -> None:
    house.write("a")
    broken = b"edge: {id: edge-1}\nnodes:\n- id: a\n  address: 127.0.0.1:7501\n  token: s3cr3t-token\n  colour: red\n"

    async def scenario() -> None:
        async with served(house) as client:
            result = await client.refresh([Source("mine.yaml", broken)])
            assert result.status is Status.REJECTED
            found = {(v.rule, str(v.span)) for v in result.violations}
            assert ("field.unknown", "mine.yaml:6:3") in found
            assert "s3cr3t" not in repr(result)

    run(scenario())


def test_history_names_the_user_who_asked_and_a_rollback_goes_back(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with served(house) as client:
            house.write("a", capacity=5)
            await client.refresh(mode=Mode.APPLY)
            result = await client.rollback(1, Mode.APPLY, RefreshOptions(expected_revision=2))
            assert (result.committed, result.revision_after) == (True, 3)
            entries = await client.history()
            assert [(entry.trigger, entry.actor, entry.revision_after) for entry in entries] == [
                (Trigger.ROLLBACK, getpass.getuser(), 3),
                (Trigger.REFRESH, getpass.getuser(), 2),
                (Trigger.START, "start", 1),
            ]
            assert [entry.id for entry in await client.history(1)] == [3]

    run(scenario())


@pytest.mark.contract("REF-05")
@pytest.mark.parametrize("number", [0, 9])
def test_a_mode_that_is_none_is_rejected(house: House, number: int) -> None:
    house.write("a")

    async def scenario() -> None:
        async with served(house):
            channel = ClientChannel(parse_address(house.admin))
            request = pb.RefreshRequest(mode=pb.RefreshMode(number))
            response = await channel.unary(REFRESH, request, pb.RefreshResponse, deadline=10)
            await channel.finish()
            assert response.result is not None
            assert response.result.status is pb.RefreshStatus.REJECTED
            assert [violation.rule for violation in response.result.violations] == ["refresh.mode"]

    run(scenario())


@pytest.mark.parametrize("request_bytes", [b"\x0a", b"\x12\x02\x0a\xff", b"\xff\xff\xff"])
def test_bytes_that_are_no_request_are_the_callers_fault(house: House, request_bytes: bytes) -> None:
    house.write("a")

    async def scenario() -> None:
        async with served(house):
            channel = ClientChannel(parse_address(house.admin))
            with pytest.raises(GRPCError) as caught:
                await channel.unary(REFRESH, request_bytes, pb.RefreshResponse, deadline=10)
            await channel.finish()
            assert caught.value.status is GrpcStatus.INVALID_ARGUMENT

    run(scenario())


def test_an_edge_that_starts_says_so(house: House) -> None:
    async def scenario() -> None:
        async with (
            listening([Listener(parse_address(house.admin))], [AdminService(())]),
            AdminClient(house.admin) as client,
        ):
            for ask in (client.status, client.refresh, client.history):
                with pytest.raises(EdgeError, match="starting"):
                    await ask()

    run(scenario())


def test_a_fault_of_the_edge_itself_is_told_without_its_words(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.write("a")

    async def broken(_edge: Edge) -> Any:
        raise RuntimeError("s3cr3t")

    async def scenario() -> None:
        monkeypatch.setattr(Edge, "status", broken)
        async with served(house) as client:
            with pytest.raises(EdgeError, match="internal fault") as caught:
                await client.status()
            assert "s3cr3t" not in str(caught.value)

    run(scenario())


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("unix:{root}/nobody.sock", "No such file or directory"),
        ("127.0.0.1:1", "Connection refused"),
        ("nobody.invalid:7400", "."),
    ],
)
def test_an_edge_that_is_not_there_is_a_clear_error(house: House, address: str, reason: str) -> None:
    async def scenario() -> None:
        async with AdminClient(address.format(root=house.root)) as client:
            with pytest.raises(EdgeError, match=f"cannot reach the Edge at .*: {reason}") as caught:
                await client.status()
        assert "Unknown error" not in str(caught.value)

    run(scenario())


def test_something_that_is_no_edge_is_a_clear_error(house: House) -> None:
    async def scenario() -> None:
        async with listening([Listener(parse_address(house.admin))], []), AdminClient(house.admin) as client:
            with pytest.raises(EdgeError, match="answered"):
                await client.status()

    run(scenario())


def test_an_address_that_is_none_is_a_clear_error() -> None:
    with pytest.raises(EdgeError, match="nonsense"):
        AdminClient("nonsense")


def test_a_caller_over_tcp_has_no_name(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        files = house.files
        service = AdminService(())
        async with (
            Edge.start(files.load(), files=files, settings=EAGER) as edge,
            listening([Listener(Address(host="127.0.0.1"))], [service]) as (address,),
            AdminClient(str(address)) as client,
        ):
            service.attach(edge)
            await client.refresh(mode=Mode.APPLY)
            assert (await client.history(1))[0].actor == "refresh"

    run(scenario())


def test_a_user_who_is_in_no_list_is_named_by_number(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.write("a")

    def nobody(_uid: int) -> Any:
        raise KeyError

    async def scenario() -> None:
        async with served(house) as client:
            monkeypatch.setattr("iop_edge.transport.server.pwd.getpwuid", nobody)
            await client.refresh(mode=Mode.APPLY)
            assert (await client.history(1))[0].actor == f"uid {os.getuid()}"

    run(scenario())


@pytest.mark.contract("POL-01")
def test_a_dispatch_is_explained_as_the_pool_sees_it(house: House) -> None:
    house.write("a", "b")

    async def scenario() -> None:
        async with house.node("a"), served(house) as client:
            while not (found := await client.explain_dispatch("m")).chosen:
                pass
            assert found.chosen == "a-p"
            statuses = [(item.provider_id, item.status) for item in found.candidates]
            assert statuses == [("a-p", ProviderState.AVAILABLE), ("b-p", ProviderState.UNREACHABLE)]
            unknown = await client.explain_dispatch("a-p")
            assert (unknown.refusal, unknown.known_models) == (RefusalReason.UNKNOWN, ("m",))

    run(scenario())


@pytest.mark.contract("POL-02")
def test_requests_that_wait_are_seen_in_the_status_and_in_an_explanation(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.node("a"), edge_and_client(house) as (edge, client):
            await edge.settled()
            async with edge.pool.acquire("m"):
                waiting = [asyncio.ensure_future(edge.pool.acquire("m").__aenter__()) for _ in range(2)]
                (provider,) = (await client.status()).providers
                assert (provider.status, provider.in_flight, provider.queued) == (ProviderState.BUSY, 1, 2)
                found = await client.explain_dispatch("m")
                (candidate,) = found.candidates
                assert (found.chosen, found.queues, found.refusal) == (None, ("a-p",), None)
                assert (candidate.queued, candidate.max_queue, candidate.queue_timeout_ms) == (2, 100, 30_000)
            (await waiting[0]).release()
            (await waiting[1]).release()
            (provider,) = (await client.status()).providers
            assert (provider.in_flight, provider.queued) == (0, 0)

    run(scenario())


def test_a_rejected_result_counts_the_violations_that_it_does_not_list(house: House) -> None:
    house.write("a")
    many = "".join(f"  unknown-{number}: 0\n" for number in range(1100))

    async def scenario() -> None:
        async with served(house) as client:
            result = await client.refresh(
                [Source("edge.yaml", f"edge:\n  id: e\n{many}".encode())], options=RefreshOptions(expected_revision=9)
            )
            assert (len(result.violations), result.violations_total) == (1001, 1101)

    run(scenario())
