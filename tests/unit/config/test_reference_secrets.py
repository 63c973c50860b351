"""A private overlay may hold a secret inside a text with references: it is no more shown than any other."""

import pytest

from iop_edge.config.pipeline import check_sources, load_sources
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source

SECRET = "s3cr3t"


class Empty:
    """An environment in which nothing is set."""

    def env(self, name: str) -> str | None:  # noqa: ARG002
        return None

    def file(self, path: str, base_dir: str) -> str:
        raise AssertionError((path, base_dir))


def overlay(text: str) -> list[Source]:
    node = f'{{id: n, address: "127.0.0.1:1", adapters: [{{name: a, type: vllm, base_url: "http://h.test", {text}}}]}}'
    return [Source("private.yaml", f"edge: {{id: e}}\nnodes: [{node}]\n".encode(), private=True)]


def snapshot(text: str) -> Snapshot:
    return load_sources(overlay(text), Empty())


@pytest.mark.contract("CFG-08")
@pytest.mark.contract("REF-11")
@pytest.mark.parametrize("value", [f"${{env:KEY:-{SECRET}}}", f"{SECRET}-$$", f"Bearer {SECRET}-${{env:KEY:-}}"])
def test_a_secret_inside_a_reference_is_in_no_dump(value: str) -> None:
    loaded = snapshot(f'headers: {{X-Key: "{value}"}}')

    assert SECRET in loaded.tree["nodes"][0]["adapters"][0]["headers"]["X-Key"]
    for dumped in (loaded.dump(), loaded.dump_for_history()):
        assert SECRET not in dumped
        assert 'X-Key: "<redacted>"' in dumped


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("value", [f"${{env:KEY:-{SECRET}\\n}}", f"\\n{SECRET}${{env:KEY:-}}"])
def test_a_secret_inside_a_reference_is_in_no_message(value: str) -> None:
    report = check_sources(overlay(f'headers: {{X-Key: "{value}"}}'), Empty())

    assert [violation.rule for violation in report.violations] == ["value.header_value"]
    assert SECRET not in repr(report)
