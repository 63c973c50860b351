"""What else a config could be loaded with: PyYAML, and models or messages that check what it gives.

Neither knows references, layers, defaults, places in files, or any rule that looks at two fields.
"""

from functools import cache
from typing import Any, Final, Literal

import yaml
from google.protobuf import json_format, message_factory
from pydantic import BaseModel, ConfigDict, create_model

from iop_edge.schema import table
from iop_edge.schema.table import Field, Kind
from tests.interop import official

_TYPES: Final[dict[Kind, Any]] = {Kind.STRING: str, Kind.MAP: dict[str, str], Kind.BOOL: bool, Kind.DOUBLE: float}


def with_pydantic(data: bytes) -> BaseModel:
    """Load with CSafeLoader and a tree of pydantic models."""
    return _model(table.root().name).model_validate(yaml.load(data, yaml.CSafeLoader))


def with_protobuf(data: bytes) -> Any:
    """Load with CSafeLoader and the official protobuf's ParseDict, which passes over the words of enums."""
    message = message_factory.GetMessageClass(official.messages()[table.root().full_name])()
    return json_format.ParseDict(yaml.load(data, yaml.CSafeLoader), message, ignore_unknown_fields=True)


@cache
def _model(name: str) -> type[BaseModel]:
    fields: dict[str, Any] = {
        spelling: (_type(field) | None, None) for spelling, field in table.message(name).keys.items()
    }
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _type(field: Field) -> Any:
    if field.kind is Kind.MESSAGE:
        one: Any = _model(field.type_name)
    elif field.kind is Kind.ENUM:
        one = Literal[tuple(field.enum().words) + tuple(field.enum().aliases)]
    else:
        one = _TYPES.get(field.kind, int)
    return list[one] if field.repeated else one
