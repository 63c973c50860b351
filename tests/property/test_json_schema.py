"""The JSON Schema accepts every text that the loader accepts in a field of a certain form."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from iop_edge.schema import table
from iop_edge.schema.formats import FORMATS
from iop_edge.schema.json_schema import json_schema

SCHEMA = json_schema()

_PIECES = st.sampled_from(
    [
        "http",
        "HTTPS",
        "://",
        "unix:",
        ":",
        "/",
        "[::1]",
        "127.0.0.1",
        "80",
        "a",
        "é",
        "٣",
        " ",
        "\t",
        "\n",
        "?",
        "$",
        "_",
        "0f",
    ]
)
_TEXTS = st.one_of(
    st.text(max_size=8),
    st.lists(_PIECES, max_size=6).map("".join),
    st.text("0123456789abcdefABCDEF", min_size=64, max_size=64),
)


def _fields_of_each_form() -> dict[str, table.Leaf]:
    return {
        leaf.field.format: leaf for leaf in table.leaves() if leaf.field.format and leaf.field.kind is table.Kind.STRING
    }


@pytest.mark.parametrize("leaf", _fields_of_each_form().values(), ids=lambda leaf: leaf.field.format)
def test_a_text_that_the_loader_accepts_fits_the_schema(leaf: table.Leaf) -> None:
    form = FORMATS[leaf.field.format]
    owner = SCHEMA if leaf.owner is table.root() else SCHEMA["$defs"][leaf.owner.name]
    schema = owner["properties"][leaf.field.name]
    validator = Draft202012Validator(schema.get("items", schema))

    @given(_TEXTS)
    @example("HTTP://[::1]:80/a?b")
    @example("unix:a")
    @example("[::1]:7")
    @example("")
    def accepts(text: str) -> None:
        if "$" not in text and not form.fault(text):
            assert validator.is_valid(text)

    accepts()
