"""Reads values that hold no messages: scalars, lists of them, maps; and what any node may be besides (CFG-11)."""

import re
from collections.abc import Callable
from typing import Any, Final

from yaml.events import MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from iop_edge.config import scalars
from iop_edge.config.events import ALIASES, Event, EventReader
from iop_edge.config.findings import Findings, Trail
from iop_edge.config.keys import map_key_trail
from iop_edge.config.mappings import CASELESS_KEYS, MAP_KEYS, MappingReader, Seen
from iop_edge.config.marks import INVALID, UNRESOLVED, UNSET, Sourced
from iop_edge.config.plans import Shape, Slot
from iop_edge.config.scalars import SUSPECT_STARTS, ScalarError, is_null
from iop_edge.config.source import Source
from iop_edge.schema.references import holds_reference
from iop_edge.schema.values import REDACTED

NOTHING: Final = object()
"""The value of a null: the field is not set."""

_PAIR: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*:\S")


class ValueReader(MappingReader):
    """The part of the decoder that knows what a value may be."""

    def __init__(self, source: Source, events: EventReader, findings: Findings) -> None:
        super().__init__(events, findings)
        self.source = source
        self.null = UNSET if source.private else NOTHING
        self.readers: dict[Shape, Callable[[Event, Slot, Trail], Any]] = {
            "scalar": self._scalar,
            "list": self._list,
            "map": self._map,
        }

    def value(self, event: Event, slot: Slot, trail: Trail) -> Any:
        """Return the value that an event begins: whatever a node may be, seen to once for all shapes."""
        if event.__class__ in ALIASES or event.anchor is not None:
            with self.events.opened(event, trail) as first:
                return INVALID if first is None else self.value(first, slot, trail)
        if event.tag is not None:
            self.refuse_tag(event, trail)
            self.events.skip(event, trail)
            return INVALID
        if event.__class__ is ScalarEvent and is_null(event.value, event.style):
            return self.null
        return self.readers[slot.shape](event, slot, trail)

    def item(self, event: Event, slot: Slot, trail: Trail) -> Any:
        """Return the value of an item of a list, which cannot be null."""
        value = self.value(event, slot, trail)
        return self.refuse_null(event, trail) if value is self.null else value

    def refuse_null(self, event: Event, trail: Trail) -> Any:
        """Report a null where it can mean nothing."""
        self.findings.add("value.null", trail, event.start_mark, "null is no value here", 'write "" for an empty text')
        return INVALID

    def _scalar(self, event: Event, slot: Slot, trail: Trail) -> Any:
        if event.__class__ is not ScalarEvent:
            return self.wrong_type(event, slot, trail)
        return self.scalar_value(event, slot, trail, plain=not event.style)

    def scalar_value(self, event: Event, slot: Slot, trail: Trail, *, plain: bool) -> Any:
        """Return the value of a scalar that is not null; with a reference in it, it is left for later (CFG-06)."""
        text = event.value
        if holds_reference(text):
            return Sourced(text, UNRESOLVED, self.source.base_dir)
        if text == REDACTED:
            message = "this is what a secret is shown as, not a value"
            self.findings.add(
                "value.redacted", trail, event.start_mark, message, "write the value or a reference to it"
            )
            return INVALID
        try:
            value = scalars.read(slot.field, text, plain=plain)
        except ScalarError as error:
            self.findings.add(error.rule, trail, event.start_mark, error.message, error.hint)
            return INVALID
        slot.remember(text, value)
        return value

    def _list(self, event: Event, slot: Slot, trail: Trail) -> Any:
        if event.__class__ is not SequenceStartEvent:
            return self.wrong_type(event, slot, trail)
        values: list[Any] = []
        next_event = self.events.next
        item = slot.item
        assert item is not None
        is_text, known = item.is_text, item.known
        while (event := next_event()).__class__ is not SequenceEndEvent:
            if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None:
                text = event.value
                if is_text and text[:1] not in SUSPECT_STARTS and "$" not in text:
                    values.append(text)
                    continue
                if text in known and not event.style:
                    values.append(known[text])
                    continue
            values.append(self.item(event, item, (trail, len(values), False)))
        self.events.charge(len(values))
        return values

    def _map(self, event: Event, slot: Slot, trail: Trail) -> Any:
        if event.__class__ is not MappingStartEvent:
            return self.wrong_type(event, slot, trail)
        values: dict[str, Any] = {}
        seen: Seen = {}
        item = slot.item
        assert item is not None
        for key, first in self.entries(trail, seen, CASELESS_KEYS if slot.field.caseless_keys else MAP_KEYS):
            here = (trail, key.value, True)
            value = self.value(first, item, here)
            if value is self.null and ":" in key.value:
                self._refuse_run_in(key, trail)
            else:
                values[key.value] = self.refuse_null(first, here) if value is NOTHING else value
        return values

    def _refuse_run_in(self, key: Event, trail: Trail) -> None:
        """Report a key that has run into its value, which may be a secret: nothing of the two is kept."""
        here = map_key_trail(trail, key.value)
        self.findings.add("value.null", here, key.start_mark, "this key has no value", "write a space after the colon")

    def wrong_type(self, event: Event, slot: Slot, trail: Trail) -> Any:
        """Report a node of another kind than its field has, and pass over it."""
        wanted = scalars.expectation(slot.field)
        self.findings.add(
            "field.type", trail, event.start_mark, f"must be {wanted}, got {_kind_of(event)}", hint_of_space(event)
        )
        self.events.skip(event, trail)
        return INVALID


def hint_of_space(event: Event) -> str:
    """Return a hint for a scalar that was meant to be a mapping."""
    is_pair = event.__class__ is ScalarEvent and not event.style and _PAIR.match(event.value)
    return "write a space after the colon" if is_pair else ""


def _kind_of(event: Event) -> str:
    if event.__class__ is MappingStartEvent:
        return "a mapping"
    if event.__class__ is SequenceStartEvent:
        return "a list"
    return "a scalar"
