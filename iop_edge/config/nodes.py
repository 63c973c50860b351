"""A file as nodes, each with the stretch of text that it takes up.

Loading builds no such graph. It is composed once for a file that there is something to say about: positions, excerpts,
migration and redacted output all work on it. A fleet has millions of nodes, so they are numbers, and what is known of
them stands in arrays; `Node` objects are made for the few that somebody looks at.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from iop_edge.config.events import DEFAULT_PARSER, ParserFactory
from iop_edge.config.scalars import is_null
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.config.texts import LINE_BREAK, without_bom

MERGE_KEY: Final = "<<"

# The traits of a node, as bits of one number.
SCALAR: Final = 1
MAPPING: Final = 2
SEQUENCE: Final = 4
ALIAS: Final = 8
KEY: Final = 16
PLAIN: Final = 32
"""A scalar without quotes and block marks."""
FLOW: Final = 32
"""A mapping or list in flow style."""
ANCHORED: Final = 64
TAGGED: Final = 128

_LARGEST: Final = 2**32 - 1
"""The most characters whose offsets the arrays can hold."""

_BLOCK_STYLES: Final = frozenset("|>")


class Document:
    """The text of a file and its nodes, numbered in the order of the text: a node comes before those in it.

    Offsets count characters. A file with a syntax error has the nodes before it; `read_to` is the offset up to which
    the file was read, or None where that is all of it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.read_to: int | None = 0
        self.traits = bytearray()
        self.starts = array("I")
        self.stops = array("I")
        self.ends = array("I")
        """For each node the number of the first one behind it and all below it."""
        self.parents = array("I")
        self.values: list[str] = []
        """The text that each scalar stands for; empty for other nodes."""
        self.anchors: dict[int, int] = {}
        """The node with the anchor of each alias, which may be one around it."""

    @property
    def root(self) -> "Node | None":
        """The outermost node; None where nothing could be read."""
        return self.node(0) if self.traits else None

    def node(self, number: int) -> "Node":
        """Return a node by its number."""
        return _CLASSES[self.traits[number] & 15](self, number)

    def has(self, number: int, traits: int) -> bool:
        """Tell whether a node has one of some traits."""
        return bool(self.traits[number] & traits)

    def is_null(self, number: int) -> bool:
        """Tell whether a node is a scalar that means null."""
        traits = self.traits[number]
        return bool(traits & SCALAR and traits & PLAIN) and is_null(self.values[number], None)

    def is_merge_key(self, number: int) -> bool:
        """Tell whether a node is the key of a merge."""
        is_plain_key = self.traits[number] & (KEY | SCALAR | PLAIN) == KEY | SCALAR | PLAIN
        return is_plain_key and self.values[number] == MERGE_KEY

    def key_of(self, number: int) -> int | None:
        """Return the scalar key that a node is the value of."""
        before = number - 1
        is_value = number and before != self.parents[number] and not self.traits[number] & KEY
        return before if is_value and self.traits[before] & (KEY | SCALAR) == KEY | SCALAR else None

    def value_of(self, key: int) -> int | None:
        """Return the value of a key; None where it could not be read."""
        value = self.ends[key]
        return value if value < self.ends[self.parents[key]] else None

    def keys(self, mapping: int) -> Iterator[int]:
        """Yield the keys of a mapping."""
        number, end = mapping + 1, self.ends[mapping]
        while number < end:
            if self.traits[number] & KEY:
                yield number
            number = self.ends[number]

    def key_at(self, line: int, column: int) -> int | None:
        """Return the scalar key at a position."""
        offset = self.lines[line] + column
        number = bisect_left(self.starts, offset)
        while number < len(self.starts) and self.starts[number] == offset:
            if self.traits[number] & (KEY | SCALAR) == KEY | SCALAR:
                return number
            number += 1
        return None

    def target(self, alias: int) -> int | None:
        """Return the node that an alias stands for; None where that is nothing, or something around it."""
        number = self.anchors.get(alias)
        return None if number is None or self.ends[number] > alias else number

    @cached_property
    def lines(self) -> "array[int]":
        """Where the lines begin, as libyaml counts them."""
        return array("I", [0, *(match.end() for match in LINE_BREAK.finditer(self.text))])

    @cached_property
    def line_break(self) -> str:
        """The line break of the file: its first one."""
        first = LINE_BREAK.search(self.text)
        return first.group() if first else "\n"

    def line(self, offset: int) -> int:
        """Return the number, from 0, of the line that a character stands on."""
        return bisect_right(self.lines, offset) - 1

    def column(self, offset: int) -> int:
        """Return the column, from 0, of a character."""
        return offset - self.line_start(offset)

    def line_start(self, offset: int) -> int:
        """Return where the line of a character begins."""
        return self.lines[self.line(offset)]

    def line_stop(self, offset: int) -> int:
        """Return where the line of a character ends, before its break."""
        match = LINE_BREAK.search(self.text, offset)
        return match.start() if match else len(self.text)

    def next_line(self, offset: int) -> int:
        """Return where the line after that of a character begins, or the end of the text."""
        number = self.line(offset) + 1
        return self.lines[number] if number < len(self.lines) else len(self.text)


def compose(source: Source, limits: Limits = DEFAULT_LIMITS, parser: ParserFactory = DEFAULT_PARSER) -> Document:
    """Return the nodes of a file's first document, within the bounds of a load (CFG-10).

    A file that is too large, or no UTF-8 text, has none.
    """
    if len(source.data) > min(limits.max_bytes, _LARGEST):
        return Document("")
    data = without_bom(source.data)
    try:
        document = Document(data.decode())
    except UnicodeDecodeError:
        return Document(data.decode(errors="replace"))
    with suppress(YAMLError):
        _compose(document, parser(data).get_event, limits.max_depth)
    return document


def _compose(  # noqa: C901, PLR0912, PLR0915 - one loop without calls: it runs once for every node of a fleet
    document: Document, get_event: Callable[[], Any], max_depth: int
) -> None:
    """Take in the nodes of a document, up to where it ends, cannot be read or nests too deep.

    Raises:
        YAMLError: there is a syntax error. What came before it is taken in.
    """
    traits, starts, stops, ends = document.traits, document.starts, document.stops, document.ends
    parents, values = document.parents, document.values
    shared: dict[str, str] = {}  # one object for equal texts, which saves half of the memory
    anchors: dict[str, int] = {}
    number = parent = start = stop = 0
    # The trait of the next node in the innermost collection, and what changes it from one to the next; 0 in a list.
    key = toggle = 0
    opened: list[tuple[int, int, int]] = []
    event = get_event()
    try:
        while True:
            event = get_event()
            kind = event.__class__
            if kind in _ENDS:
                # In block style the end is marked at the token behind it: it ends where its last node does.
                is_flow = traits[parent] & FLOW
                stops[parent] = event.end_mark.index if is_flow else max(stops[parent], stop)
                ends[parent] = number
                stop = stops[parent]
                parent, key, toggle = opened.pop()
                continue
            if kind is ScalarEvent:
                style = event.style
                start, stop, value = event.start_mark.index, event.end_mark.index, event.value
                trait = SCALAR | key if style else SCALAR | PLAIN | key
                values.append(shared.setdefault(value, value))
                if style in _BLOCK_STYLES:
                    stop = start + len(document.text[start:stop].rstrip())
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                if len(opened) == max_depth:
                    return
                start, stop = event.start_mark.index, event.end_mark.index
                trait = (MAPPING if kind is MappingStartEvent else SEQUENCE) | (FLOW if event.flow_style else 0) | key
                values.append("")
            elif kind is AliasEvent:
                start, stop, trait = event.start_mark.index, event.end_mark.index, ALIAS | key
                values.append("")
                if event.anchor in anchors:
                    document.anchors[number] = anchors[event.anchor]
            elif kind is StreamEndEvent:
                document.read_to = None
                return
            elif kind is DocumentStartEvent and number:
                return
            else:
                continue
            if not trait & ALIAS and (event.anchor is not None or event.tag is not None):
                trait |= TAGGED if event.tag is not None else 0
                if event.anchor is not None:
                    trait |= ANCHORED
                    anchors[event.anchor] = number
                stop = start + len(document.text[start:stop].rstrip())
            traits.append(trait)
            starts.append(start)
            stops.append(stop)
            parents.append(parent)
            key ^= toggle
            if trait & _COLLECTION:
                opened.append((parent, key, toggle))
                parent = number
                key = toggle = KEY if trait & MAPPING else 0
            number += 1
            ends.append(number)
    finally:
        if document.read_to is not None:
            document.read_to = event.end_mark.index
            for _ in opened:
                stops[parent], ends[parent] = document.read_to, number
                parent = parents[parent]


_COLLECTION: Final = MAPPING | SEQUENCE
_ENDS: Final[frozenset[Any]] = frozenset({MappingEndEvent, SequenceEndEvent})


class Node:
    """A node from its first character to the one after its last; an anchor or a tag belongs to it."""

    __slots__ = ("document", "number")

    def __init__(self, document: Document, number: int) -> None:
        self.document = document
        self.number = number

    @property
    def start(self) -> int:
        """The offset of its first character."""
        return self.document.starts[self.number]

    @property
    def stop(self) -> int:
        """The offset behind its last character."""
        return self.document.stops[self.number]

    @property
    def is_bare(self) -> bool:
        """Whether it has neither an anchor nor a tag."""
        return not self.document.has(self.number, ANCHORED | TAGGED)

    @property
    def target(self) -> "Node | None":
        """The node itself, or what it is an alias of, if there is one before it."""
        return self

    def leaves(self) -> "Iterator[Node]":
        """Yield the scalars and aliases in it, keys too, and what is empty, in the order of the text."""
        for number in range(self.number, self.document.ends[self.number]):
            if self.document.ends[number] == number + 1:
                yield self.document.node(number)


class Scalar(Node):
    """A scalar."""

    __slots__ = ()

    @property
    def value(self) -> str:
        """The text that it stands for."""
        return self.document.values[self.number]


class _Collection(Node):
    __slots__ = ()

    @property
    def is_flow(self) -> bool:
        """Whether it is written in flow style."""
        return self.document.has(self.number, FLOW)

    @property
    def opened(self) -> int:
        """In flow style, the offset behind its opening bracket."""
        return self.document.text.index("{" if isinstance(self, Mapping) else "[", self.start) + 1

    @property
    def items(self) -> list[Node]:
        """The nodes right below it: of a mapping, keys and values in turn."""
        document, items, number = self.document, [], self.number + 1
        while number < document.ends[self.number]:
            items.append(document.node(number))
            number = document.ends[number]
        return items


class Sequence(_Collection):
    """A list."""

    __slots__ = ()


class Mapping(_Collection):
    """A mapping."""

    __slots__ = ()

    @property
    def outermost(self) -> int:
        """In flow style, the offset at which the whole flow begins."""
        document, number = self.document, self.number
        while number and document.has(document.parents[number], FLOW):
            number = document.parents[number]
        return document.starts[number]

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        """The keys with their values; without the last key, where its value could not be read."""
        items = self.items
        return list(zip(items[::2], items[1::2], strict=False))

    @property
    def fields(self) -> list[tuple[Scalar, Node]]:
        """The pairs whose key is a scalar, without merges."""
        return [(key, value) for key, value in self.pairs if isinstance(key, Scalar) and not _is_merge(key)]

    @property
    def merged(self) -> "list[Mapping]":
        """The mappings that are merged into it; the first ones count most."""
        merge = next((value.target for key, value in self.pairs if _is_merge(key)), None)
        targets = [item.target for item in merge.items] if isinstance(merge, Sequence) else [merge]
        return [target for target in targets if isinstance(target, Mapping)]

    def with_merged(self) -> "Iterator[Mapping]":
        """Yield the mapping and all that is merged into it, each once, in the order in which they count."""
        waiting = [self]
        seen: set[int] = set()
        while waiting:
            mapping = waiting.pop()
            if mapping.number not in seen:
                seen.add(mapping.number)
                yield mapping
                waiting += reversed(mapping.merged)


class Alias(Node):
    """An alias."""

    __slots__ = ()

    @property
    def target(self) -> Node | None:
        """The node that it stands for."""
        number = self.document.target(self.number)
        return None if number is None else self.document.node(number)


def items_of(entry: Node) -> list[Node]:
    """Return the items that one entry of a mapping form holds: itself, or those of its list."""
    value = entry.target
    return value.items if isinstance(value, Sequence) else [entry]


def _is_merge(key: Node) -> bool:
    return key.document.is_merge_key(key.number)


_CLASSES: Final = {SCALAR: Scalar, MAPPING: Mapping, SEQUENCE: Sequence, ALIAS: Alias}
