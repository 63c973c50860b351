"""The changes that bring a file of an old release into the current shape, each as edits of its text."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any, Final

from iop_edge.config.edits import Change, Edit, MessageNode, indent_of, message_nodes
from iop_edge.config.marks import INVALID
from iop_edge.config.nodes import ANCHORED, FLOW, MAPPING, SCALAR, SEQUENCE, TAGGED, Document, Node
from iop_edge.schema import table
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.table import MappingForm
from iop_edge.schema.values import ReadTree

_COMMENT: Final = re.compile(r"(?<=\s)#[^\r\n]*")
_COMMA: Final = re.compile(r"(?:\s|#[^\r\n]*(?=[\r\n]|\Z))*,[ \t]*")
_COLON: Final = re.compile(r"[ \t]*:")
_DASH: Final = "- "
_TYPES: Final = table.enum("AdapterType")


# Keys that were removed, and other spellings of keys.


def remove_legacy(document: Document) -> Iterator[Change]:
    """Yield what puts comments in place of the keys that the loader refuses as legacy (CFG-03).

    The values go too: they may be secrets, which a comment would keep in a tracked file, where nobody finds them.
    """
    for each in message_nodes(document):
        names = [name for _, name, _ in each.keys if name in each.message.legacy]
        if names:
            edits = _cut_out(each) if each.is_flow else _commented_out(each)
            what = f"the {'key' if len(names) == 1 else 'keys'} {', '.join(names)}"
            yield Change(tuple(edits), each.path.child(names[0]), what)


def rename(document: Document) -> Iterator[Change]:
    """Yield what gives fields their own names where another spelling is written."""
    for each in message_nodes(document):
        names = {name for _, name, _ in each.keys}
        for key, field, _ in each.fields:
            if document.values[key] != field.name and field.name not in names:
                edits = tuple(_replaced(document, key, field.name))
                if edits:
                    yield Change(edits, each.path.child(field.name), f"the key {document.values[key]}")


def _replaced(document: Document, node: Node, word: str) -> Iterator[Edit]:
    """Yield the edit that puts a word in place of a scalar; nothing where it is an alias or has an anchor."""
    if document.has(node, SCALAR) and not document.has(node, ANCHORED | TAGGED):
        yield Edit(document.starts[node], document.stops[node], word)


def _commented_out(mapping: MessageNode) -> Iterator[Edit]:
    """Yield edits that put comments in place of each legacy key and its value; what stands behind it stays there."""
    document, reasons = mapping.document, _reasons(mapping)
    for key, name, value in mapping.keys:
        if name in reasons:
            start = document.starts[key]
            lines = [*_comments_in(document, key, document.ends[value]), reasons[name]]
            text = f"{document.line_break}{' ' * document.column(start)}".join(lines)
            yield Edit(start, document.stops[value], text)


def _cut_out(mapping: MessageNode) -> Iterator[Edit]:
    """Yield edits that take pairs out of a mapping in flow style; the comments go above the line where the flow begins.

    Other comments inside of the flow stay.
    """
    document, reasons = mapping.document, _reasons(mapping)
    runs = [
        (is_legacy, [node for pair in pairs for node in pair])
        for is_legacy, pairs in groupby(document.pairs(mapping.node), lambda pair: document.values[pair[0]] in reasons)
    ]
    comments = [
        comment
        for is_legacy, run in runs
        if is_legacy
        for comment in _comments_in(document, run[0], document.ends[run[-1]])
    ]
    line = document.line_start(document.starts[_outermost(document, mapping.node)])
    lines = [*comments, *reasons.values()]
    indent = indent_of(document, line)
    yield Edit(line, line, "".join(f"{indent}{each}{document.line_break}" for each in lines))
    for number, (is_legacy, run) in enumerate(runs):
        if is_legacy:
            before = document.stops[runs[number - 1][1][-1]] if number else None
            start, stop = document.starts[run[0]], document.stops[run[-1]]
            yield _without_run(start, stop, before, document.stops[mapping.node], document)


def _outermost(document: Document, node: Node) -> Node:
    """Return the outermost of the nodes in flow style around a node."""
    while node and document.has(document.parents[node], FLOW):
        node = document.parents[node]
    return node


def _comments_in(document: Document, first: Node, end: Node) -> Iterator[str]:
    """Yield the comments between the nodes from one number up to another, as far as these have nothing below them."""
    leaves = [node for node in range(first, end) if document.ends[node] == node + 1]
    for one, other in pairwise(leaves):
        yield from _COMMENT.findall(document.text, document.stops[one], document.starts[other])


def _without_run(start: int, stop: int, before: int | None, end: int, document: Document) -> Edit:
    """Return the edit that removes adjacent pairs, with one comma."""
    comma = _COMMA.match(document.text, stop, end - 1)
    if comma is not None and "#" not in comma.group():
        return _with_line(start, comma.end(), document)
    if comma is None and before is not None and "#" not in document.text[before:start]:
        return Edit(before, stop, "")
    return _with_line(start, stop, document)


def _with_line(start: int, stop: int, document: Document) -> Edit:
    """Return the edit that removes a stretch of text, with its lines if nothing else stands on them."""
    line = document.line_start(start)
    if document.text[line:start].strip() or document.text[stop : document.line_stop(stop)].strip():
        return Edit(start, stop, "")
    return Edit(line, document.next_line(stop), "")


def _reasons(mapping: MessageNode) -> dict[str, str]:
    """Return the comment for each legacy key; a reason that holds for several keys is given once."""
    comments: dict[str, str] = {}
    told: set[str] = set()
    for _, name, _ in mapping.keys:
        why = mapping.message.legacy.get(name)
        if why is not None:
            comments[name] = f"# {name} was removed" + (f": {why}" if why not in told else "")
            told.add(why)
    return comments


# Lists that are written as mappings.


def make_lists(document: Document) -> Iterator[Change]:
    """Yield what turns mapping forms of lists of named items into those lists (NRM-01).

    Of `ollama: {...}` an item becomes that has the key as its name and its type.
    """
    for each in message_nodes(document):
        for key, field, value in each.fields:
            form, mapping = field.mapping_form, document.target(value)
            if form is not None and form.name_field and mapping is not None and document.has(mapping, MAPPING):
                edits = tuple(_FormRewrite(document, mapping, form).edits())
                yield Change(edits, each.path.child(field.name), f"the mapping form of {document.values[key]}")


class _FormRewrite:
    """Writes one mapping form as a list.

    It handles what people commonly write. Anything else (aliases, anchors, keys behind question marks) comes out as
    another config, which the caller has to check for.
    """

    def __init__(self, document: Document, mapping: Node, form: MappingForm) -> None:
        self._document = document
        self._mapping = mapping
        self._form = form
        self._column = document.column(document.starts[mapping])
        self._next_line = document.line_break + " " * self._column

    def edits(self) -> Iterator[Edit]:
        """Yield what writes the list; nothing where an item or a key is of another kind."""
        document = self._document
        fields = document.fields(self._mapping)
        items = [item for _, value in fields for item in document.items(value)]
        has_colons = all(_COLON.match(document.text, document.stops[key]) for key, _ in fields)
        if not has_colons or not all(document.has(item, MAPPING) for item in items):
            return
        is_flow = document.has(self._mapping, FLOW)
        if is_flow:
            opened, stop = self._opened(self._mapping), document.stops[self._mapping]
            yield Edit(opened - 1, opened, "[")
            yield Edit(stop - 1, stop, "]")
        for key, value in fields:
            if is_flow:
                yield from self._in_flow(key, value)
            elif not document.has(value, SEQUENCE):
                yield from self._single(key, value)
            elif document.has(value, FLOW):
                yield from self._flow_list(key, value)
            else:
                yield from self._block_list(key, value)

    def _opened(self, node: Node) -> int:
        """Return where a mapping or list in flow style goes on behind its opening bracket."""
        bracket = "{" if self._document.has(node, MAPPING) else "["
        return self._document.text.index(bracket, self._document.starts[node]) + 1

    def _in_flow(self, key: Node, value: Node) -> Iterator[Edit]:
        starts, stops = self._document.starts, self._document.stops
        is_list = self._document.has(value, SEQUENCE)
        yield from self._without(starts[key], self._opened(value) if is_list else starts[value])
        if is_list:
            yield Edit(stops[value] - 1, stops[value], "")
        yield from self._described(key, value, 0)

    def _single(self, key: Node, value: Node) -> Iterator[Edit]:
        """The key of one item becomes the dash before it; in block style, with the item's first field."""
        document = self._document
        start = document.starts[key]
        if not document.has(value, MAPPING) or document.has(value, FLOW):
            yield Edit(start, self._after_colon(key), _DASH.rstrip())
            yield from self._described(key, value, 0)
            return
        shift = self._column + len(_DASH) - document.column(document.starts[value])
        first, *others = self._lines(key, value, is_alone=True)
        yield Edit(start, self._after_colon(key), f"{_DASH}{first}")
        stop = document.line_stop(start)
        yield Edit(stop, stop, "".join(f"{self._next_line}  {line}" for line in others))
        yield from self._shifted(start, document.stops[value], shift)

    def _flow_list(self, key: Node, value: Node) -> Iterator[Edit]:
        """A list in flow style becomes a line an item."""
        starts, stops = self._document.starts, self._document.stops
        items = self._document.items(value)
        if not items:
            yield from self._without_key(key, stops[value])
            return
        yield from self._without(starts[key], starts[items[0]], _DASH)
        for item, following in pairwise(items):
            yield from self._without(stops[item], starts[following], f"{self._next_line}{_DASH}")
        yield from self._without(stops[items[-1]], stops[value])
        yield from self._described(key, value, 0)

    def _block_list(self, key: Node, value: Node) -> Iterator[Edit]:
        """The items of a list move to where their key was."""
        document = self._document
        shift = self._column - document.column(document.starts[value])
        yield from self._without_key(key, self._after_colon(key))
        yield from self._described(key, value, shift)
        yield from self._shifted(document.starts[key], document.stops[value], shift)

    def _described(self, key: Node, value: Node, shift: int) -> Iterator[Edit]:
        """Give each item its type, and a name if only the key named it."""
        document = self._document
        items = document.items(value)
        for item in items:
            if not document.has(item, MAPPING):
                continue
            name, pairs = self._name_of(item), document.pairs(item)
            lines = self._lines(key, item, is_alone=len(items) == 1)
            if name is not None:
                yield _added_behind(document, name, item, lines, shift)
            elif document.has(item, FLOW):
                start = document.starts[pairs[0][0]] if pairs else self._opened(item)
                yield Edit(start, start, ", ".join([*lines, *([""] if pairs else [])]))
            else:
                start = document.starts[item]
                indent = document.line_break + " " * (document.column(start) + shift)
                yield Edit(start, start, "".join(f"{line}{indent}" for line in lines))

    def _name_of(self, item: Node) -> Node | None:
        """Return the value of an item's own name."""
        values, name = self._document.values, self._form.name_field
        return next((value for key, value in self._document.fields(item) if values[key] == name), None)

    def _lines(self, key: Node, item: Node, *, is_alone: bool) -> list[str]:
        """Return the fields that the key stands for."""
        word = self._document.text[self._document.starts[key] : self._document.stops[key]]
        names = [f"{self._form.name_field}: {word}"] if is_alone and self._name_of(item) is None else []
        return [*names, f"{self._form.key_field}: {word}"]

    def _without(self, start: int, stop: int, instead: str = "") -> Iterator[Edit]:
        """Remove the text between two nodes. A comment there stays, and the change will be refused."""
        if "#" not in self._document.text[start:stop]:
            yield Edit(start, stop, instead)

    def _without_key(self, key: Node, stop: int) -> Iterator[Edit]:
        """Remove a key, with its line unless there is a comment."""
        document, start = self._document, self._document.starts[key]
        line_stop = document.line_stop(stop)
        behind = document.text[stop:line_stop]
        if behind.strip():
            yield Edit(start, line_stop - len(behind.lstrip()), "")
        else:
            yield Edit(document.line_start(start), document.next_line(line_stop), "")

    def _shifted(self, start: int, stop: int, shift: int) -> Iterator[Edit]:
        """Move the lines that begin between two places, and the comments below them."""
        document = self._document
        lines = list(document.lines[document.line(start) + 1 : bisect_right(document.lines, stop - 1)])
        line = document.next_line(stop)
        while line < len(document.text) and self._is_own_comment(line):
            lines.append(line)
            line = document.next_line(line)
        for line in lines if shift else ():
            if shift < 0:
                yield Edit(line, line + min(-shift, len(indent_of(document, line))), "")
            elif document.line_stop(line) > line:
                yield Edit(line, line, " " * shift)

    def _is_own_comment(self, line: int) -> bool:
        indent = len(indent_of(self._document, line))
        return indent > self._column and self._document.text.startswith("#", line + indent)

    def _after_colon(self, key: Node) -> int:
        stop = self._document.stops[key]
        colon = _COLON.match(self._document.text, stop)
        return colon.end() if colon else stop


def _added_behind(document: Document, value: Node, mapping: Node, lines: Iterable[str], shift: int = 0) -> Edit:
    """Return the edit that adds fields to a mapping, behind a field of it with this value.

    `shift` is by how many columns other edits move the mapping to the right.
    """
    stop = document.stops[value]
    if document.has(mapping, FLOW):
        return Edit(stop, stop, "".join(f", {line}" for line in lines))
    indent = document.line_break + " " * (document.column(document.starts[mapping]) + shift)
    stop = document.line_stop(stop)
    return Edit(stop, stop, "".join(f"{indent}{line}" for line in lines))


# Types by their aliases, and references by a type's bare name, as normalizing reads them.


def name_instances(document: Document, written: ReadTree, normalized: ReadTree) -> Iterator[Change]:
    """Yield what puts the name of an adapter instance where its type stands for it (VAL-03, VAL-09)."""
    for each in message_nodes(document):
        for _, field, value in each.fields:
            if field.refers_to and field.is_scalar:
                word, meant = (_at(tree, each.path).get(field.name) for tree in (written, normalized))
                if isinstance(word, str) and isinstance(meant, str) and word != meant:
                    edits = tuple(_replaced(document, value, meant))
                    yield Change(edits, each.path.child(field.name), f"the reference {word}")


def resolve_aliases(
    document: Document, written: ReadTree, normalized: ReadTree, moved: Mapping[tuple[int, int], int]
) -> Iterator[Change]:
    """Yield what writes the types of an adapter instance and of its providers without aliases (NRM-03).

    What the alias says of the service becomes the label of the instance, so that the Node is told the same. A provider
    whose instance stands in another file keeps its alias: nobody can tell here whether that one has a label. `moved`
    has the providers that instances are written as, by the indexes of Node and instance.
    """
    where: dict[Path, list[MessageNode]] = {}
    for each in message_nodes(document):
        where.setdefault(each.path, []).append(each)
    for place, node in enumerate(_items_of(normalized, "nodes")):
        path = ROOT.child("nodes").index(place)
        if INVALID in (node.get("providers"), node.get("adapters")):
            continue
        running: dict[tuple[Any, Any], list[Path]] = {}
        for index, provider in enumerate(_items_of(node, "providers")):
            key = (provider.get("adapter"), provider.get("type"))
            if None not in key:
                running.setdefault(key, []).append(path.child("providers").index(index))
        for index, instance in enumerate(_items_of(node, "adapters")):
            origin = moved.get((place, index))
            own = path.child("adapters").index(index) if origin is None else path.child("providers").index(origin)
            users = running.get((instance.get("name"), instance.get("type")), [])
            change = _without_alias(document, written, instance, own, users, where)
            if change is not None:
                yield change


def _without_alias(
    document: Document,
    written: ReadTree,
    instance: ReadTree,
    own: Path,
    users: Iterable[Path],
    where: Mapping[Path, list[MessageNode]],
) -> Change | None:
    """Return what writes an instance, and the providers that use it, without aliases; None where there are none."""
    words = {path: _at(written, path).get("type") for path in dict.fromkeys([own, *users])}
    aliases = {path: word for path, word in words.items() if isinstance(word, str) and word in _TYPES.aliases}
    if not aliases:
        return None
    edits: list[Edit] = []
    for path, word in aliases.items():
        for each in where.get(path, ()):
            pair = each.find("type")
            edits += _replaced(document, pair[1], _TYPES.aliases[word]) if pair else ()
    label = instance.get("provider")
    if label is not None and "provider" not in _at(written, own):
        for each in where.get(own, ())[:1]:
            pair = each.find("type")
            edits += [_added_behind(document, pair[1], each.node, [f"provider: {label}"])] if pair else ()
    path, word = next(iter(aliases.items()))
    return Change(tuple(edits), path.child("type"), f"the type {word}")


def _items_of(tree: ReadTree, name: str) -> list[ReadTree]:
    """Return the messages of a list, an empty one in place of what could not be read."""
    items = tree.get(name, ())
    return [] if items is INVALID else [{} if item is INVALID else item for item in items]


def _at(tree: ReadTree, path: Path) -> ReadTree:
    """Return the message at a path, or an empty one where there is none."""
    value: Any = tree
    for step in path.steps():
        try:
            value = value[step.step]
        except (KeyError, IndexError, TypeError):
            return {}
    return value if isinstance(value, dict) else {}
