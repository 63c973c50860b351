import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from iop_edge.client.admin import AdminClient
from iop_edge.errors import ConfigError, EdgeError
from iop_edge.net import parse_address
from iop_edge.refresh.result import Mode, RefreshOptions, Status, Trigger
from iop_edge.serve.health import HealthCheckRequest, HealthCheckResponse, ServingStatus
from iop_edge.serve.serve import ServeOptions, serve
from iop_edge.store.sqlite import SqliteStore
from iop_edge.transport.channel import ClientChannel
from tests.support import run
from tests.unit.edge.house import TOKEN, House

SCRIPT = (
    "import asyncio, sys\n"
    "from pathlib import Path\n"
    "from iop_edge.serve.serve import ServeOptions, serve\n"
    "tracked, private, state, *flags = sys.argv[1:]\n"
    "asyncio.run(serve(ServeOptions((tracked,), Path(state), (private,), **dict.fromkeys(flags, True))))\n"
)


@dataclass
class Served:
    """An Edge in a process of its own, and all that it has said on standard error."""

    process: asyncio.subprocess.Process
    said: list[str]

    async def says(self, mark: str) -> str:
        """Wait for the next line with a mark."""
        assert self.process.stderr is not None
        while True:
            line = (await self.process.stderr.readline()).decode()
            assert line, f"ended without {mark!r}: {self.said}"
            self.said.append(line)
            if mark in line:
                return line

    async def ended(self) -> int:
        """Wait for the end, and return the exit code."""
        assert self.process.stderr is not None
        self.said.append((await self.process.stderr.read()).decode())
        return await self.process.wait()


@asynccontextmanager
async def serving(house: House, *flags: str) -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SCRIPT,
        *(str(path) for path in (house.tracked, house.private, house.state_dir)),
        *flags,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Served(process, [])
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def options(house: House, *, last_good: bool = False) -> ServeOptions:
    return ServeOptions((str(house.tracked),), house.state_dir, (str(house.private),), last_good=last_good)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_that_it_is_ready_serves_and_stops_clean(house: House, number: signal.Signals) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.node("a"), serving(house) as edge:
            told = json.loads(await edge.says("iop-edge: ready"))
            assert told["message"] == f"iop-edge: ready, revision 1, admin {house.admin}"
            assert (told["event"], told["revision"], told["admin"]) == ("ready", 1, [house.admin])
            async with AdminClient(house.admin) as client:
                assert (await client.status()).edge_id == "edge-1"
                edge.process.send_signal(number)
                assert await edge.ended() == 0
            text = "".join(edge.said)
            assert "Traceback" not in text
            assert TOKEN not in text
            assert "s3cr3t" not in text

    run(scenario())
    assert not house.admin_socket.exists()


def test_its_health_service_tells_readiness_and_that_it_stops(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with serving(house) as edge:
            await edge.says("ready")
            channel = ClientChannel(parse_address(house.admin))
            told: list[ServingStatus] = []
            watch = channel.server_stream("/grpc.health.v1.Health/Watch", HealthCheckRequest(), HealthCheckResponse)
            async for answer in watch:
                if not told:  # a second signal could meet a process whose handlers are gone already
                    edge.process.send_signal(signal.SIGTERM)
                told.append(answer.status)
            assert told == [ServingStatus.SERVING, ServingStatus.NOT_SERVING]
            assert await edge.ended() == 0
            await channel.finish()

    run(scenario())


@pytest.mark.case("R17")
def test_sighup_makes_it_read_its_files_again_and_a_bad_file_keeps_the_last_good_one(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with serving(house) as edge, AdminClient(house.admin) as client:
            await edge.says("ready")
            house.write("a", capacity=5)
            edge.process.send_signal(signal.SIGHUP)
            await edge.says("reload: applied")
            assert (await client.status()).revision == 2
            house.tracked.write_text("edge: [")
            edge.process.send_signal(signal.SIGHUP)
            await edge.says("reload: rejected")
            await edge.says("[yaml.syntax]")
            status = await client.status()
            assert (status.revision, status.drift) == (2, True)
            assert "2 violations" in status.drift_error
            rejected, applied = await client.history(2)
            assert (rejected.trigger, rejected.status, rejected.committed) == (Trigger.RELOAD, Status.REJECTED, False)
            assert (applied.trigger, applied.status, applied.committed) == (Trigger.RELOAD, Status.APPLIED, True)

    run(scenario())


@pytest.mark.contract("REF-10")
def test_it_can_be_killed_and_starts_again_from_its_files(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with serving(house) as edge, AdminClient(house.admin) as client:
            await edge.says("ready")
            house.write("a", capacity=5)
            assert (await client.refresh(mode=Mode.APPLY)).committed
            await client.rollback(1, Mode.APPLY)
            edge.process.kill()
            await edge.ended()
        async with serving(house) as edge, AdminClient(house.admin) as client:
            await edge.says("ready, revision 4")
            assert (await client.status()).providers[0].capacity == 5
            assert len(await client.history()) == 4

    run(scenario())


def test_a_second_one_with_the_same_state_directory_is_refused_and_the_first_serves_on(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with serving(house) as edge, AdminClient(house.admin) as client:
            await edge.says("ready")
            with pytest.raises(EdgeError, match="another Edge"):
                await serve(options(house))
            assert (await client.status()).revision == 1

    run(scenario())


@pytest.mark.case("R12")
def test_an_admin_address_that_is_taken_is_a_clear_error_and_leaves_no_revision(house: House) -> None:
    house.write("a")
    house.admin_socket.write_text("not a socket")
    with pytest.raises(EdgeError, match="cannot listen"):
        run(serve(options(house)))
    assert house.admin_socket.read_text() == "not a socket"
    assert not list(house.state_dir.glob("*.sqlite3"))


def test_files_that_cannot_be_used_are_told_before_anything_is_touched(house: House) -> None:
    house.tracked.write_text("edge: {id: e, colour: red}\n")
    house.private.write_text("{}\n")
    with pytest.raises(ConfigError, match=r"field\.unknown"):
        run(serve(options(house)))
    assert not house.state_dir.exists()


@pytest.mark.contract("REF-10")
def test_with_watch_it_takes_up_a_change_by_itself_and_says_once_that_a_file_is_bad(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with serving(house, "watch") as edge, AdminClient(house.admin) as client:
            await edge.says("ready")
            replace(house.tracked, house.config("a", capacity=5))
            await edge.says("watch: applied")
            assert (await client.status()).revision == 2
            replace(house.tracked, "edge: [")
            await edge.says("watch: rejected")
            await edge.says("[yaml.syntax]")
            assert (await client.status()).revision == 2
            replace(house.tracked, house.config("a", capacity=5))
            await edge.says("watch: applied")
            triggers = [entry.trigger for entry in await client.history(4)]
            assert triggers == [Trigger.WATCH, Trigger.WATCH, Trigger.WATCH, Trigger.START]
            edge.process.send_signal(signal.SIGTERM)
            assert await edge.ended() == 0

    run(scenario())


@pytest.mark.contract("REF-10", "CFG-08")
def test_with_last_good_it_starts_with_what_was_applied_last_and_says_so(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.node("a"), serving(house) as edge, AdminClient(house.admin) as client:
            await edge.says("ready")
            house.write("a", capacity=5)
            assert (await client.refresh(mode=Mode.APPLY)).committed
            edge.process.kill()
            await edge.ended()
        house.tracked.write_text("edge: {id: edge-1, colour: red}\n")
        async with house.node("a"), serving(house, "last_good", "watch") as edge, AdminClient(house.admin) as client:
            await edge.says("newest applied revision instead")
            await edge.says("[field.unknown]")
            await edge.says("ready, revision 2")
            status = await client.status()
            assert (status.drift, status.providers[0].capacity) == (True, 5)
            replace(house.tracked, house.config("a", capacity=6))
            await edge.says("watch: applied")
            assert (await client.status()).drift is False
        assert "s3cr3t" not in "".join(edge.said)

    run(scenario())


@pytest.mark.contract("REF-10")
def test_with_last_good_it_passes_over_what_nobody_has_confirmed(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.node("a"), serving(house) as edge, AdminClient(house.admin) as client:
            await edge.says("ready")
            house.write("a", capacity=5)
            assert (
                await client.refresh(mode=Mode.APPLY, options=RefreshOptions(confirm_within_ms=3_600_000))
            ).committed
            edge.process.kill()
            await edge.ended()
        house.tracked.write_text("edge: [\n")
        async with house.node("a"), serving(house, "last_good") as edge, AdminClient(house.admin) as client:
            await edge.says("revision 2 was never confirmed: replaced by the config files")
            await edge.says("ready, revision 3")
            assert (await client.status()).providers[0].capacity == 1

    run(scenario())


@pytest.mark.contract("REF-10")
@pytest.mark.parametrize("how", ["confirm", "start"])
def test_with_last_good_it_takes_what_was_confirmed_or_what_the_files_said_at_a_start(house: House, how: str) -> None:
    house.write("a")

    async def scenario() -> None:
        async with house.node("a"), serving(house) as edge, AdminClient(house.admin) as client:
            await edge.says("ready")
            house.write("a", capacity=5)
            assert (
                await client.refresh(mode=Mode.APPLY, options=RefreshOptions(confirm_within_ms=3_600_000))
            ).committed
            if how == "confirm":
                assert (await client.confirm()).confirmed
            edge.process.kill()
            await edge.ended()
        if how == "start":
            async with serving(house) as edge:
                await edge.says("revision 2 was never confirmed: kept")
                await edge.says("ready, revision 2")
        house.tracked.write_text("edge: [\n")
        async with house.node("a"), serving(house, "last_good") as edge, AdminClient(house.admin) as client:
            await edge.says("ready, revision 2")
            assert (await client.status()).providers[0].capacity == 5

    run(scenario())


def test_with_last_good_and_no_history_the_errors_of_the_files_end_the_start(house: House) -> None:
    house.write("a")
    house.tracked.write_text("edge: {id: e, colour: red}\nnodes: 5\n")
    with pytest.raises(ConfigError) as caught:
        run(serve(options(house, last_good=True)))
    assert {violation.rule for violation in caught.value.violations} == {"field.unknown", "field.type"}


def test_last_good_without_its_secrets_tells_of_the_files_and_of_the_secrets(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        async with serving(house) as edge:
            await edge.says("ready")
        house.private.write_text("nodes: [\n")
        with pytest.raises(ConfigError) as caught:
            await serve(options(house, last_good=True))
        assert {violation.rule for violation in caught.value.violations} == {"yaml.syntax", "rollback.secret"}

    run(scenario())


def replace(path: Path, text: str) -> None:
    """Put a whole file in the place of another."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


@pytest.mark.contract("REF-05")
def test_a_start_that_fails_at_a_listener_is_not_recorded(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        with house.tracked.open("a") as file:
            file.write(f"metrics: {{enabled: true, listen: '127.0.0.1:{port}'}}\n")
        for _ in range(2):
            with pytest.raises(EdgeError, match="in use"):
                await serve(options(house))
        with closing(SqliteStore(house.state_dir)) as store:
            assert store.newest() is None
            assert not store.history(10)
        taken.close()
        await taken.wait_closed()

    run(scenario())


def test_metrics_are_served_where_the_config_wants_them(house: House) -> None:
    house.write("a")

    async def scenario() -> None:
        with house.tracked.open("a") as file:
            file.write("metrics: {enabled: true, listen: '127.0.0.1:0'}\n")
        async with serving(house) as edge:
            url = (await edge.says("metrics on http://")).split("http://")[1]
            host, _, port = url.partition("/")[0].partition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert b"\niop_edge_revision 1.0\n" in await reader.read()
            writer.close()
            await writer.wait_closed()
            edge.process.send_signal(signal.SIGTERM)
            assert await edge.ended() == 0

    run(scenario())
