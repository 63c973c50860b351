"""The project's protos as the official Python protobuf knows them, without any generated code."""

from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from grpc_tools import protoc

from tests.support import ROOT

_PROTO = ROOT / "proto"


@cache
def pool() -> descriptor_pool.DescriptorPool:
    """Compile the protos into a pool of their own."""
    found = descriptor_pool.DescriptorPool()
    for file in _descriptor_set().file:
        found.Add(file)
    return found


def _descriptor_set() -> descriptor_pb2.FileDescriptorSet:
    well_known = resources.files("grpc_tools") / "_proto"
    sources = [str(path) for path in sorted(_PROTO.rglob("*.proto"))]
    with TemporaryDirectory() as directory:
        out = Path(directory) / "descriptors.binpb"
        failed = protoc.main(
            ["protoc", f"-I{_PROTO}", f"-I{well_known}", "--include_imports", f"--descriptor_set_out={out}", *sources]
        )
        assert not failed
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


@cache
def messages() -> dict[str, Descriptor]:
    """Return every message of the project's packages by its full name."""
    paths = sorted(path.relative_to(_PROTO).as_posix() for path in _PROTO.rglob("*.proto"))
    return {
        descriptor.full_name: descriptor
        for path in paths
        for descriptor in pool().FindFileByName(path).message_types_by_name.values()
    }


def holds(descriptor: Descriptor, full_name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Tell whether a message of this type can hold one of another, at any depth."""
    if descriptor.full_name == full_name:
        return True
    if descriptor.full_name in seen:
        return False
    below = (field.message_type for field in descriptor.fields if field.message_type is not None)
    return any(holds(child, full_name, seen | {descriptor.full_name}) for child in below)


def build(descriptor: Descriptor, values: dict[str, Any]) -> Message:
    """Build an official message from plain values."""
    message = message_factory.GetMessageClass(descriptor)()
    for name, value in values.items():
        _set(message, descriptor, name, value)
    return message


def _set(message: Message, descriptor: Descriptor, name: str, value: Any) -> None:
    field = descriptor.fields_by_name[name]
    target = getattr(message, name)
    if field.message_type is None:
        target.extend(value) if field.is_repeated else setattr(message, name, value)
    elif isinstance(value, list):
        for item in value:
            target.add().CopyFrom(build(field.message_type, item))
    elif field.message_type.GetOptions().map_entry:
        target.update(value)
    else:
        target.CopyFrom(build(field.message_type, value))
        target.SetInParent()


def camel_json(message: Message) -> dict[str, Any]:
    """Return a message in protobuf's JSON with its standard names."""
    return json_format.MessageToDict(message)
