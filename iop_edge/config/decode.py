"""Decodes one file into a tree, straight from the parser's events against the field table (CFG-01 to CFG-04).

Alternative spellings are resolved as they pass: other names of a key, a scalar in place of a message, a mapping in
place of a list. What comes out has one shape, with the values of the file as they are written: nothing is merged,
resolved or filled in.
"""

from collections.abc import Callable

from yaml.error import YAMLError
from yaml.events import MappingStartEvent, ScalarEvent, StreamEndEvent

from iop_edge.config.decoded import Decoded
from iop_edge.config.events import Event, EventReader
from iop_edge.config.findings import Findings, StopReading
from iop_edge.config.messages import MessageReader
from iop_edge.config.parsers import DEFAULT_PARSER, ParserFactory
from iop_edge.config.scalars import is_null
from iop_edge.config.source import DEFAULT_LIMITS, Limits, Source
from iop_edge.config.syntax import check_bytes, report_syntax_error
from iop_edge.config.texts import TextPosition, without_bom
from iop_edge.config.values import hint_of_space
from iop_edge.schema import table
from iop_edge.schema.values import Tree


def decode(source: Source, limits: Limits = DEFAULT_LIMITS, parser: ParserFactory = DEFAULT_PARSER) -> Decoded:
    """Decode a file. Whatever is in it, the outcome is a tree or findings, in bounded time and memory (CFG-10)."""
    findings = Findings()
    tree = read_document(source, findings, limits, parser, Decoder)
    return Decoded(source, tree, findings.in_order(), findings.total)


class Decoder(MessageReader):
    """Decodes one file."""

    def document(self) -> Tree:
        """Return the tree of the file.

        Raises:
            StopReading: the file cannot be read to its end.
            YAMLError: it is no YAML.
        """
        next_event = self.events.next
        next_event()
        start = next_event()
        if start.__class__ is StreamEndEvent:
            raise self.findings.stop("yaml.empty", None, TextPosition(0, 0), "the file is empty")
        if start.version or start.tags:
            self.findings.add("yaml.directive", None, start.start_mark, "directives are not allowed")
        event = next_event()
        tree = self._root(event)
        next_event()
        end = next_event()
        if end.__class__ is not StreamEndEvent:
            self.findings.add("yaml.documents", None, end.start_mark, "a file holds one document; another begins here")
        return tree

    def _root(self, event: Event) -> Tree:
        if event.anchor is not None:
            with self.events.replaying(self.events.record(event, None)) as first:
                return self._root(first)
        if event.tag is not None:
            self.refuse_tag(event, None)
        if event.__class__ is MappingStartEvent:
            return self.tree(self.plan_of(table.root().name), None)
        if event.__class__ is ScalarEvent and is_null(event.value, event.style):
            raise self.findings.stop("yaml.empty", None, TextPosition(0, 0), "the file is empty")
        raise self.findings.stop("yaml.root", None, event.start_mark, "a config is a mapping", hint_of_space(event))


def read_document(
    source: Source,
    findings: Findings,
    limits: Limits,
    parser: ParserFactory,
    decoder: Callable[[Source, EventReader, Findings], Decoder],
) -> Tree | None:
    """Return the tree that a decoder reads of a file, or None where it cannot be read to its end."""
    try:
        check_bytes(source, limits, findings)
        events = EventReader(parser(without_bom(source.data)).get_event, findings, limits)
        return decoder(source, events, findings).document()
    except StopReading:
        return None
    except YAMLError as error:
        report_syntax_error(error, source, findings)
        return None
