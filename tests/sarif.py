"""The parts of SARIF 2.1.0 that the command writes, as a JSON Schema.

Stricter than the standard's own schema: nothing but these properties may stand in a log, every result has a rule that
is described, and a region says where it begins.
"""

from typing import Any, Final


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


_TEXT: Final = {"type": "string", "minLength": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}
_NUMBER: Final = {"type": "integer", "minimum": 1}
_MESSAGE: Final = _object("text", text=_TEXT)
_RULE: Final = _object("id shortDescription", id=_TEXT, shortDescription=_MESSAGE)
_PHYSICAL: Final = _object(
    "artifactLocation",
    artifactLocation=_object("uri", uri={"type": "string", "format": "uri-reference", "pattern": "^[!-~]+$"}),
    region=_object("startLine startColumn", startLine=_NUMBER, startColumn=_NUMBER),
)
_LOCATION: Final = _object(
    "physicalLocation",
    physicalLocation=_PHYSICAL,
    logicalLocations={
        "type": "array",
        "items": _object("fullyQualifiedName", fullyQualifiedName=_TEXT),
        "minItems": 1,
        "uniqueItems": True,
    },
)
_RESULT: Final = _object(
    "ruleId ruleIndex level message",
    ruleId=_TEXT,
    ruleIndex=_COUNT,
    level={"enum": ["error", "warning"]},
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION, "minItems": 1, "maxItems": 1},
)
_DRIVER: Final = _object(
    "name version rules",
    name={"const": "iop-edge"},
    version=_TEXT,
    rules={"type": "array", "items": _RULE, "uniqueItems": True},
)
_RUN: Final = _object(
    "tool columnKind results properties",
    tool=_object("driver", driver=_DRIVER),
    columnKind={"const": "unicodeCodePoints"},
    results={"type": "array", "items": _RESULT},
    properties=_object("total", total=_COUNT),
)
LOG: Final = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": _RUN, "minItems": 1, "maxItems": 1},
    },
    "required": ["$schema", "version", "runs"],
    "additionalProperties": False,
}
