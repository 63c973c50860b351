"""A file's nodes with the stretches of text that they take up.

Loading builds no such graph; whoever edits a text needs one, since an edit has to know what stands around it.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent

from iop_edge.config.events import Event
from iop_edge.config.findings import Position
from iop_edge.config.mappings import MERGE_KEY
from iop_edge.config.parsers import DEFAULT_PARSER, EventStream
from iop_edge.config.texts import LINE_BREAK

_ENDS: Final[frozenset[Any]] = frozenset({MappingEndEvent, SequenceEndEvent})


class Text:
    """A text, and where its lines begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in LINE_BREAK.finditer(text))]
        first = LINE_BREAK.search(text)
        self.line_break = first.group() if first else "\n"

    def offset(self, mark: Position) -> int:
        """Return the index of the character at a place."""
        return self._starts[mark.line] + mark.column

    def line(self, offset: int) -> int:
        """Return the number, from 0, of the line that a character stands on."""
        return bisect_right(self._starts, offset) - 1

    def line_start(self, offset: int) -> int:
        """Return where the line of a character begins."""
        return self._starts[self.line(offset)]

    def line_stop(self, offset: int) -> int:
        """Return where the line of a character ends, before its break."""
        match = LINE_BREAK.search(self.text, offset)
        return match.start() if match else len(self.text)

    def next_line(self, offset: int) -> int:
        """Return where the line after that of a character begins, or the end of the text."""
        number = self.line(offset) + 1
        return self._starts[number] if number < len(self._starts) else len(self.text)

    def column(self, offset: int) -> int:
        """Return the column, from 0, of a character."""
        return offset - self.line_start(offset)

    def line_starts(self, start: int, stop: int) -> list[int]:
        """Return where the lines begin that begin after a character and before another."""
        return self._starts[self.line(start) + 1 : bisect_right(self._starts, stop - 1)]


@dataclass(slots=True, eq=False)
class Node:
    """A node from its first character to the one after its last; an anchor or a tag belongs to it."""

    start: int
    stop: int
    is_bare: bool
    """Whether it has neither an anchor nor a tag."""


@dataclass(slots=True, eq=False)
class Scalar(Node):
    """A scalar."""

    value: str = field(repr=False)
    style: str | None


@dataclass(slots=True, eq=False)
class Mapping(Node):
    """A mapping. In flow style, `opened` is the character after its brace, `outermost` the start of the whole flow."""

    is_flow: bool
    opened: int
    outermost: int
    pairs: list[tuple[Node, Node]]

    @property
    def fields(self) -> Iterator[tuple[Scalar, Node]]:
        """The pairs whose key is a scalar written here, without merges."""
        for key, value in self.pairs:
            if isinstance(key, Scalar) and not _is_merge(key):
                yield key, value

    @property
    def merged(self) -> Iterator[Node]:
        """What is merged into it: mappings, and lists of them."""
        return (value for key, value in self.pairs if _is_merge(key))


@dataclass(slots=True, eq=False)
class Sequence(Node):
    """A list."""

    is_flow: bool
    opened: int
    items: list[Node]


@dataclass(slots=True, eq=False)
class Alias(Node):
    """An alias, and the node that it stands for, if there is one before it."""

    target: Node | None


def target_of(node: Node) -> Node | None:
    """Return the node itself, or what it is an alias of."""
    return node.target if isinstance(node, Alias) else node


def leaves(node: Node) -> Iterator[Node]:
    """Yield the scalars and aliases in a node, keys too, and what is empty, in the order of the text."""
    children: list[Node] = []
    if isinstance(node, Mapping):
        children = [child for pair in node.pairs for child in pair]
    elif isinstance(node, Sequence):
        children = node.items
    if not children:
        yield node
    for child in children:
        yield from leaves(child)


def compose(text: Text) -> Node:
    """Return the root of a text that is known to be one YAML document."""
    return _Composer(text).document()


def _is_merge(key: Node) -> bool:
    return isinstance(key, Scalar) and key.value == MERGE_KEY and not key.style


class _Composer:
    def __init__(self, text: Text) -> None:
        self._text = text
        self._parser: EventStream = DEFAULT_PARSER(text.text.encode())
        self._anchors: dict[str | None, Node] = {}
        self._outermost: int | None = None

    def document(self) -> Node:
        for _ in ("stream", "document"):
            self._next()
        return self._node(self._next())

    def _next(self) -> Event:
        return self._parser.get_event()

    def _node(self, event: Event) -> Node:
        start, stop = self._text.offset(event.start_mark), self._text.offset(event.end_mark)
        if event.__class__ is AliasEvent:
            return Alias(start, stop, is_bare=True, target=self._anchors.get(event.anchor))
        is_bare = event.anchor is None and event.tag is None
        node: Node
        if event.__class__ is ScalarEvent:
            node = Scalar(start, self._trimmed(start, stop), is_bare, event.value, event.style)
        else:
            node = self._collection(event, start, stop, is_bare=is_bare)
        if event.anchor is not None:
            # Not before its end: an alias inside of it does not stand for it.
            self._anchors[event.anchor] = node
        return node

    def _collection(self, event: Event, start: int, opened: int, *, is_bare: bool) -> Node:
        is_flow, outer = bool(event.flow_style), self._outermost
        if is_flow and outer is None:
            self._outermost = start
        outermost = start if self._outermost is None else self._outermost
        children, end = self._children()
        self._outermost = outer
        stop = self._text.offset(end) if is_flow else max([opened, *(child.stop for child in children[-1:])])
        if event.__class__ is MappingStartEvent:
            return Mapping(start, stop, is_bare, is_flow, opened, outermost, _pairs(children))
        return Sequence(start, stop, is_bare, is_flow, opened, children)

    def _children(self) -> tuple[list[Node], Position]:
        children: list[Node] = []
        while (event := self._next()).__class__ not in _ENDS:
            children.append(self._node(event))
        return children, event.end_mark

    def _trimmed(self, start: int, stop: int) -> int:
        """Return the end of a scalar without the line breaks that a block scalar ends with."""
        return start + len(self._text.text[start:stop].rstrip())


def _pairs(children: list[Node]) -> list[tuple[Node, Node]]:
    return list(zip(children[::2], children[1::2], strict=True))
