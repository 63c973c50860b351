"""Decodes one file into a tree, straight from the parser's events against the field table (CFG-01 to CFG-04, CFG-11).

Alternative spellings are resolved as they pass: other names of a key, a scalar in place of a message, a mapping in
place of a list. The tree has one shape, and the values of the file as they are written: nothing is merged, resolved or
filled in.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from yaml.error import YAMLError
from yaml.events import (
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from iop_edge.config import scalars
from iop_edge.config.events import ALIASES, DEFAULT_PARSER, MERGE_KEY, Event, EventReader, ParserFactory
from iop_edge.config.findings import Findings, StopReading, Trail
from iop_edge.config.mappings import (
    ANY_FIELD,
    CASELESS_KEYS,
    MAP_KEYS,
    KeyRule,
    MappingReader,
    Merge,
    Seen,
    key_trail,
    map_key_trail,
)
from iop_edge.config.marks import INVALID, UNRESOLVED, UNSET, Sourced, fill_gaps
from iop_edge.config.scalars import MOST_REMEMBERED, PlainTexts, ScalarError, is_null
from iop_edge.config.source import DEFAULT_LIMITS, Decoded, Limits, Source
from iop_edge.config.texts import TextPosition, check_bytes, report_syntax_error, without_bom
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.references import holds_reference
from iop_edge.schema.table import Field, Kind, MappingForm, Message
from iop_edge.schema.values import REDACTED, Tree

_NOTHING: Final = object()
"""The value of a null: the field is not set."""

_PAIR: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*:\S")


def decode(source: Source, limits: Limits = DEFAULT_LIMITS, parser: ParserFactory = DEFAULT_PARSER) -> Decoded:
    """Decode a file. Whatever is in it, the outcome is a tree or findings, in bounded time and memory (CFG-10)."""
    findings = Findings()
    tree = None
    referring: set[Field] = set()
    try:
        check_bytes(source, limits, findings)
        events = EventReader(parser(without_bom(source.data)).get_event, findings, limits)
        tree = _Decoder(source, events, findings, referring).document()
    except StopReading:
        pass  # the finding says why
    except YAMLError as error:
        report_syntax_error(error, source, findings)
    return Decoded(source, tree, findings.in_order(), findings.total, frozenset(referring))


@dataclass(frozen=True, slots=True, eq=False)
class _Slot:
    """A field as the decoder reads it; all that can be decided once for a field is decided here.

    Attributes:
        name: the field's name.
        field: the field.
        owner: the field in the schema: that of the list or map, if this is the slot of an item.
        item: the slot of one item of a list or map.
        opening: the class of the event that begins the usual form of its value.
        read: returns the value that such an event begins.
        is_text: whether a text that looks like nothing else is its own value.
        known: the values of plain scalars that need no look, and of whole numbers that were read before.
    """

    name: str
    field: Field
    owner: Field
    item: "_Slot | None"
    opening: type[Any]
    read: "Callable[[_Decoder, Event, _Slot, Trail], Any]"
    is_text: bool
    known: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A message as the decoder reads it: its slots by every spelling of their keys."""

    message: Message
    slots: Mapping[str, _Slot]

    def name_of(self, key: str) -> str:
        """Return the name of the field that a key spells, or the key itself."""
        slot = self.slots.get(key)
        return key if slot is None else slot.name


class _Decoder(MappingReader):
    """Decodes one file."""

    def __init__(self, source: Source, events: EventReader, findings: Findings, referring: set[Field]) -> None:
        super().__init__(events, findings)
        self._referring = referring
        self._base_dir = source.base_dir
        self._texts = PlainTexts()
        self._null = UNSET if source.private else _NOTHING

    def document(self) -> Tree:
        """Return the tree of the file.

        Raises:
            StopReading: the file cannot be read to its end.
            YAMLError: it is no YAML.
        """
        next_event = self.events.next
        next_event()
        start = next_event()
        if start.__class__ is StreamEndEvent:
            raise self.findings.stop(Rule.YAML_EMPTY, None, TextPosition(0, 0), "the file is empty")
        if start.version or start.tags:
            self.findings.add(Rule.YAML_DIRECTIVE, None, start.start_mark, "directives are not allowed")
        tree = self._root(next_event())
        next_event()
        end = next_event()
        if end.__class__ is not StreamEndEvent:
            self.findings.add(
                Rule.YAML_DOCUMENTS, None, end.start_mark, "a file holds one document; another begins here"
            )
        return tree

    def _root(self, event: Event) -> Tree:
        if event.anchor is not None:
            with self.events.replaying(self.events.record(event, None)) as first:
                return self._root(first)
        if event.tag is not None:
            self.refuse_tag(event, None)
        if event.__class__ is MappingStartEvent:
            return self._fields(_plan_of(table.root().name), None, {}, {})
        if event.__class__ is ScalarEvent and is_null(event.value, event.style):
            raise self.findings.stop(Rule.YAML_EMPTY, None, TextPosition(0, 0), "the file is empty")
        raise self.findings.stop(
            Rule.YAML_ROOT, None, event.start_mark, "a config must be a mapping", _hint_of_space(event)
        )

    def _fields(  # noqa: C901, PLR0912 - each call that is saved here is saved for every field of a fleet
        self, plan: _Plan, trail: Trail, tree: Tree, seen: Seen
    ) -> Tree:
        """Read the fields of a message into its tree, to the end of the mapping that has begun, and return the tree.

        This is the inner loop of a load: what most fields of a fleet are is read right here, and all else elsewhere.
        Paths are made for messages, lists and maps alone.
        """
        next_event = self.events.next
        slots, texts = plan.slots, self._texts
        merge: Merge | None = None
        while True:
            key = next_event()
            if key.__class__ is not ScalarEvent or key.anchor is not None or key.tag is not None:
                if key.__class__ is MappingEndEvent:
                    break
                key = self.scalar_key(key, trail)
                if key is None:
                    self.events.skip(next_event(), trail)
                    continue
            event = next_event()
            slot = slots.get(key.value)
            if slot is None:
                if key.value == MERGE_KEY and not key.style:
                    merge = self.note_merge(merge, key, event, trail)
                else:
                    self.foreign_key(plan.message, key, event, trail, seen)
                continue
            name = slot.name
            if seen.setdefault(name, key) is not key:
                self.refuse_duplicate(seen[name], key, (trail, name, False))
                self._value(event, slot, (trail, name, False))
                continue
            if event.__class__ is ScalarEvent:
                if event.anchor is None and event.tag is None:
                    text = event.value
                    if not event.style:
                        value = texts[text] if slot.is_text else slot.known.get(text)
                        if value is not None:
                            tree[name] = value
                            continue
                    elif slot.is_text and text and text[0] != "<" and "$" not in text:
                        tree[name] = text
                        continue
            elif event.__class__ is slot.opening and event.anchor is None and event.tag is None:
                tree[name] = slot.read(self, event, slot, (trail, name, False))
                continue
            value = self._value(event, slot, (trail, name, False))
            if value is not _NOTHING:
                tree[name] = value
        self.events.charge(2 * len(seen))
        if merge is not None:
            self._merge_fields(merge, plan, tree, seen, trail)
        if self.gaps and trail in self.gaps:
            self._fill_gaps(plan, tree, trail)
        return tree

    def _fill_gaps(self, plan: _Plan, tree: Tree, trail: Trail) -> None:
        """Mark what may have been meant by keys and merges that were reported, so that it is not missed as well."""
        for name in self.gaps[trail]:
            if name == ANY_FIELD:
                fill_gaps(tree, plan.message)
            else:
                tree.setdefault(name, INVALID)

    def _merge_fields(self, merge: Merge, plan: _Plan, tree: Tree, seen: Seen, trail: Trail) -> None:
        for key, event in self.merged(merge, trail, seen, KeyRule(plan.name_of, key_trail)):
            slot = plan.slots.get(key.value)
            if slot is None:
                self.foreign_key(plan.message, key, event, trail, {})
                continue
            value = self._value(event, slot, (trail, slot.name, False))
            if value is not _NOTHING:
                tree[slot.name] = value

    def _value(self, event: Event, slot: _Slot, trail: Trail) -> Any:
        """Return the value that an event begins: whatever a node may be, seen to once for all fields."""
        if event.__class__ in ALIASES or event.anchor is not None:
            with self.events.opened(event, trail) as first:
                return INVALID if first is None else self._value(first, slot, trail)
        if event.tag is not None:
            self.refuse_tag(event, trail)
            self.events.skip(event, trail)
            return INVALID
        if event.__class__ is ScalarEvent and is_null(event.value, event.style):
            return self._null
        read = slot.read if event.__class__ is slot.opening else _Decoder._other_form
        return read(self, event, slot, trail)

    def _other_form(self, event: Event, slot: _Slot, trail: Trail) -> Any:
        """Return the value of a field that is written in another form than the usual one, if it has such a form."""
        if event.__class__ is ScalarEvent and slot.field.is_message:
            form = slot.field.message().scalar_form
            if form:
                return {form: self._value(event, _plan_of(slot.field.type_name).slots[form], (trail, form, False))}
        elif event.__class__ is MappingStartEvent and slot.field.mapping_form is not None:
            return self._mapping_form(slot, slot.field.mapping_form, trail)
        wanted = scalars.expectation(slot.field)
        self.findings.add(
            Rule.FIELD_TYPE, trail, event.start_mark, f"must be {wanted}, got {_kind_of(event)}", _hint_of_space(event)
        )
        self.events.skip(event, trail)
        return INVALID

    def _item(self, event: Event, slot: _Slot, trail: Trail) -> Any:
        """Return the value of an item of a list, which cannot be null."""
        value = self._value(event, slot, trail)
        return self._refuse_null(event, trail) if value is self._null else value

    def read_scalar(self, event: Event, slot: _Slot, trail: Trail) -> Any:
        """Return the value of a scalar."""
        return self._scalar(event, slot, trail, plain=not event.style)

    def _scalar(self, event: Event, slot: _Slot, trail: Trail, *, plain: bool) -> Any:
        """Return the value of a scalar that is not null; with a reference in it, it is left for later (CFG-06)."""
        text = event.value
        if holds_reference(text):
            self._referring.add(slot.owner)
            return Sourced(text, UNRESOLVED, self._base_dir)
        if text == REDACTED:
            message = "this stands for a secret; it is not a value"
            self.findings.add(
                Rule.VALUE_REDACTED, trail, event.start_mark, message, "write the value or a reference to it"
            )
            return INVALID
        try:
            value = scalars.read(slot.field, text, plain=plain)
        except ScalarError as error:
            self.findings.add(error.rule, trail, event.start_mark, error.message, error.hint)
            return INVALID
        if value.__class__ is int and len(slot.known) < MOST_REMEMBERED:
            slot.known[text] = value
        return value

    def read_message(self, _: Event, slot: _Slot, trail: Trail) -> Tree:
        """Return a message."""
        return self._fields(_plan_of(slot.field.type_name), trail, {}, {})

    def read_messages(self, event: Event, slot: _Slot, trail: Trail) -> list[Any]:
        """Return a list of messages."""
        items: list[Any] = []
        next_event = self.events.next
        item = slot.item
        assert item is not None
        plan = _plan_of(slot.field.type_name)
        while (event := next_event()).__class__ is not SequenceEndEvent:
            here = (trail, len(items), False)
            if event.__class__ is MappingStartEvent and event.anchor is None and event.tag is None:
                items.append(self._fields(plan, here, {}, {}))
            else:
                items.append(self._item(event, item, here))
        self.events.charge(len(items))
        return items

    def read_list(self, event: Event, slot: _Slot, trail: Trail) -> list[Any]:
        """Return a list of scalars."""
        values: list[Any] = []
        next_event = self.events.next
        item = slot.item
        assert item is not None
        is_text, known, texts = item.is_text, item.known, self._texts
        while (event := next_event()).__class__ is not SequenceEndEvent:
            if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None and not event.style:
                value = texts[event.value] if is_text else known.get(event.value)
                if value is not None:
                    values.append(value)
                    continue
            values.append(self._item(event, item, (trail, len(values), False)))
        self.events.charge(len(values))
        return values

    def read_map(self, _: Event, slot: _Slot, trail: Trail) -> dict[str, Any]:
        """Return a map from text to text."""
        values: dict[str, Any] = {}
        item = slot.item
        assert item is not None
        for key, first in self.entries(trail, {}, CASELESS_KEYS if slot.field.caseless_keys else MAP_KEYS):
            here = (trail, key.value, True)
            if "${" in key.value:  # where it is refused
                self._referring.add(slot.owner)
            value = self._value(first, item, here)
            if value is self._null and ":" in key.value:  # it has run into its value, which may be a secret
                shown, hint = map_key_trail(trail, key.value), "write a space after the colon"
                self.findings.add(Rule.VALUE_NULL, shown, key.start_mark, "this key has no value", hint)
            else:
                values[key.value] = self._refuse_null(first, here) if value is _NOTHING else value
        return values

    def _mapping_form(self, slot: _Slot, form: MappingForm, trail: Trail) -> list[Any]:
        """Return the list that a mapping stands for (NRM-01, NRM-08)."""
        items: list[Any] = []
        for key, event in self.entries(trail, {}, MAP_KEYS):
            if form.value_field:
                items.append(self._pair(slot, form, key, event, (trail, len(items), False)))
            else:
                items.extend(self._instances(slot, form, key, event, (trail, len(items), False)))
        return items

    def _pair(self, slot: _Slot, form: MappingForm, key: Event, event: Event, trail: Trail) -> Tree:
        """Return the item that a key and its scalar stand for."""
        here = (trail, form.value_field, False)
        value = self._value(event, _plan_of(slot.field.type_name).slots[form.value_field], here)
        return {
            form.key_field: self._key_value(slot, form, key, trail),
            form.value_field: self._refuse_null(event, here) if value is _NOTHING else value,
        }

    def _instances(self, slot: _Slot, form: MappingForm, key: Event, event: Event, trail: Trail) -> list[Any]:
        """Return the items that a key stands for: one, or a list of them. One alone takes the key as its name."""
        assert trail is not None
        items: list[Any] = []
        with self.events.opened(event, trail) as first:
            if first is None or first.__class__ is not SequenceStartEvent or first.tag is not None:
                items.append(self._instance(slot, form, key, first or event, trail))
            else:
                while (each := self.events.next()).__class__ is not SequenceEndEvent:
                    here = (trail[0], int(trail[1]) + len(items), False)
                    items.append(self._instance(slot, form, key, each, here))
        if len(items) == 1 and isinstance(items[0], dict) and items[0].get(form.name_field, UNSET) is UNSET:
            items[0][form.name_field] = INVALID if "${" in key.value else key.value
        return items

    def _instance(self, slot: _Slot, form: MappingForm, key: Event, event: Event, trail: Trail) -> Any:
        with self.events.opened(event, trail) as first:
            if first is None:
                return INVALID
            if first.__class__ is not MappingStartEvent or first.tag is not None:
                assert slot.item is not None
                return self._item(first, slot.item, trail)
            tree: Tree = {form.key_field: self._key_value(slot, form, key, trail)}
            return self._fields(_plan_of(slot.field.type_name), trail, tree, {form.key_field: key})

    def _key_value(self, slot: _Slot, form: MappingForm, key: Event, trail: Trail) -> Any:
        here = (trail, form.key_field, False)
        if "${" in key.value:
            self.findings.add(
                Rule.REFERENCE_NOT_ALLOWED, here, key.start_mark, "a reference is not allowed in a key", "write it out"
            )
            return INVALID
        return self._scalar(key, _plan_of(slot.field.type_name).slots[form.key_field], here, plain=False)

    def _refuse_null(self, event: Event, trail: Trail) -> Any:
        """Report a null where it can mean nothing."""
        self.findings.add(
            Rule.VALUE_NULL, trail, event.start_mark, "null is not allowed here", 'write "" for an empty text'
        )
        return INVALID


@cache
def _plan_of(message_name: str) -> _Plan:
    """Return the plan of a message."""
    message = table.message(message_name)
    return _Plan(message, {key: _slot(field, field) for key, field in message.keys.items()})


def _slot(field: Field, owner: Field) -> _Slot:
    opening: type[Any] = MappingStartEvent
    read: Callable[[_Decoder, Event, _Slot, Trail], Any]
    if field.kind is Kind.MAP:
        read = _Decoder.read_map
    elif field.is_message:
        read = _Decoder.read_message
    elif field.is_scalar:
        opening, read = ScalarEvent, _Decoder.read_scalar
    else:
        opening, read = SequenceStartEvent, _Decoder.read_messages if field.is_message_list else _Decoder.read_list
    return _Slot(
        field.name,
        field,
        owner,
        item=_slot(scalars.item_field(field), field) if field.repeated or field.kind is Kind.MAP else None,
        opening=opening,
        read=read,
        is_text=field.is_scalar and field.kind is Kind.STRING,
        known=scalars.known(field) if field.is_scalar else {},
    )


def _hint_of_space(event: Event) -> str:
    """Return a hint for a scalar that was meant to be a mapping."""
    is_pair = event.__class__ is ScalarEvent and not event.style and _PAIR.match(event.value)
    return "write a space after the colon" if is_pair else ""


def _kind_of(event: Event) -> str:
    if event.__class__ is MappingStartEvent:
        return "a mapping"
    return "a list" if event.__class__ is SequenceStartEvent else "a scalar"
