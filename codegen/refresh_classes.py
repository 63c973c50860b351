"""Writes `refresh-classes.txt`: one line a field of the config, so that a change of policy is a line in a review.

`buf breaking` does not see the project's own options; this file is where their changes show.
"""

from collections.abc import Iterator

from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.table import Field, Kind, Message, pattern, root

_HEADER = (
    "# Generated from proto/. DO NOT EDIT!",
    "# What a change of each field costs, and what the field may hold. For a list of messages the class is that of",
    "# adding and removing an item. A single message has a line where it is required: its fields carry the classes.",
    "# path | class | default | sensitive | constraints",
)


def render() -> str:
    """Return the file's text."""
    return "\n".join([*_HEADER, *_lines(root(), ROOT)]) + "\n"


def _lines(owner: Message, path: Path) -> Iterator[str]:
    for field in owner.fields.values():
        here = path.child(field.name)
        item = here.key("") if field.repeated or field.kind is Kind.MAP else here
        if not field.is_message or field.required:
            yield " | ".join((pattern(item), *_columns(field))).rstrip()
        if field.kind is Kind.MESSAGE:
            yield from _lines(field.message(), item)


def _columns(field: Field) -> tuple[str, ...]:
    refresh = field.refresh.value if field.refresh else ""
    return (refresh, _default(field), _sensitive(field), ", ".join(_constraints(field)))


def _default(field: Field) -> str:
    if field.runtime_default is not None:
        return f"{field.runtime_default} (at run time)"
    if field.default is None:
        return ""
    text = str(field.default).lower() if field.kind is Kind.BOOL else str(field.default)
    return f"{text} (when {field.default_if})" if field.default_if else text


def _sensitive(field: Field) -> str:
    if field.masked:
        return "masked"
    if not field.sensitive:
        return ""
    harmless = ", ".join(sorted(field.harmless_keys))
    return f"sensitive, but for: {harmless}" if harmless else "sensitive"


def _constraints(field: Field) -> Iterator[str]:
    flags = ("required", "identity", "unique_items", "unordered", "loose_spelling", "caseless_keys")
    yield from (name for name in flags if getattr(field, name))
    for name in ("gt", "gte", "lte"):
        bound = getattr(field, name)
        if bound is not None:
            yield f"{name} {bound}"
    if field.min_items:
        yield f"min_items {field.min_items}"
    for name in ("format", "unique", "refers_to", "shorthand_for"):
        text = getattr(field, name)
        if text:
            yield f"{name} {text}"
    if field.aliases:
        yield f"aliases {' '.join(field.aliases)}"
    if field.mapping_form:
        yield f"mapping_form {field.mapping_form.key_field}"
    if field.kind is Kind.ENUM:
        yield f"one of {' '.join(field.enum().words)}"
