"""A file as nodes, each with the stretch of text that it takes up.

Loading builds no such graph. A file is composed once if there is something to report about it: positions, excerpts,
migration and redacted output all work on its nodes. A fleet has millions of them, so a node is a number, and what is
known of it stands in arrays.
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
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from iop_edge.config.events import DEFAULT_PARSER, ENDS, MERGE_KEY, ParserFactory
from iop_edge.config.scalars import is_null
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.config.texts import BOM, LINE_BREAK, without_bom

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

_COLLECTION: Final = MAPPING | SEQUENCE
_BLOCK_STYLES: Final = frozenset("|>")


Node = int
"""A node, by its number in its document."""


class Document:
    """The text of a file and its nodes, numbered in the order of the text: a node comes before those in it.

    Offsets count characters. A file with a syntax error has the nodes before it; `read_to` is the offset up to which
    the file was read, or None where that is all of it. An anchor or a tag belongs to its node.
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
        self.anchors: dict[Node, Node] = {}
        """The node with the anchor of each alias, which may be one around it."""

    def has(self, node: Node, traits: int) -> bool:
        """Tell whether a node has one of some traits."""
        return bool(self.traits[node] & traits)

    def is_null(self, node: Node) -> bool:
        """Tell whether a node is a scalar that means null."""
        return self.traits[node] & (SCALAR | PLAIN) == SCALAR | PLAIN and is_null(self.values[node], None)

    def is_merge_key(self, node: Node) -> bool:
        """Tell whether a node is the key of a merge."""
        is_plain_key = self.traits[node] & (KEY | SCALAR | PLAIN) == KEY | SCALAR | PLAIN
        return is_plain_key and self.values[node] == MERGE_KEY

    def children(self, node: Node) -> Iterator[Node]:
        """Yield the nodes right below a node: of a mapping, keys and values in turn."""
        child, end = node + 1, self.ends[node]
        while child < end:
            yield child
            child = self.ends[child]

    def pairs(self, mapping: Node) -> list[tuple[Node, Node]]:
        """Return the keys of a mapping with their values; without the last key, where its value could not be read."""
        children = list(self.children(mapping))
        return list(zip(children[::2], children[1::2], strict=False))

    def fields(self, mapping: Node) -> list[tuple[Node, Node]]:
        """Return the pairs whose key is a scalar, without merges."""
        return [pair for pair in self.pairs(mapping) if self.has(pair[0], SCALAR) and not self.is_merge_key(pair[0])]

    def items(self, node: Node) -> list[Node]:
        """Return the items of a list; any other node is its own only item."""
        target = self.target(node)
        return list(self.children(target)) if target is not None and self.has(target, SEQUENCE) else [node]

    def merged(self, mapping: Node) -> list[Node]:
        """Return the mappings that are merged into one; the first ones count most."""
        merge = next((value for key, value in self.pairs(mapping) if self.is_merge_key(key)), None)
        targets = [] if merge is None else [self.target(item) for item in self.items(merge)]
        return [target for target in targets if target is not None and self.has(target, MAPPING)]

    def with_merged(self, mapping: Node) -> Iterator[Node]:
        """Yield a mapping and all that is merged into it, each once, in the order in which they count."""
        waiting = [mapping]
        seen: set[Node] = set()
        while waiting:
            mapping = waiting.pop()
            if mapping not in seen:
                seen.add(mapping)
                yield mapping
                waiting += reversed(self.merged(mapping))

    def target(self, node: Node) -> Node | None:
        """Return the node itself, or what it is an alias of; None if that is missing, or around it."""
        if not self.has(node, ALIAS):
            return node
        target = self.anchors.get(node)
        return None if target is None or self.ends[target] > node else target

    def key_of(self, node: Node) -> Node | None:
        """Return the scalar key that a node is the value of."""
        before = node - 1
        is_value = node and before != self.parents[node] and not self.has(node, KEY)
        return before if is_value and self.traits[before] & (KEY | SCALAR) == KEY | SCALAR else None

    def value_of(self, key: Node) -> Node | None:
        """Return the value of a key; None where it could not be read."""
        value = self.ends[key]
        return value if value < self.ends[self.parents[key]] else None

    def key_at(self, line: int, column: int) -> Node | None:
        """Return the scalar key at a position."""
        offset = self.lines[line] + column
        node = bisect_left(self.starts, offset)
        while node < len(self.starts) and self.starts[node] == offset:
            if self.traits[node] & (KEY | SCALAR) == KEY | SCALAR:
                return node
            node += 1
        return None

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

    A file that is too large, not UTF-8, or that begins with two byte order marks has none: of two, the parser takes one
    for its own, and its offsets would not be those of the text.
    """
    if len(source.data) > min(limits.max_bytes, _LARGEST):
        return Document("")
    data = without_bom(source.data)
    try:
        document = Document(data.decode())
    except UnicodeDecodeError:
        return Document(data.decode(errors="replace"))
    if data.startswith(BOM):
        return document
    with suppress(YAMLError):
        _compose(document, parser(data).get_event, limits.max_depth)
    return document


def _compose(  # noqa: C901, PLR0912, PLR0915 - one loop without calls: it runs once for every node of a fleet
    document: Document, get_event: Callable[[], Any], max_depth: int
) -> None:
    """Add the nodes of a document, up to where it ends, has a syntax error or nests too deeply.

    Raises:
        YAMLError: there is a syntax error. The nodes before it have been added.
    """
    traits, starts, stops, ends = document.traits, document.starts, document.stops, document.ends
    parents, values = document.parents, document.values
    shared: dict[str, str] = {}  # one object for equal texts, which saves half the memory
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
            if kind in ENDS:
                # A block collection ends where its last node does; the parser marks its end at the next token.
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
