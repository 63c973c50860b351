"""Mapping forms of lists of named items become lists: `ollama: {...}` an item with its name and type (NRM-01)."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from iop_edge.config.migrate.edits import Change, Edit, added_behind
from iop_edge.config.migrate.walk import places
from iop_edge.config.nodes import Document, Mapping, Node, Scalar, Sequence, items_of
from iop_edge.schema.table import MappingForm

_COLON: Final = re.compile(r"[ \t]*:")
_DASH: Final = "- "


def make_lists(root: Node, text: Document) -> Iterator[Change]:
    """Yield what writes each mapping form of named items as the list that it stands for."""
    for place in places(root):
        for key, value in place.node.fields:
            field = place.message.keys.get(key.value)
            form = field.mapping_form if field else None
            mapping = value.target
            if form is not None and form.name_field and isinstance(mapping, Mapping):
                edits = tuple(_Rewriting(mapping, form, text).edits())
                yield Change(edits, place.path.child(place.field(key)), f"the mapping form of {key.value}")


class _Rewriting:
    """Writes one mapping form as a list.

    Only what people write is rewritten well. Anything else (aliases, anchors, keys behind question marks) comes out as
    another config, and whoever makes the edits has to look whether it does.
    """

    def __init__(self, mapping: Mapping, form: MappingForm, text: Document) -> None:
        self._mapping = mapping
        self._form = form
        self._text = text
        self._column = text.column(mapping.start)
        self._next_line = text.line_break + " " * self._column

    def edits(self) -> Iterator[Edit]:
        """Yield what writes the list; nothing where an item or a key is of another kind."""
        items = [item for _, value in self._mapping.fields for item in items_of(value)]
        has_colons = all(_COLON.match(self._text.text, key.stop) for key, _ in self._mapping.fields)
        if not has_colons or not all(isinstance(item, Mapping) for item in items):
            return
        if self._mapping.is_flow:
            yield Edit(self._mapping.opened - 1, self._mapping.opened, "[")
            yield Edit(self._mapping.stop - 1, self._mapping.stop, "]")
        for key, value in self._mapping.fields:
            if self._mapping.is_flow:
                yield from self._in_flow(key, value)
            elif not isinstance(value, Sequence):
                yield from self._single(key, value)
            elif value.is_flow:
                yield from self._flow_list(key, value)
            else:
                yield from self._block_list(key, value)

    def _in_flow(self, key: Scalar, value: Node) -> Iterator[Edit]:
        yield from self._without(key.start, value.opened if isinstance(value, Sequence) else value.start)
        if isinstance(value, Sequence):
            yield Edit(value.stop - 1, value.stop, "")
        yield from self._described(key, value, 0)

    def _single(self, key: Scalar, value: Node) -> Iterator[Edit]:
        """The key of one item becomes the dash before it; in block style, with the item's first field."""
        if not isinstance(value, Mapping) or value.is_flow:
            yield Edit(key.start, self._after_colon(key), _DASH.rstrip())
            yield from self._described(key, value, 0)
            return
        shift = self._column + len(_DASH) - self._text.column(value.start)
        first, *others = self._lines(key, value, is_alone=True)
        yield Edit(key.start, self._after_colon(key), f"{_DASH}{first}")
        stop = self._text.line_stop(key.start)
        yield Edit(stop, stop, "".join(f"{self._next_line}  {line}" for line in others))
        yield from self._shifted(key.start, value.stop, shift)

    def _flow_list(self, key: Scalar, value: Sequence) -> Iterator[Edit]:
        """A list in flow style becomes a line an item."""
        if not value.items:
            yield from self._without_key(key, value.stop)
            return
        yield from self._without(key.start, value.items[0].start, _DASH)
        for item, following in zip(value.items, value.items[1:], strict=False):
            yield from self._without(item.stop, following.start, f"{self._next_line}{_DASH}")
        yield from self._without(value.items[-1].stop, value.stop)
        yield from self._described(key, value, 0)

    def _block_list(self, key: Scalar, value: Sequence) -> Iterator[Edit]:
        """The items of a list move to where their key was."""
        shift = self._column - self._text.column(value.start)
        yield from self._without_key(key, self._after_colon(key))
        yield from self._described(key, value, shift)
        yield from self._shifted(key.start, value.stop, shift)

    def _described(self, key: Scalar, value: Node, shift: int) -> Iterator[Edit]:
        """Give each item its type, and a name where the key alone gave it one."""
        items = items_of(value)
        for item in items:
            if not isinstance(item, Mapping):
                continue
            name = next((each for field, each in item.fields if field.value == self._form.name_field), None)
            lines = self._lines(key, item, is_alone=len(items) == 1)
            if name is not None:
                yield added_behind(name, item, lines, self._text, shift)
            elif item.is_flow:
                start = item.pairs[0][0].start if item.pairs else item.opened
                yield Edit(start, start, ", ".join([*lines, *([""] if item.pairs else [])]))
            else:
                yield from self._before(item, lines, shift)

    def _lines(self, key: Scalar, item: Mapping, *, is_alone: bool) -> list[str]:
        """Return the fields that the key stands for."""
        word = self._text.text[key.start : key.stop]
        is_named = any(field.value == self._form.name_field for field, _ in item.fields)
        names = [f"{self._form.name_field}: {word}"] if is_alone and not is_named else []
        return [*names, f"{self._form.key_field}: {word}"]

    def _before(self, item: Mapping, lines: list[str], shift: int) -> Iterator[Edit]:
        indent = self._text.line_break + " " * (self._text.column(item.start) + shift)
        yield Edit(item.start, item.start, "".join(f"{line}{indent}" for line in lines))

    def _without(self, start: int, stop: int, instead: str = "") -> Iterator[Edit]:
        """Take out what stands between two nodes; where that is a comment, it stays, and the edits come to nothing."""
        if "#" not in self._text.text[start:stop]:
            yield Edit(start, stop, instead)

    def _without_key(self, key: Scalar, stop: int) -> Iterator[Edit]:
        """Take out a key, with its line unless there is a comment."""
        line_stop = self._text.line_stop(stop)
        behind = self._text.text[stop:line_stop]
        if behind.strip():
            yield Edit(key.start, line_stop - len(behind.lstrip()), "")
        else:
            yield Edit(self._text.line_start(key.start), self._text.next_line(line_stop), "")

    def _shifted(self, start: int, stop: int, shift: int) -> Iterator[Edit]:
        """Move the lines that begin between two places, and the comments below them."""
        text = self._text
        lines = list(text.lines[text.line(start) + 1 : bisect_right(text.lines, stop - 1)])
        line = text.next_line(stop)
        while line < len(text.text) and self._is_own_comment(line):
            lines.append(line)
            line = text.next_line(line)
        for line in lines if shift else ():
            content = text.text[line : text.line_stop(line)]
            if shift < 0:
                yield Edit(line, line + min(-shift, len(content) - len(content.lstrip(" "))), "")
            elif content:
                yield Edit(line, line, " " * shift)

    def _is_own_comment(self, line: int) -> bool:
        content = self._text.text[line : self._text.line_stop(line)]
        return content.lstrip(" ").startswith("#") and len(content) - len(content.lstrip(" ")) > self._column

    def _after_colon(self, key: Scalar) -> int:
        colon = _COLON.match(self._text.text, key.stop)
        return colon.end() if colon else key.stop
