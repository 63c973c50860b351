from pathlib import Path

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from iop_edge.net import Address
from iop_edge.serve.health import HealthCheckRequest, HealthCheckResponse, HealthService, ServingStatus
from iop_edge.serve.listeners import Listener, listening
from iop_edge.transport.channel import ClientChannel
from tests.support import run

CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"


@pytest.mark.parametrize("service", ["", "iop.admin.v1.EdgeAdminService"])
def test_a_check_tells_whether_the_server_is_ready(tmp_path: Path, service: str) -> None:
    async def scenario() -> None:
        health = HealthService("iop.admin.v1.EdgeAdminService")
        async with listening([Listener(Address(path=str(tmp_path / "s")))], [health]) as (address,):
            channel, request = ClientChannel(address), HealthCheckRequest(service=service)
            answers = []
            for ready in (False, True, False):
                await health.set_ready(ready)
                answer = await channel.unary(CHECK, request, HealthCheckResponse, deadline=10)
                answers.append(answer.status)
            await channel.finish()
        assert answers == [ServingStatus.NOT_SERVING, ServingStatus.SERVING, ServingStatus.NOT_SERVING]

    run(scenario())


def test_a_service_that_is_not_served_is_not_found(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with listening([Listener(Address(path=str(tmp_path / "s")))], [HealthService()]) as (address,):
            channel = ClientChannel(address)
            with pytest.raises(GRPCError) as caught:
                await channel.unary(CHECK, HealthCheckRequest(service="other"), HealthCheckResponse, deadline=10)
            await channel.finish()
        assert caught.value.status is Status.NOT_FOUND

    run(scenario())


def test_a_watch_tells_each_change_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        health = HealthService()
        async with listening([Listener(Address(path=str(tmp_path / "s")))], [health]) as (address,):
            channel = ClientChannel(address)
            told = []
            async for answer in channel.server_stream(WATCH, HealthCheckRequest(), HealthCheckResponse):
                told.append(answer.status)
                if len(told) == 3:
                    break
                await health.set_ready(answer.status is not ServingStatus.SERVING)
            await channel.finish()
        assert told == [ServingStatus.NOT_SERVING, ServingStatus.SERVING, ServingStatus.NOT_SERVING]

    run(scenario())


@pytest.mark.parametrize("service", ["", "other"])
def test_the_end_of_the_service_ends_its_watches(tmp_path: Path, service: str) -> None:
    async def scenario() -> None:
        health = HealthService()
        await health.set_ready(True)
        told = []
        async with listening([Listener(Address(path=str(tmp_path / "s")))], [health]) as (address,):
            channel = ClientChannel(address)
            request = HealthCheckRequest(service=service)
            async for answer in channel.server_stream(WATCH, request, HealthCheckResponse):
                told.append(answer.status)
                await health.end()
            await channel.finish()
        expected = [ServingStatus.SERVICE_UNKNOWN] if service else [ServingStatus.SERVING, ServingStatus.NOT_SERVING]
        assert told == expected

    run(scenario())
