"""The generated messages against the official Python protobuf: bytes and JSON, both ways, for every message."""

import betterproto2
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from iop_edge.schema.encoding import proto_json
from iop_pb.google.protobuf import FieldMask
from iop_pb.iop.config.v1 import A2A, EdgeConfig
from tests.interop import generated, official
from tests.interop.samples import FIELD_MASK, Sample, samples

SAMPLES = list(samples())
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
without_field_masks = pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if not sample.holds_field_mask], ids=lambda sample: sample.id
)


def pair(sample: Sample) -> tuple[betterproto2.Message, Message]:
    descriptor = official.messages()[sample.message]
    return generated.build(descriptor, sample.values), official.build(descriptor, sample.values)


def test_every_message_of_every_package_has_samples() -> None:
    packages = {name.rpartition(".")[0] for name in official.messages()}
    assert packages == {"iop.admin.v1", "iop.config.v1", "iop.options.v1", "iop.runtime.v1"}
    assert {sample.message for sample in SAMPLES} == official.messages().keys()


@every_sample
def test_official_reads_what_ours_writes(sample: Sample) -> None:
    ours, theirs = pair(sample)
    read = type(theirs).FromString(bytes(ours))
    assert read == theirs
    assert read.SerializeToString(deterministic=True) == theirs.SerializeToString(deterministic=True)


@every_sample
def test_ours_reads_what_official_writes(sample: Sample) -> None:
    ours, theirs = pair(sample)
    assert type(ours).parse(theirs.SerializeToString()) == ours


@every_sample
def test_presence_survives_a_round_trip(sample: Sample) -> None:
    ours, theirs = pair(sample)
    again = type(theirs).FromString(bytes(type(ours).parse(bytes(ours))))
    assert [field.name for field, _ in again.ListFields()] == [field.name for field, _ in theirs.ListFields()]


@without_field_masks
def test_official_reads_the_json_that_ours_writes(sample: Sample) -> None:
    ours, theirs = pair(sample)
    written = proto_json(ours)
    assert written == json_format.MessageToDict(theirs, preserving_proto_field_name=True)
    assert json_format.ParseDict(written, type(theirs)()) == theirs


@without_field_masks
def test_ours_reads_the_json_that_official_writes(sample: Sample) -> None:
    ours, theirs = pair(sample)
    theirs_as_json = json_format.MessageToDict(theirs)
    theirs_as_json.pop("a2a", None)
    lost = {"a2a"} & sample.values.keys()
    expected = {name: value for name, value in sample.values.items() if name not in lost}
    assert type(ours).from_dict(theirs_as_json) == generated.of_sample(sample.message, expected)


def test_generated_code_spells_a2a_wrong_in_camel_case_and_cannot_read_it() -> None:
    """Why JSON is written with the names of the proto, and why nothing of the library reads protobuf's JSON."""
    config = EdgeConfig(a2a=A2A(enabled=True))
    assert config.to_dict() == {"a2A": {"enabled": True}}
    with pytest.raises(KeyError, match="a2_a"):
        EdgeConfig.from_dict({"a2a": {"enabled": True}})


def test_generated_code_writes_wrong_json_for_a_field_mask() -> None:
    """Why masks have a rendering of the library's own, and why the JSON of messages with one is not compared above."""
    mask = official.build(official.pool().FindMessageTypeByName(FIELD_MASK), {})
    with pytest.raises(json_format.ParseError):
        json_format.Parse(FieldMask(paths=["a", "b"]).to_json(), mask)
