"""Edits of a file's text by its nodes, and the texts that commands make with them.

Nothing is ever written out from a tree, so that comments, order, quotes and line breaks stay as they are.
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from iop_edge.config.excerpt import SecretSpill
from iop_edge.config.mappings import is_ignored, known_keys
from iop_edge.config.nodes import ALIAS, ANCHORED, FLOW, KEY, MAPPING, SCALAR, SEQUENCE, TAGGED, Document, Node, compose
from iop_edge.config.roles import Roles
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.schema import table
from iop_edge.schema.explain import explain
from iop_edge.schema.formats import has_format
from iop_edge.schema.paths import ROOT, Path
from iop_edge.schema.redact import is_misplaced, is_secret, reveals
from iop_edge.schema.references import holds_reference
from iop_edge.schema.table import Field, Message
from iop_edge.schema.values import REDACTED

_WIDTH: Final = 100
_ANCHOR: Final = re.compile(r"&\S*[ \t]*")


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Puts a text in place of the characters from `start` up to `stop`; nothing is replaced where they are equal."""

    start: int
    stop: int
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Change:
    """Edits that are made together or not at all. They change what stands at `path`; `what` names it for people."""

    edits: tuple[Edit, ...]
    path: Path
    what: str


def edited(text: str, edits: Iterable[Edit]) -> str | None:
    """Return the text with all edits made, or None where two of them disagree.

    The same edit twice is one edit: what aliases bring to several places of a config is written, and changed, once.
    Edits at one offset are made in their order.
    """
    pieces: list[str] = []
    position = 0
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.stop)):
        if edit.start < position:
            return None
        pieces += text[position : edit.start], edit.text
        position = edit.stop
    return "".join([*pieces, text[position:]])


@dataclass(frozen=True, slots=True)
class MessageNode:
    """A mapping that is read as a message, or merged into one, at a path of the decoded tree.

    One mapping is several of these where aliases bring it to several paths.
    """

    document: Document
    node: Node
    message: Message
    path: Path

    @property
    def is_flow(self) -> bool:
        """Whether the mapping is written in flow style."""
        return self.document.has(self.node, FLOW)

    @property
    def keys(self) -> "Iterator[tuple[Node, str, Node]]":
        """The keys of the mapping, each with its text and its value."""
        return ((key, self.document.values[key], value) for key, value in self.document.fields(self.node))

    @property
    def fields(self) -> "Iterator[tuple[Node, Field, Node]]":
        """The keys that spell fields, each with its field and its value."""
        spelled = self.message.keys
        return ((key, spelled[name], value) for key, name, value in self.keys if name in spelled)

    def find(self, name: str) -> "tuple[Node, Node] | None":
        """Return the key and the value of a field, in whatever spelling."""
        return next(((key, value) for key, spelled, value in self.fields if spelled.name == name), None)


def message_nodes(document: Document) -> Iterator[MessageNode]:
    """Yield every mapping of a file that is read as a message, a message before those in it."""
    return _message(document, 0, table.root(), ROOT)


def _message(document: Document, node: Node, message: Message, path: Path) -> Iterator[MessageNode]:
    mapping = document.target(node)
    if mapping is None or not document.has(mapping, MAPPING):
        return
    here = MessageNode(document, mapping, message, path)
    yield here
    for _, below, value in here.fields:
        if below.is_message:
            yield from _message(document, value, below.message(), path.child(below.name))
        elif below.is_message_list:
            for index, item in enumerate(_items(document, value, below)):
                yield from _message(document, item, below.message(), path.child(below.name).index(index))
    for merged in document.merged(mapping):
        yield from _message(document, merged, message, path)


def _items(document: Document, value: Node, owner: Field) -> Sequence[Node]:
    node = document.target(value)
    if node is None or document.has(node, SEQUENCE):
        return () if node is None else document.items(node)
    is_form = document.has(node, MAPPING) and owner.mapping_form is not None and owner.mapping_form.name_field
    return [item for _, entry in document.fields(node) for item in document.items(entry)] if is_form else ()


def documented(text: str) -> str:
    """Return a valid config with a comment above the first appearance of each field in block style."""
    document = compose(Source("", text.encode()))
    told: set[str] = set()
    edits: list[Edit] = []
    for each in message_nodes(document):
        for key, of_field, _ in each.fields if not each.is_flow else ():
            line = document.line_start(document.starts[key])
            comment = _comment(each.path.child(of_field.name), document, line)
            if comment not in told:
                told.add(comment)
                edits.append(Edit(line, line, comment))
    return edited(text, edits) or text


def _comment(path: Path, document: Document, line: int) -> str:
    """Return the comment for a field, indented as its line is."""
    explanation = explain(str(path))
    words = f" One of: {', '.join(word.word for word in explanation.words)}." if explanation.words else ""
    indent = indent_of(document, line)
    wrapped = textwrap.wrap(explanation.doc + words, _WIDTH - len(indent))
    return "".join(f"{indent}# {each}{document.line_break}" for each in wrapped)


def indent_of(document: Document, line: int) -> str:
    """Return the spaces with which the line at an offset begins."""
    text = document.text[line : document.line_stop(line)]
    return " " * (len(text) - len(text.lstrip(" ")))


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text of a file without its secrets, and how many of its values are hidden."""

    text: str = field(repr=False)
    hidden: int


def redacted(source: Source, limits: Limits = DEFAULT_LIMITS) -> Redacted:
    """Return the text of a file with `<redacted>` for each value that may be a secret (CFG-08).

    What the loader reads no value of, as behind an unknown key or in a second document, may be one, and so may what a
    secret is read as that was not quoted: keys, a tag, an alias or an anchor. Comments are the writer's own.
    """
    document = compose(source, limits)
    if not (document.has(0, MAPPING) if document.values else document.read_to is None):
        return Redacted(f"{json.dumps(REDACTED)}{document.line_break}", 1)
    secrets = _Secrets(document)
    edits: list[Edit] = []
    if document.values and secrets.has_idle_anchor(0):
        edits.append(Edit(document.starts[0], _behind_anchor(document, 0), ""))
    for key, value in document.pairs(0) if document.values else ():
        is_passed_over = is_ignored(document.values[key])
        node, end = key, document.ends[value]
        while node < end:
            start = secrets.start(node, is_passed_over=is_passed_over)
            if start is not None:
                edits.append(Edit(start, document.stops[node], json.dumps(REDACTED)))
            elif secrets.has_idle_anchor(node):
                edits.append(Edit(document.starts[node], _behind_anchor(document, node), ""))
            node = document.ends[node] if document.has(node, TAGGED) else node + 1
    if document.values and document.read_to is not None:
        edits.append(Edit(document.read_to, len(document.text), f" {json.dumps(REDACTED)}{document.line_break}"))
    return Redacted(edited(document.text, edits) or "", len(edits))


class _Secrets:
    """Tells which parts of a file may be secrets."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._roles = Roles(document)
        self._spill = SecretSpill(document, self._roles)
        self._aliased = frozenset(document.anchors.values())

    def start(self, node: Node, *, is_passed_over: bool) -> int | None:
        """Return where the part of a node begins that must not be shown, or None; it ends where the node does.

        A node that is passed over stands below a key that the loader ignores.
        """
        document = self._document
        is_named = document.has(node, ANCHORED) and not self.has_idle_anchor(node)
        if document.has(node, TAGGED):
            is_hidden = True
        elif document.has(node, ALIAS):
            is_hidden = node not in document.anchors
        elif not document.has(node, SCALAR):
            return None
        elif document.is_null(node):
            is_hidden = document.has(node, ANCHORED) and not is_named
        elif document.has(node, KEY) and not self._has_run_in(node):
            is_hidden = self._is_secret_key(node, is_passed_over=is_passed_over)
        else:
            text, reads = document.values[node], self._roles.reads(node)
            is_hidden = any(_may_be_secret(*read, text) for read in reads) or not (reads or is_passed_over)
        if not is_hidden:
            return None
        return _behind_anchor(document, node) if is_named else document.starts[node]

    def has_idle_anchor(self, node: Node) -> bool:
        """Tell whether a node has an anchor that no alias names."""
        return self._document.has(node, ANCHORED) and node not in self._aliased

    def _has_run_in(self, key: Node) -> bool:
        """Tell whether what looks like a key may have run into its value."""
        value = self._document.value_of(key)
        return value is not None and ":" in self._document.values[key] and self._document.is_null(value)

    def _is_secret_key(self, key: Node, *, is_passed_over: bool) -> bool:
        document = self._document
        if is_passed_over or document.is_merge_key(key) or document.values[key] in known_keys():
            return False
        return not self._roles.take_keys(document.parents[key]) or self._spill.holds(key)


def _may_be_secret(of_field: Field, map_key: str, text: str) -> bool:
    if holds_reference(text):
        return reveals(of_field, text, map_key)
    is_no_hash = of_field.masked and not has_format(of_field.format, text)
    return is_no_hash or is_secret(of_field, text, map_key) or is_misplaced(of_field, text)


def _behind_anchor(document: Document, node: Node) -> int:
    """Return where a node begins behind its anchor."""
    match = _ANCHOR.match(document.text, document.starts[node], document.stops[node])
    return match.end() if match else document.starts[node]
