"""Reads messages and lists of them, in every form that a file may give them."""

from typing import Any, Final

from yaml.events import MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from iop_edge.config.events import Event, EventReader
from iop_edge.config.findings import Findings, Trail
from iop_edge.config.gaps import fill_gaps
from iop_edge.config.keys import key_trail
from iop_edge.config.mappings import ANY_FIELD, MAP_KEYS, MERGE_KEY, KeyRule, Merge, Seen
from iop_edge.config.marks import INVALID, UNSET
from iop_edge.config.plans import Plan, Slot, plan_of
from iop_edge.config.scalars import SUSPECT_STARTS
from iop_edge.config.source import Source
from iop_edge.config.values import NOTHING, ValueReader
from iop_edge.schema.table import MappingForm
from iop_edge.schema.values import REDACTED, Tree

_SUSPECT_QUOTED_STARTS: Final = frozenset({REDACTED[0]})


class MessageReader(ValueReader):
    """The part of the decoder that knows what a message may be."""

    plan_of = staticmethod(plan_of)

    def __init__(self, source: Source, events: EventReader, findings: Findings) -> None:
        super().__init__(source, events, findings)
        self.readers["message"] = self._message
        self.readers["messages"] = self._messages

    def tree(self, plan: Plan, trail: Trail) -> Tree:
        """Return the message whose mapping has begun."""
        tree: Tree = {}
        self._fields(plan, tree, {}, trail)
        return tree

    def _fields(  # noqa: C901, PLR0912 - each call that is saved here is saved for every field of a fleet
        self, plan: Plan, tree: Tree, seen: Seen, trail: Trail
    ) -> None:
        """Read the fields of a message into its tree, to the end of the mapping that has begun.

        This is the inner loop of a load: what most fields of a fleet are is read right here, and all else elsewhere.
        """
        next_event = self.events.next
        slots = plan.slots
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
            if name in seen:
                self.refuse_duplicate(seen[name], key, (trail, name, False))
                self.value(event, slot, (trail, name, False))
                continue
            seen[name] = key
            if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None:
                text = event.value
                if slot.is_text:
                    suspects = _SUSPECT_QUOTED_STARTS if event.style else SUSPECT_STARTS
                    if text[:1] not in suspects and "$" not in text:
                        tree[name] = text
                        continue
                elif not event.style:
                    known = slot.known.get(text)
                    if known is not None:
                        tree[name] = known
                        continue
            self._field(slot, tree, event, trail)
        self.events.charge(2 * len(seen))
        if merge is not None:
            self._merge_fields(merge, plan, tree, seen, trail)
        if self.gaps and trail in self.gaps:
            self._fill_gaps(plan, tree, trail)

    def _fill_gaps(self, plan: Plan, tree: Tree, trail: Trail) -> None:
        """Mark what may have been meant by keys and merges that were reported, so that it is not missed as well."""
        for name in self.gaps[trail]:
            if name == ANY_FIELD:
                fill_gaps(tree, plan.message)
            else:
                tree.setdefault(name, INVALID)

    def _merge_fields(self, merge: Merge, plan: Plan, tree: Tree, seen: Seen, trail: Trail) -> None:
        for key, event in self.merged(merge, trail, seen, KeyRule(plan.name_of, key_trail)):
            slot = plan.slots.get(key.value)
            if slot is None:
                self.foreign_key(plan.message, key, event, trail, {})
            else:
                self._field(slot, tree, event, trail)

    def _field(self, slot: Slot, tree: Tree, event: Event, trail: Trail) -> None:
        value = self.value(event, slot, (trail, slot.name, False))
        if value is not NOTHING:
            tree[slot.name] = value

    def _message(self, event: Event, slot: Slot, trail: Trail) -> Any:
        plan = self.plan_of(slot.field.type_name)
        if event.__class__ is MappingStartEvent:
            tree: Tree = {}
            self._fields(plan, tree, {}, trail)
            return tree
        form = plan.message.scalar_form
        if form and event.__class__ is ScalarEvent:
            return {form: self.value(event, plan.slots[form], (trail, form, False))}
        return self.wrong_type(event, slot, trail)

    def _messages(self, event: Event, slot: Slot, trail: Trail) -> Any:
        if event.__class__ is MappingStartEvent and slot.field.mapping_form is not None:
            return self._mapping_form(slot, slot.field.mapping_form, trail)
        if event.__class__ is not SequenceStartEvent:
            return self.wrong_type(event, slot, trail)
        items: list[Any] = []
        next_event = self.events.next
        item = slot.item
        assert item is not None
        plan = self.plan_of(slot.field.type_name)
        while (event := next_event()).__class__ is not SequenceEndEvent:
            here = (trail, len(items), False)
            if event.__class__ is MappingStartEvent and event.anchor is None and event.tag is None:
                items.append(self.tree(plan, here))
            else:
                items.append(self.item(event, item, here))
        self.events.charge(len(items))
        return items

    def _mapping_form(self, slot: Slot, form: MappingForm, trail: Trail) -> list[Any]:
        """Return the list that a mapping stands for (NRM-01, NRM-08)."""
        items: list[Any] = []
        seen: Seen = {}
        plan = self.plan_of(slot.field.type_name)
        for key, event in self.entries(trail, seen, MAP_KEYS):
            if form.value_field:
                items.append(self._pair(plan, form, key, event, (trail, len(items), False)))
            else:
                items.extend(self._instances(slot, form, key, event, (trail, len(items), False)))
        return items

    def _pair(self, plan: Plan, form: MappingForm, key: Event, event: Event, trail: Trail) -> Tree:
        """Return the item that a key and its scalar stand for."""
        here = (trail, form.value_field, False)
        value = self.value(event, plan.slots[form.value_field], here)
        return {
            form.key_field: self._key_value(plan, form, key, trail),
            form.value_field: self.refuse_null(event, here) if value is NOTHING else value,
        }

    def _instances(self, slot: Slot, form: MappingForm, key: Event, event: Event, trail: Trail) -> list[Any]:
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

    def _instance(self, slot: Slot, form: MappingForm, key: Event, event: Event, trail: Trail) -> Any:
        with self.events.opened(event, trail) as first:
            if first is None:
                return INVALID
            if first.__class__ is not MappingStartEvent or first.tag is not None:
                assert slot.item is not None
                return self.item(first, slot.item, trail)
            plan = self.plan_of(slot.field.type_name)
            tree: Tree = {form.key_field: self._key_value(plan, form, key, trail)}
            self._fields(plan, tree, {form.key_field: key}, trail)
            return tree

    def _key_value(self, plan: Plan, form: MappingForm, key: Event, trail: Trail) -> Any:
        here = (trail, form.key_field, False)
        if "${" in key.value:
            self.findings.add(
                "reference.not_allowed", here, key.start_mark, "no reference is allowed in a key", "write it out"
            )
            return INVALID
        return self.scalar_value(key, plan.slots[form.key_field], here, plain=False)
