"""Between the domain's types and the messages of the admin service.

Both sides name their fields and words alike, so one walk converts them all; the few that differ stand at the end.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import Enum
from types import UnionType
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import betterproto2

from iop_edge.client.status import NodeConnection, NodeStatus, StatusSnapshot
from iop_edge.config.source import Source
from iop_edge.errors import EdgeError, Span, Violation
from iop_edge.pool.explain import Candidate
from iop_edge.pool.explanation import DispatchKind, Explanation, milliseconds
from iop_edge.pool.refusal import RefusalReason
from iop_edge.pool.status import Health, ProviderState, ProviderStatus
from iop_edge.refresh.attempt import Attempt, Options
from iop_edge.refresh.result import Change, ChangeKind, Mask, Mode, NodeOutcome, NodeReport, RefreshResult, Status
from iop_edge.schema.table import RefreshClass
from iop_pb.google.protobuf import FieldMask
from iop_pb.iop.admin import v1 as pb

_T = TypeVar("_T")
_Word = TypeVar("_Word", bound=Enum)

_MESSAGES: Final[Mapping[type, type[betterproto2.Message]]] = {
    Attempt: pb.HistoryEntry,
    Candidate: pb.DispatchCandidate,
    Change: pb.Change,
    Explanation: pb.DispatchExplanation,
    Mask: pb.MessageMask,
    NodeReport: pb.NodeReport,
    NodeStatus: pb.NodeStatus,
    Options: pb.RefreshOptions,
    ProviderStatus: pb.ProviderStatus,
    RefreshResult: pb.RefreshResult,
    Source: pb.ConfigLayer,
    StatusSnapshot: pb.StatusSnapshot,
    Violation: pb.Violation,
}
_ENUMS: Final[Mapping[type, type[betterproto2.Enum]]] = {
    ChangeKind: pb.ChangeKind,
    DispatchKind: pb.DispatchKind,
    Health: pb.ProviderHealth,
    Mode: pb.RefreshMode,
    NodeConnection: pb.NodeConnection,
    NodeOutcome: pb.NodeOutcome,
    ProviderState: pb.ProviderState,
    RefreshClass: pb.ChangeClass,
    RefusalReason: pb.RefusalReason,
    Status: pb.RefreshStatus,
}


class ConvertError(EdgeError):
    """A message of the other side that means nothing here: it is of another version, or broken."""


def to_message(value: object) -> Any:
    """Return a value of the domain as the message that it is sent as."""
    special = _WRITERS.get(type(value))
    sent = special(value) if special else _fields_of(value)
    return _MESSAGES[type(value)](**{name: _to_wire(item) for name, item in sent.items()})


def from_message(cls: type[_T], message: betterproto2.Message) -> _T:
    """Return the value of the domain that a message was made of.

    Raises:
        ConvertError: the message means nothing to this version.
    """
    special = _READERS.get(cls)
    if special:
        return cast("_T", special(message))
    return cls(**{name: _from_wire(hint, getattr(message, name)) for name, hint in _HINTS[cls].items()})


def to_number(word: Enum) -> Any:
    """Return the number that a word of the domain is sent as."""
    return _ENUMS[type(word)][str(word.value).upper()]


def to_word(words: type[_Word], number: betterproto2.Enum) -> _Word:
    """Return the word for a number.

    Raises:
        ConvertError: the number is the unspecified one, or not known to this version.
    """
    return _parse(words, (number.name or str(int(number))).lower())


def _to_wire(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_to_wire(item) for item in value]
    if type(value) in _MESSAGES:
        return to_message(value)
    if type(value) in _ENUMS:
        return to_number(value)
    return value.value if isinstance(value, Enum) else value


def _from_wire(hint: Any, value: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        return None if value is None else _from_wire(get_args(hint)[0], value)
    if get_origin(hint) is tuple:
        return tuple(_from_wire(get_args(hint)[0], item) for item in value)
    if hint in _MESSAGES:
        return from_message(hint, value)
    if hint in _ENUMS:
        return to_word(hint, value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _parse(hint, value)
    return value


def _parse(words: type[_Word], text: str) -> _Word:
    try:
        return words(text)
    except ValueError:
        raise ConvertError(f"{words.__name__} {text!r} means nothing to this version") from None


def _fields_of(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _hints_of(cls: Any) -> Mapping[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _write_source(source: Source) -> dict[str, Any]:
    named = _fields_of(source)
    named["content"] = named.pop("data")
    return named


def _read_source(message: pb.ConfigLayer) -> Source:
    return Source(name=message.name, data=message.content, private=message.private, base_dir=message.base_dir)


def _write_change(change: Change) -> dict[str, Any]:
    named = _fields_of(change)
    named["before_json"] = _json_text(named.pop("before"))
    named["after_json"] = _json_text(named.pop("after"))
    return named


def _read_change(message: pb.Change) -> Change:
    return Change(
        path=message.path,
        kind=to_word(ChangeKind, message.kind),
        before=_json_value(message.before_json),
        after=_json_value(message.after_json),
        refresh_class=to_word(RefreshClass, message.refresh_class),
    )


def _json_text(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _json_value(text: str | None) -> object:
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ConvertError("a value of a change is no JSON") from None


def _write_candidate(candidate: Candidate) -> dict[str, Any]:
    named = _fields_of(candidate)
    named["queue_timeout_ms"] = milliseconds(named.pop("queue_timeout"))
    return named


def _read_candidate(message: pb.DispatchCandidate) -> Candidate:
    hints = {name: hint for name, hint in _HINTS[Candidate].items() if name != "queue_timeout"}
    named = {name: _from_wire(hint, getattr(message, name)) for name, hint in hints.items()}
    timeout = message.queue_timeout_ms
    return Candidate(**named, queue_timeout=None if timeout is None else timeout / 1000)


def _write_mask(mask: Mask) -> dict[str, Any]:
    return {
        "path": mask.path,
        "live": FieldMask(paths=list(mask.live)),
        "restart": FieldMask(paths=list(mask.restart)),
    }


def _read_mask(message: pb.MessageMask) -> Mask:
    live, restart = (tuple(mask.paths) if mask else () for mask in (message.live, message.restart))
    return Mask(path=message.path, live=live, restart=restart)


def _write_violation(violation: Violation) -> dict[str, Any]:
    named = _fields_of(violation)
    span = named.pop("span") or Span("")
    return {**named, **_fields_of(span)}


def _read_violation(message: pb.Violation) -> Violation:
    span = Span(message.file, message.line, message.column) if message.file else None
    return Violation(message.rule, message.path, span, message.message, message.hint)


_HINTS: Final[Mapping[type, Mapping[str, Any]]] = {cls: _hints_of(cls) for cls in _MESSAGES}
_WRITERS: Final[Mapping[type, Callable[[Any], dict[str, Any]]]] = {
    Candidate: _write_candidate,
    Change: _write_change,
    Mask: _write_mask,
    Source: _write_source,
    Violation: _write_violation,
}
_READERS: Final[Mapping[type, Callable[[Any], Any]]] = {
    Candidate: _read_candidate,
    Change: _read_change,
    Mask: _read_mask,
    Source: _read_source,
    Violation: _read_violation,
}
