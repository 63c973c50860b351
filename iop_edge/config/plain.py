"""Reads files in plain style, as nearly all configs are, line by line and without a YAML parser.

Plain style is the part of YAML in which every line can be read by itself: a key with a scalar, a key above what is
indented below it, an item of a list, a flow list or mapping of scalars that ends where it begins, a comment. A parser
makes an object of each bit of such a line, with its positions, which takes most of the time of a load.

This module reports nothing. A file with a single line of another kind, or with anything wrong in it, is left to the
decoder, which knows all of YAML and the words for every fault; what is read here is what the decoder would have read.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final

from iop_edge.config import scalars
from iop_edge.config.plain_lines import (
    BLOCK,
    DOCUMENT_START,
    END,
    FLOW_LIST,
    FLOW_MAPPING,
    LAST_SCALAR,
    LAST_TEXT,
    MOST_REMEMBERED,
    PLAIN_FORMS,
    Entry,
    Lexer,
    Line,
    NotPlain,
)
from iop_edge.config.plans import Plan, Slot, plan_of
from iop_edge.config.scalars import NULLS, ScalarError, holds_reference
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.config.texts import forbidden_in, is_printable_ascii, without_bom
from iop_edge.schema import table
from iop_edge.schema.values import REDACTED, UNRESOLVED, Sourced, Tree

IS_READ: Final = sys.version_info >= (3, 11, 7)
"""Whether this Python reads plain style.

Earlier ones are wrong about possessive quantifiers in regular expressions: texts lose their first letters. There the
decoder reads every file.
"""

_BLOCK_BYTES: Final = 64 * 1024
_OTHER_ENDS: Final = ("\x85", "\u2028", "\u2029")


def read_plain(source: Source, limits: Limits = DEFAULT_LIMITS) -> Tree | None:
    """Return the tree of a file in plain style, or None where the file is for the decoder to read."""
    if not IS_READ:
        return None
    data = without_bom(source.data)
    if len(source.data) > limits.max_bytes or not (is_printable_ascii(data) or _is_printable(data)):
        return None
    lines = chain.from_iterable(_blocks_of_lines(data))
    try:
        return _Reader(filter(None, map(Lexer().__getitem__, lines)), source.base_dir).document()
    except NotPlain:
        return None


def _blocks_of_lines(data: bytes) -> Iterator[list[str]]:
    """Yield the lines of a file, a block of them at a time: those of a large file would take much room all at once."""
    start = 0
    while start < len(data):
        stop = data.find(b"\n", start + _BLOCK_BYTES) + 1 or len(data)
        yield data[start:stop].decode().split("\n")
        start = stop


def _is_printable(data: bytes) -> bool:
    """Tell whether bytes are text that YAML allows, in which lines end as they do in ASCII."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return forbidden_in(text) is None and not any(end in text for end in _OTHER_ENDS)


class _Reader:
    """Puts lines together by their columns. `_line` is the first one that is not read yet.

    The lines of a fleet are written again and again: what is more than text in one is found out once and then shared,
    which it may be since nobody changes a decoded tree.
    """

    def __init__(self, lines: Iterator[Line], base_dir: str) -> None:
        self._next = partial(next, lines, END)
        self._line = self._next()
        self._base_dir = base_dir
        self._values: dict[Plan, dict[str, Any]] = {}

    def document(self) -> Tree:
        """Return the tree of the file.

        Raises:
            NotPlain: the file is for the decoder.
        """
        if self._line[2] == DOCUMENT_START:
            self._line = self._next()
        if self._line[:2] != (0, 0):
            raise NotPlain
        tree = self._fields(plan_of(table.root().name))
        if self._line is not END:
            raise NotPlain
        return tree

    def _fields(self, plan: Plan) -> Tree:
        """Read the fields of a message, whose first line is the current one, in its column.

        A line that is in no column which is open where it stands is nobody's, and found when the document should end.
        """
        tree: Tree = {}
        slots, next_line = plan.slots, self._next
        values = self._values.setdefault(plan, {})
        _, column, key, form, content, text = self._line
        while True:
            slot = slots.get(key)
            if slot is None or slot.name in tree:
                raise NotPlain
            self._line = next_line()
            if form == BLOCK:
                tree[slot.name] = self._block(slot, column)
            elif slot.is_text and form <= LAST_TEXT:
                tree[slot.name] = content
            elif form in PLAIN_FORMS and content in slot.known:
                tree[slot.name] = slot.known[content]
            else:
                value = values.get(text)
                if value is None:
                    if len(values) >= MOST_REMEMBERED:
                        values.clear()
                    value = values[text] = self._inline(slot, form, content)
                tree[slot.name] = value
            start, content_column, key, form, content, text = self._line
            if start != column or content_column != column:
                return tree

    def _block(self, slot: Slot, column: int) -> Any:
        """Return the value that stands below its key, which is in this column; a list may stand in the same one."""
        start, content_column = self._line[:2]
        is_list = start != content_column
        if start < column or (start == column and not is_list):
            raise NotPlain
        if slot.shape == "message" and not is_list:
            return self._fields(plan_of(slot.field.type_name))
        if slot.shape == "map" and not is_list:
            return self._map(slot)
        if slot.shape in ("list", "messages") and is_list:
            return self._list(slot)
        raise NotPlain

    def _list(self, slot: Slot) -> list[Any]:
        item = slot.item
        assert item is not None
        plan = plan_of(item.field.type_name) if item.shape == "message" else None
        items: list[Any] = []
        dash = self._line[0]
        while self._line[0] == dash != self._line[1]:
            _, _, key, form, content, _ = self._line
            if not key:
                items.append(self._inline(item, form, content))
                self._line = self._next()
            elif plan is not None:
                items.append(self._fields(plan))
            else:
                raise NotPlain
        return items

    def _map(self, slot: Slot) -> dict[str, Any]:
        column = self._line[0]
        entries: list[Entry] = []
        while self._line[0] == column == self._line[1]:
            entries.append(self._line[2:5])
            self._line = self._next()
        return self._entries(slot, entries)

    def _inline(self, slot: Slot, form: int, content: Any) -> Any:
        """Return the value that stands behind its key, or behind the dash of an item."""
        if form == BLOCK:
            raise NotPlain
        if form <= LAST_SCALAR:
            return self._scalar(slot, form, content)
        if form == FLOW_LIST and slot.shape in ("list", "messages"):
            assert slot.item is not None
            return [self._inline(slot.item, item_form, text) for _, item_form, text in content]
        if form == FLOW_MAPPING and slot.shape == "message":
            return self._message(plan_of(slot.field.type_name), content)
        if form == FLOW_MAPPING and slot.shape == "map":
            return self._entries(slot, content)
        raise NotPlain

    def _message(self, plan: Plan, entries: Sequence[Entry]) -> Tree:
        tree: Tree = {}
        for key, form, content in entries:
            slot = plan.slots.get(key)
            if slot is None or slot.name in tree:
                raise NotPlain
            is_text = slot.is_text and form <= LAST_TEXT
            tree[slot.name] = content if is_text else self._inline(slot, form, content)
        return tree

    def _entries(self, slot: Slot, entries: Sequence[Entry]) -> dict[str, Any]:
        """Return the value of a map, whose keys are texts as they are written, null excepted."""
        assert slot.item is not None
        values = {key: self._inline(slot.item, form, content) for key, form, content in entries}
        names = {key.lower() for key in values} if slot.field.caseless_keys else values
        if len(names) != len(entries) or not NULLS.isdisjoint(values):
            raise NotPlain
        return values

    def _scalar(self, slot: Slot, form: int, text: str) -> Any:
        is_plain = form in PLAIN_FORMS
        if is_plain and text in slot.known:
            return slot.known[text]
        if slot.is_text and form <= LAST_TEXT:
            return text
        if slot.shape != "scalar":
            return self._scalar_form(slot, form, text)
        if holds_reference(text):
            return Sourced(text, UNRESOLVED, self._base_dir)
        if text == REDACTED or (is_plain and text in NULLS):
            raise NotPlain
        try:
            value = scalars.read(slot.field, text, plain=is_plain)
        except ScalarError:
            raise NotPlain from None
        slot.remember(text, value)
        return value

    def _scalar_form(self, slot: Slot, form: int, text: str) -> Tree:
        """Return the message that a scalar stands for."""
        plan = plan_of(slot.field.type_name) if slot.shape == "message" else None
        if plan is None or not plan.message.scalar_form:
            raise NotPlain
        return {plan.message.scalar_form: self._scalar(plan.slots[plan.message.scalar_form], form, text)}
