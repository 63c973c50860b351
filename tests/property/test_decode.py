"""What holds for the decoder whatever it is given."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.config.decode import decode
from iop_edge.config.events import DEFAULT_PARSER, PYTHON_PARSER
from iop_edge.config.excerpt import Disclosure
from iop_edge.config.nodes import compose
from iop_edge.config.positions import Positions
from iop_edge.config.source import Source
from iop_edge.errors import Span
from iop_edge.schema import table
from iop_edge.schema.table import INT_RANGES, Field, Kind, Message
from iop_edge.schema.values import REDACTED

_PIECES = st.sampled_from(
    [
        *"{}[]:,-?&*!|>'\"#%@`~$ \n\t\r<\\",
        *(
            "edge",
            "nodes",
            "models",
            "providers",
            "adapters",
            "headers",
            "id",
            "token",
            "health",
            "command",
            "x-a",
            "nope",
        ),
        *(": ", "- ", "\n  ", "\n    ", "? ", "<<: ", "*a", "&a ", "!!str ", "---\n", "...\n", "~", "null", "yes"),
        *("1.10", "0x1", "7", "${env:A}", "$$", "\ufeff", "\x00", "\u2028", "서울", "\U0001f600", "a: {b: [c", "}]"),
    ]
)
_YAML_LIKE = st.lists(_PIECES, max_size=40).map("".join)

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=12).filter(
    lambda text: "$" not in text and text != REDACTED and "\ufeff" not in text and text.isprintable()
)


def _scalars(field: Field) -> st.SearchStrategy[Any]:
    if field.kind is Kind.BOOL:
        return st.booleans()
    if field.kind is Kind.ENUM:
        return st.sampled_from([*field.enum().words, *field.enum().aliases])
    if field.kind.is_integer:
        return st.integers(*INT_RANGES[field.kind.value])
    return _TEXT


def _values(field: Field) -> st.SearchStrategy[Any]:
    if field.kind is Kind.MAP:
        return st.dictionaries(_TEXT, _TEXT, max_size=3).filter(
            lambda keys: len({key.lower() for key in keys}) == len(keys)
        )
    one = _trees(field.message()) if field.kind is Kind.MESSAGE else _scalars(field)
    return st.lists(one, max_size=3) if field.repeated else one


def _trees(message: Message) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {}, optional={name: st.deferred(_lazy(field)) for name, field in message.fields.items()}
    )


def _lazy(field: Field) -> Any:
    return lambda: _values(field)


@pytest.mark.contract("CFG-10")
@given(st.one_of(_YAML_LIKE.map(str.encode), st.binary(max_size=60)), st.booleans())
def test_any_bytes_give_a_tree_or_findings_that_can_be_shown(data: bytes, private: bool) -> None:
    source = Source("edge.yaml", data, private=private)
    for parser in (DEFAULT_PARSER, PYTHON_PARSER):
        outcome = decode(source, parser=parser)
        assert (outcome.tree is None) <= bool(outcome.findings)
        assert outcome.total == len(outcome.findings)
        places = [(finding.line, finding.column) for finding in outcome.findings]
        assert places == sorted(places)
        spans = [Span("edge.yaml", line, column) for line, column in places]
        document = compose(source, parser=parser)
        shown = Disclosure(document).excerpts(spans)
        assert all(excerpt.text.isprintable() and excerpt.caret >= 0 for excerpt in shown.values())
        positions = Positions(document, "edge.yaml")
        assert all(positions.of_value(finding.path).line >= 1 for finding in outcome.findings)


@pytest.mark.contract("CFG-04")
@given(st.one_of(_YAML_LIKE.map(str.encode), st.binary(max_size=60)))
def test_same_bytes_give_the_same_findings(data: bytes) -> None:
    source = Source("edge.yaml", data)
    assert decode(source).findings == decode(source).findings


@given(_trees(table.root()))
def test_tree_that_is_written_as_json_is_read_as_it_is(tree: dict[str, Any]) -> None:
    outcome = decode(Source("edge.yaml", json.dumps(tree, ensure_ascii=False).encode()))
    assert outcome.findings == []
    assert outcome.tree == tree
