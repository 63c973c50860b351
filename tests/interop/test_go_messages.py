"""The generated messages against Go's official protobuf: bytes and protojson, both ways, for every message."""

import base64
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iop_edge.schema.encoding import proto_json
from tests.interop import generated, official
from tests.interop.samples import Sample, samples

pytestmark = pytest.mark.go

SAMPLES = list(samples())
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
without_field_masks = pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if not sample.holds_field_mask], ids=lambda sample: sample.id
)


class Peer:
    """The Go program, asked one message after the other."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, sample: Sample, binary: bytes, as_json: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a message; return the answer, which is no error."""
        request = {"message": sample.message, "binary": base64.b64encode(binary).decode(), "json": as_json}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            json.dumps({key: value for key, value in request.items() if value is not None}).encode()
        )
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert not answer.get("error"), answer
        return answer


@pytest.fixture(scope="module")
def peer(go_programs: Path) -> Iterator[Peer]:
    with subprocess.Popen([go_programs / "messages"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Peer(process)


@every_sample
def test_go_reads_what_ours_writes_and_ours_reads_it_back(peer: Peer, sample: Sample) -> None:
    ours = generated.of_sample(sample.message, sample.values)
    answer = peer.ask(sample, bytes(ours))
    returned = base64.b64decode(answer["binary"] or "")
    assert type(ours).parse(returned) == ours
    theirs = official.build(official.messages()[sample.message], sample.values)
    assert type(theirs).FromString(returned) == theirs


@without_field_masks
def test_protojson_means_the_same(peer: Peer, sample: Sample) -> None:
    ours = generated.of_sample(sample.message, sample.values)
    answer = peer.ask(sample, bytes(ours), proto_json(ours))
    theirs = official.build(official.messages()[sample.message], sample.values)
    assert answer.get("json", {}) == official.camel_json(theirs)
    assert type(ours).parse(base64.b64decode(answer.get("from_json") or "")) == ours
