"""How the tests of the decoder call it, with both parsers."""

from typing import Final

import pytest

from iop_edge.config.decode import decode
from iop_edge.config.events import DEFAULT_PARSER, PYTHON_PARSER, ParserFactory
from iop_edge.config.excerpt import Disclosure
from iop_edge.config.findings import Finding
from iop_edge.config.nodes import compose
from iop_edge.config.source import DEFAULT_LIMITS, Decoded, Limits, Source
from iop_edge.schema.values import Tree

PARSERS: Final[dict[str, ParserFactory]] = {"c": DEFAULT_PARSER, "python": PYTHON_PARSER}

both_parsers = pytest.mark.parametrize("parser", PARSERS.values(), ids=PARSERS)

Found = list[tuple[str, str, int, int]]
"""Findings as tests compare them: rule, path, line, column."""


def decoded(
    text: str | bytes,
    parser: ParserFactory = DEFAULT_PARSER,
    *,
    private: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Decoded:
    """Decode a text."""
    data = text if isinstance(text, bytes) else text.encode()
    return decode(Source("edge.yaml", data, private=private, base_dir="conf"), limits, parser)


def tree(text: str | bytes, parser: ParserFactory = DEFAULT_PARSER, *, private: bool = False) -> Tree:
    """Return the tree of a text that has no fault."""
    outcome = decoded(text, parser, private=private)
    assert not outcome.findings
    assert outcome.tree is not None
    return outcome.tree


def found(
    text: str | bytes,
    parser: ParserFactory = DEFAULT_PARSER,
    *,
    private: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Found:
    """Return the findings of a text."""
    outcome = decoded(text, parser, private=private, limits=limits)
    return [(item.rule, str(item.path), item.line, item.column) for item in outcome.findings]


def disclosed(text: str, parser: ParserFactory = DEFAULT_PARSER) -> list[Finding]:
    """Return the findings of a text as a report shows them."""
    source = Source("edge.yaml", text.encode())
    return Disclosure(compose(source, parser=parser)).findings(decode(source, parser=parser).findings)
