"""Keys of old releases: those that nothing carries over go, with a comment; other spellings become the field's name."""

import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Final

from iop_edge.config.migrate.edits import Change, Edit
from iop_edge.config.migrate.walk import Place, places
from iop_edge.config.nodes import Document, Mapping, Node, Scalar

_COMMENT: Final = re.compile(r"(?<=\s)#[^\r\n]*")
_COMMA: Final = re.compile(r"(?:\s|#[^\r\n]*(?=[\r\n]|\Z))*,[ \t]*")


def remove_legacy(root: Node, text: Document) -> Iterator[Change]:
    """Yield what removes the keys that the loader refuses as legacy (CFG-03).

    The values go too: they may be secrets, which a comment would keep in a tracked file, where nobody finds them.
    """
    for place in places(root):
        keys = [key.value for key, _ in place.node.fields if key.value in place.message.legacy]
        if keys:
            edits = _cut_out(place, text) if place.node.is_flow else _commented_out(place, text)
            yield Change(tuple(edits), place.path.child(keys[0]), _named(keys))


def rename(root: Node, text: Document) -> Iterator[Change]:  # noqa: ARG001 - every step has this form
    """Yield what gives fields their own names where another spelling is written."""
    for place in places(root):
        for key, _ in place.node.fields:
            name = place.field(key)
            if name and name != key.value and key.is_bare and not _has(place.node, name):
                edit = Edit(key.start, key.stop, name)
                yield Change((edit,), place.path.child(name), f"the key {key.value}")


def _named(keys: list[str]) -> str:
    return f"the {'key' if len(keys) == 1 else 'keys'} {', '.join(keys)}"


def _has(mapping: Mapping, name: str) -> bool:
    return any(key.value == name for key, _ in mapping.fields)


def _commented_out(place: Place, text: Document) -> Iterator[Edit]:
    """Yield edits that put comments in the place of each key and its value; what stands behind it stays behind it."""
    reasons = _reasons(place)
    for key, value in place.node.fields:
        if key.value in reasons:
            comments = [*_comments_in([key, value], text), reasons[key.value]]
            yield Edit(key.start, value.stop, _lines_between(comments, " " * text.column(key.start), text))


def _cut_out(place: Place, text: Document) -> Iterator[Edit]:
    """Yield edits that take pairs out of a mapping in flow style; the comments go above the line where the flow begins.

    Other comments inside of the flow stay.
    """
    reasons = _reasons(place)
    is_legacy = [isinstance(key, Scalar) and key.value in reasons for key, _ in place.node.pairs]
    runs = [
        (bad, [node for _, pair in run for node in pair])
        for bad, run in groupby(zip(is_legacy, place.node.pairs, strict=True), itemgetter(0))
    ]
    comments = [comment for bad, run in runs if bad for comment in _comments_in(run, text)]
    line = text.line_start(place.node.outermost)
    indent = " " * (len(text.text[line:]) - len(text.text[line:].lstrip(" ")))
    above = _lines_between([*comments, *reasons.values()], indent, text)
    yield Edit(line, line, f"{indent}{above}{text.line_break}")
    for number, (bad, run) in enumerate(runs):
        if bad:
            before = runs[number - 1][1][-1].stop if number else None
            yield _without_run(run[0].start, run[-1].stop, before, place.node, text)


def _comments_in(nodes: list[Node], text: Document) -> Iterator[str]:
    """Yield the comments between the scalars of nodes that follow each other."""
    ends = [(leaf.start, leaf.stop) for node in nodes for leaf in node.leaves()]
    for (_, start), (stop, _) in pairwise(ends):
        yield from _COMMENT.findall(text.text, start, stop)


def _lines_between(lines: list[str], indent: str, text: Document) -> str:
    return f"{text.line_break}{indent}".join(lines)


def _without_run(start: int, stop: int, before: int | None, mapping: Mapping, text: Document) -> Edit:
    """Return the edit that takes out pairs that stand next to each other, with one comma."""
    comma = _COMMA.match(text.text, stop, mapping.stop - 1)
    if comma is not None and "#" not in comma.group():
        return _with_line(start, comma.end(), text)
    if comma is None and before is not None and "#" not in text.text[before:start]:
        return Edit(before, stop, "")
    return _with_line(start, stop, text)


def _with_line(start: int, stop: int, text: Document) -> Edit:
    """Return the edit that takes out a stretch of text, with its lines where nothing else stands on them."""
    line = text.line_start(start)
    if text.text[line:start].strip() or text.text[stop : text.line_stop(stop)].strip():
        return Edit(start, stop, "")
    return Edit(line, text.next_line(stop), "")


def _reasons(place: Place) -> dict[str, str]:
    """Return the comment for each legacy key; a reason that holds for several keys is given once."""
    comments: dict[str, str] = {}
    told: set[str] = set()
    for key, _ in place.node.fields:
        why = place.message.legacy.get(key.value)
        if why is not None:
            comments[key.value] = f"# {key.value} was removed" + (f": {why}" if why not in told else "")
            told.add(why)
    return comments
