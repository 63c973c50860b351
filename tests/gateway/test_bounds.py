"""What a backend, or a config, cannot do to the gateway."""

from types import SimpleNamespace
from typing import cast

import pytest

from examples.gateway.answer import Meter
from examples.gateway.backends import BackendError, Backends
from iop_edge import Edge, Lease, Snapshot


def test_an_adapter_that_speaks_no_http_is_a_backend_that_fails() -> None:
    config = {"nodes": [{"id": "n", "adapters": [{"name": "agent", "type": "cli", "profile": "codex"}]}]}
    backends = Backends(cast("Edge", SimpleNamespace(snapshot=Snapshot(config))))
    with pytest.raises(BackendError, match="does not speak HTTP"):
        backends.adapter_of(cast("Lease", SimpleNamespace(node_id="n", adapter="agent")))


def test_a_stream_without_line_breaks_fills_no_memory_and_what_follows_is_counted() -> None:
    meter = Meter(1)
    for _ in range(64):
        meter.see_part(b"x" * (1 << 16))
    assert len(meter._rest) <= 1 << 20
    meter.see_part(b'\n\ndata: {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}\n\ndata: [DONE]\n')
    assert (meter.input_tokens, meter.output_tokens, meter.is_complete) == (3, 4, True)
