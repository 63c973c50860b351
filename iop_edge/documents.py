"""JSON documents of results, reports, statuses and explanations, made from their dataclasses by pydantic.

The dataclasses are the only definition of what the documents hold. pydantic is imported with the first document: it
costs as much as a check of a config, and text output does without it (docs/decisions/pydantic.md).
"""

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_UNLIKE_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON allows in a string as they are, and that YAML forbids or reads as something else."""


def document(value: object, *, without: str = "") -> dict[str, Any]:
    """Return a dataclass as plain JSON values: every list present, enums as their words.

    Args:
        value: an instance of a dataclass.
        without: a field to leave out.
    """
    cls: Any = type(value)
    shown: dict[str, Any] = adapter(cls).dump_python(value, mode="json", exclude={without} if without else None)
    return shown


@cache
def adapter(cls: Any) -> "TypeAdapter[Any]":
    """Return pydantic's adapter of a dataclass, which also has its JSON Schema."""
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def json_text(value: object) -> str:
    """Return plain JSON values as an indented document, which a YAML parser reads as the same values."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return _UNLIKE_IN_YAML.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
