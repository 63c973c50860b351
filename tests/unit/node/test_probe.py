"""What a probe asks for."""

import pytest

from iop_edge.node.health import MonitoredResource
from iop_edge.node.probe import probe_of
from iop_pb.iop.config.v1 import HealthMode
from iop_pb.iop.runtime.v1 import (
    AdapterConfig,
    LlamaCppAdapterConfig,
    OllamaAdapterConfig,
    OpenAiCompatAdapterConfig,
    VllmAdapterConfig,
)
from tests.unit.node.pushes import command_line, monitored

pytestmark = pytest.mark.contract("PSH-05")

ACTIVE = HealthMode.ACTIVE
KINDS = ("ollama", "vllm", "llama_cpp", "openai_compat")


def on(adapter: AdapterConfig | None, path: str = "") -> MonitoredResource:
    return MonitoredResource(monitored(mode=ACTIVE, path=path).resource, adapter)


def asked(checked: MonitoredResource) -> str:
    probe = probe_of(checked.resource, checked.adapter)
    assert probe is not None
    return probe.url


@pytest.mark.parametrize(
    ("base_url", "path", "url"),
    [
        ("http://h:8000", "/health", "http://h:8000/health"),
        ("http://h:8000/", "/health", "http://h:8000/health"),
        pytest.param("http://h:8000/v1", "/health", "http://h:8000/health", id="on the host, not below the base"),
        ("http://h:8000/v1/", "/v1/models", "http://h:8000/v1/models"),
        ("https://h/v1", "/health?deep=1", "https://h/health?deep=1"),
        pytest.param("https://h/v1?key=k", "/health?deep=1", "https://h/health?key=k&deep=1", id="a key goes with it"),
        pytest.param("https://u:p@h/v1", "/health", "https://h/health", id="a user goes as a header"),
        pytest.param("http://h", "//elsewhere/health", "http://h//elsewhere/health", id="never another host"),
        pytest.param("http://h", "/health#part", "http://h/health", id="without a fragment"),
        ("http://[::1]:8000/v1", "/health", "http://[::1]:8000/health"),
    ],
)
def test_path_is_one_on_the_host_of_the_backend(base_url: str, path: str, url: str) -> None:
    assert asked(monitored(mode=ACTIVE, base_url=base_url, path=path)) == url


@pytest.mark.parametrize(
    ("adapter", "url", "is_good"),
    [
        (AdapterConfig(ollama=OllamaAdapterConfig(base_url="http://h/x")), "http://h/api/version", False),
        (AdapterConfig(vllm=VllmAdapterConfig(base_url="http://h/v1")), "http://h/health", False),
        (AdapterConfig(llama_cpp=LlamaCppAdapterConfig(base_url="http://h/v1")), "http://h/health", False),
        (AdapterConfig(openai_compat=OpenAiCompatAdapterConfig(base_url="http://h/v1?k=1")), "http://h/v1?k=1", True),
    ],
)
def test_without_a_path_the_kind_of_the_adapter_says_what_is_asked_for(
    adapter: AdapterConfig, url: str, is_good: bool
) -> None:
    probed = on(adapter)
    probe = probe_of(probed.resource, probed.adapter)
    assert probe is not None
    assert probe.url == url
    assert 200 in probe.good
    assert (404 in probe.good, 401 in probe.good) == (is_good, is_good)
    assert 500 not in probe.good


@pytest.mark.contract("PAY-01")
@pytest.mark.parametrize(
    "unprobed",
    [
        pytest.param(on(None, "/health"), id="an adapter that is not in the payload"),
        pytest.param(on(command_line("codex"), "/health"), id="a command-line agent"),
        pytest.param(monitored(mode=HealthMode.PASSIVE, path="/health"), id="passive"),
        pytest.param(monitored(mode=HealthMode.NONE, path="/health"), id="no check"),
    ],
)
def test_what_has_no_backend_or_is_not_active_is_not_probed(unprobed: MonitoredResource) -> None:
    assert probe_of(unprobed.resource, unprobed.adapter) is None


def test_header_names_are_sent_as_written_and_win_over_our_own() -> None:
    headers = {"x-KEY": "v", "user-agent": "mine", "AUTHORIZATION": "Bearer t", "Host": "name"}
    probed = on(AdapterConfig(vllm=VllmAdapterConfig(base_url="http://u:p@h", headers=headers)), "/")
    probe = probe_of(probed.resource, probed.adapter)
    assert probe is not None
    assert dict(probe.headers) == {
        b"x-KEY": b"v",
        b"user-agent": b"mine",
        b"AUTHORIZATION": b"Bearer t",
        b"Host": b"name",
        b"Accept": b"*/*",
    }


@pytest.mark.contract("CFG-08")
def test_probe_and_subject_show_no_secret() -> None:
    secret = on(
        AdapterConfig(vllm=VllmAdapterConfig(base_url="http://u:s3cret@h?key=s3cret", headers={"X": "s3cret"})), "/"
    )
    assert "s3cret" not in f"{secret!r}{probe_of(secret.resource, secret.adapter)!r}"
