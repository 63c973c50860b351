"""Reads the keys of mappings: duplicates, merges, and keys that are none (CFG-01 to CFG-03, CFG-11)."""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from yaml.events import MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, SequenceStartEvent

from iop_edge.config.events import ALIASES, MERGE_KEY, BoundAlias, Event, EventReader, Recording
from iop_edge.config.findings import Findings, Trail
from iop_edge.config.scalars import is_null
from iop_edge.rules import Rule
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.redact import is_key_like
from iop_edge.schema.table import Kind, Message

ANY_FIELD: Final = ""

_LONGEST_SHOWN: Final = 60
_MOST_PLACES: Final = 3
_CLOSE: Final = 0.62
_ALL_BUT: Final = 0.85
_RUN_IN: Final = re.compile(r"[:\s]")
_LIKE_FIELD: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")

Seen = dict[str, Event]
"""The keys of a mapping so far: the event of each, by the name that makes two keys the same."""


def shown_key(name: str) -> str:
    """Return a key as a message shows it: in quotes, not too long, and without a value that runs into it."""
    return json.dumps(_cut(name), ensure_ascii=not name.isprintable())


def key_trail(trail: Trail, name: str) -> Trail:
    """Return the trail of a key of a message that may be any text."""
    name = _cut(name)
    return (trail, name, not _LIKE_FIELD.fullmatch(name))


def map_key_trail(trail: Trail, name: str) -> Trail:
    """Return the trail of a key of a map, as it may be shown."""
    return (trail, _cut(name), True)


class KeyRule(NamedTuple):
    """What the keys of a mapping are: by which name two are the same, and where one stands."""

    name_of: Callable[[str], str]
    trail_of: Callable[[Trail, str], Trail]


MAP_KEYS: Final = KeyRule(str, map_key_trail)
CASELESS_KEYS: Final = KeyRule(str.lower, map_key_trail)

Merge = tuple[Event, BoundAlias | Recording]
"""A merge key, and what stands behind it."""


class MappingReader:
    """The part of the decoder that knows what a key may be."""

    def __init__(self, events: EventReader, findings: Findings) -> None:
        self.events = events
        self.findings = findings
        self.gaps: dict[Trail, set[str]] = {}
        """Where a mapping holds something that could not be read: which fields may be meant, `ANY_FIELD` for any."""

    def entries(self, trail: Trail, seen: Seen, keys: KeyRule) -> Iterator[tuple[Event, Event]]:
        """Yield each key of the mapping that has begun, with the first event of its value, then those that merges add.

        Whoever iterates reads each value to its end before the next step.

        Args:
            trail: where the mapping stands.
            seen: keys that are taken already and override these; gains the keys that are yielded.
            keys: what the keys are.
        """
        own: Seen = {}
        merge: Merge | None = None
        while (key := self._next_key(trail)) is not None:
            event = self.events.next()
            name = keys.name_of(key.value)
            if key.value == MERGE_KEY and not key.style:
                merge = self.note_merge(merge, key, event, trail)
            elif is_null(key.value, key.style):
                self.refuse_null_key(key, event, trail)
            elif name in own:
                self.refuse_duplicate(own[name], key, keys.trail_of(trail, key.value))
                self.events.skip(event, trail)
            elif name in seen:
                self.events.skip(event, trail)
            else:
                own[name] = key
                yield key, event
        seen.update(own)
        self.events.charge(2 * len(own))
        if merge is not None:
            yield from self.merged(merge, trail, seen, keys)

    def merged(self, merge: Merge, trail: Trail, seen: Seen, keys: KeyRule) -> Iterator[tuple[Event, Event]]:
        """Yield the keys and values that a merge adds: of each key the first one, and none that is taken."""
        node = merge[1]
        if isinstance(node, BoundAlias):
            yield from self._merged_mapping(node, trail, seen, keys)
            return
        with self.events.replaying(node) as first:
            if first.__class__ is not SequenceStartEvent:
                yield from self._merged_mapping(first, trail, seen, keys)
                return
            while (event := self.events.next()).__class__ is not SequenceEndEvent:
                yield from self._merged_mapping(event, trail, seen, keys)

    def _merged_mapping(self, event: Event, trail: Trail, seen: Seen, keys: KeyRule) -> Iterator[tuple[Event, Event]]:
        if event.__class__ in ALIASES:
            with self.events.expanding(event, trail) as first:
                if first is None:
                    self.note_gap(trail)
                    return
                if first.__class__ is MappingStartEvent and first.tag is None:
                    yield from self.entries(trail, seen, keys)
                    return
        elif event.__class__ is MappingStartEvent and event.tag is None:
            yield from self.entries(trail, seen, keys)
            return
        else:
            self.events.skip(event, trail)
        self.note_gap(trail)
        self.findings.add(Rule.YAML_MERGE, trail, event.start_mark, "<< takes a mapping or a list of mappings")

    def note_merge(self, earlier: Merge | None, key: Event, event: Event, trail: Trail) -> Merge:
        """Take in the value of a merge key, to be read when all other keys of its mapping are known."""
        if earlier is not None:
            self.note_gap(trail)
            self.refuse_duplicate(earlier[0], key, key_trail(trail, MERGE_KEY))
            self.events.skip(event, trail)
            return earlier
        if event.__class__ in ALIASES:
            return key, self.events.bind(event, trail)
        return key, self.events.record(event, trail)

    def note_gap(self, trail: Trail, name: str = ANY_FIELD) -> None:
        """Note that a mapping holds a field that could not be read."""
        self.gaps.setdefault(trail, set()).add(name)

    def scalar_key(self, event: Event, trail: Trail) -> Event | None:
        """Return a key that may have an anchor as a plain scalar event; report what can be no key."""
        if event.__class__ in ALIASES:
            self.note_gap(trail)
            if self.events.bind(event, trail).recording is not None:
                self.findings.add(
                    Rule.YAML_KEY, trail, event.start_mark, "an alias cannot be a key", "write the key out"
                )
            return None
        if event.__class__ is ScalarEvent:
            if event.anchor is not None:
                self.events.record(event, trail)
            if event.tag is None:
                return event
            self.note_gap(trail)
            self.refuse_tag(event, trail)
            return None
        self.note_gap(trail)
        self.events.skip(event, trail)
        self.findings.add(Rule.YAML_KEY, trail, event.start_mark, "a key must be a scalar")
        return None

    def refuse_null_key(self, key: Event, event: Event, trail: Trail) -> None:
        """Report a key that is null, and pass over its value."""
        self.findings.add(
            Rule.YAML_KEY, trail, key.start_mark, "a key must not be null", "write it in quotes if it is text"
        )
        self.events.skip(event, trail)

    def refuse_duplicate(self, first: Event, key: Event, trail: Trail) -> None:
        """Report a key that its mapping has already (CFG-02)."""
        line = first.start_mark.line + 1
        name = shown_key(key.value)
        if first.value.lower() == key.value.lower():
            rule, message = Rule.YAML_DUPLICATE_KEY, f"{name} is already in this mapping, on line {line}"
        else:
            rule, message = Rule.FIELD_DUPLICATE, f"{name} means the same as {shown_key(first.value)} on line {line}"
        self.findings.add(rule, trail, key.start_mark, message)

    def refuse_tag(self, event: Event, trail: Trail) -> None:
        """Report a tag. Its text is not shown, since a secret that begins with `!` is read as one."""
        self.findings.add(
            Rule.YAML_TAG,
            trail,
            event.start_mark,
            "explicit tags are not allowed",
            "write text that begins with ! in quotes",
        )

    def foreign_key(self, message: Message, key: Event, event: Event, trail: Trail, seen: Seen) -> None:
        """Report a key that its message does not have, a legacy one (CFG-03) or an unknown one (CFG-01)."""
        name = key.value
        if is_null(name, key.style):
            self.refuse_null_key(key, event, trail)
            return
        here = key_trail(trail, name)
        if name in message.legacy:
            self.findings.add(
                Rule.FIELD_LEGACY, here, key.start_mark, f"{name} was removed from the config", message.legacy[name]
            )
        elif name in seen:
            self.refuse_duplicate(seen[name], key, here)
        elif trail is not None or not is_ignored(name):
            meant = message.keys.get(name.partition(":")[0])
            if meant is not None:
                self.note_gap(trail, meant.name)
            # Of what is not listed nothing is shown, and there may be very much of it.
            hint = "" if self.findings.is_full else hint_for(message, name)
            self.findings.add(
                Rule.FIELD_UNKNOWN, here, key.start_mark, f"there is no field {shown_key(name)} here", hint
            )
        seen.setdefault(name, key)
        self.events.skip(event, here)

    def _next_key(self, trail: Trail) -> Event | None:
        while (event := self.events.next()).__class__ is not MappingEndEvent:
            if event.__class__ is ScalarEvent and event.anchor is None and event.tag is None:
                return event
            key = self.scalar_key(event, trail)
            if key is not None:
                return key
            self.events.skip(self.events.next(), trail)
        return None


def hint_for(message: Message, name: str) -> str:
    """Return what the writer of an unknown key may have meant; empty where nobody can tell."""
    if len(name) > _LONGEST_SHOWN:
        return ""
    before, colon, _ = name.partition(":")
    if colon and before in message.keys:
        return f"write a space after the colon of {before}"
    places = _places().get(name, ())
    hints = []
    # A name that is known elsewhere is hardly a slip, unless it is all but a name that is known here.
    close = _close(message, name, _ALL_BUT if places else _CLOSE)
    if close:
        hints.append(f"did you mean {close}?")
    if places:
        hints.append(f"{name} belongs under {' or '.join(places[:_MOST_PLACES])}")
    return "; ".join(hints)


def _close(message: Message, name: str, cutoff: float) -> str:
    """Return the key that is most like a name, whatever its case and dashes, or the one that it is the last word of."""
    word = name.lower().replace("-", "_")
    found = difflib.get_close_matches(word, message.keys, 1, cutoff)
    ending = [key for key in message.keys if key.endswith(f"_{word}")]
    return next(iter([*found, *ending[:1]]), "")


def may_hold_value(message: Message, name: str) -> bool:
    """Tell whether an unknown key without a value may be a value, or a key with the value run into it.

    It is none of that where it can be told from a key that is meant, and is no longer than that one.
    """
    if name in known_keys() or name.partition(":")[0] in message.keys:
        return False
    close = difflib.get_close_matches(name[:_LONGEST_SHOWN], message.keys, 1, _CLOSE)
    return not close or len(close[0]) < len(name)


def names_secret(message: Message, name: str) -> bool:
    """Tell whether an unknown key is named like a credential, or like a field that holds one."""
    name = name[:_LONGEST_SHOWN]
    secrets = [key for key, field in message.keys.items() if field.sensitive]
    return is_key_like(name) or bool(difflib.get_close_matches(name.lower(), secrets, 1, _CLOSE))


@cache
def known_keys() -> frozenset[str]:
    """Return every key that stands anywhere in the schema, refused ones too."""
    legacy = {name for message in map(table.message, table.message_names()) for name in message.legacy}
    return frozenset(_places()) | legacy


def is_ignored(name: str) -> bool:
    """Tell whether a top-level key is a home for anchors or a note to editors (CFG-12)."""
    return name == "$schema" or name.startswith("x-")


def is_one_word(name: str) -> bool:
    """Tell whether a key is nothing but a key: else a value may have run into it for want of a colon or a space."""
    return _RUN_IN.search(name) is None


def _cut(name: str) -> str:
    run_in = _RUN_IN.search(name)
    if run_in is not None:
        name = name[: run_in.start()] + "..."
    return name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "..."


@cache
def _places() -> Mapping[str, tuple[str, ...]]:
    """Return where each key of the schema stands: the patterns of the messages that have it."""
    places: dict[str, tuple[str, ...]] = {}
    queue: list[tuple[Message, Path]] = [(table.root(), ROOT)]
    for message, path in queue:
        pattern = table.pattern(path) or "the top level"
        for name, field in message.keys.items():
            places[name] = (*places.get(name, ()), pattern)
            if field.kind is Kind.MESSAGE and name == field.name:
                here = path.child(name)
                queue.append((field.message(), here.key("") if field.repeated else here))
    return places
