"""The reader of plain style never sees in a file what the decoder does not."""

from typing import Final

import yaml
from hypothesis import given
from hypothesis import strategies as st

from iop_edge.config.decode import decode
from iop_edge.config.plain import read_plain
from iop_edge.config.source import Source
from tests.property.configs import valid_config
from tests.support import EXAMPLES

_LINES: Final = tuple(
    line
    for name in ("edge.yaml", "edge.private.yaml", "edge.legacy.yaml")
    for line in (EXAMPLES / name).read_text().splitlines()
)
_MARKS: Final = (
    *"{}[]:,-?&*!|>'\"#%@`~$ \t\r\n\\=.<",
    *("- ", ": ", " #", "\n  ", "\r\n", "null", "yes", "true", "1", "0x1", "1.5", "-1", "''", '""', "[]", "{}"),
    *(
        "${env:A}",
        "$$",
        "<redacted>",
        "<<: ",
        "*a",
        "&a ",
        "---\n",
        "...\n",
        "\x85",
        "\u2028",
        "\ufeff",
        "서울",
        "\xa0",
    ),
)


@st.composite
def _parts_of_examples(draw: st.DrawFn) -> str:
    """Lines of the examples, some in another place or column."""
    begin = draw(st.integers(0, len(_LINES) - 1))
    lines = list(_LINES[: begin % 40] if draw(st.booleans()) else _LINES[begin : begin + 30])
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(lines)))
        lines.insert(place, " " * draw(st.integers(0, 10)) + draw(st.sampled_from(_LINES)).lstrip())
    return "\n".join(lines)


@st.composite
def _written(draw: st.DrawFn) -> str:
    """A valid config as PyYAML writes it, in one style or another."""
    return yaml.safe_dump(
        draw(valid_config()),
        default_flow_style=draw(st.sampled_from([None, False])),
        allow_unicode=True,
        sort_keys=False,
        indent=draw(st.integers(2, 6)),
        width=draw(st.sampled_from([20, 1000])),
    )


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    """A text with something put in or taken out."""
    text = draw(st.one_of(_parts_of_examples(), _written()))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(_MARKS)) + text[place + draw(st.integers(0, 2)) :]
    return text


@st.composite
def _lined(draw: st.DrawFn) -> str:
    """Lines of a few keys in any column."""
    key = st.sampled_from(["edge:", "models:", "- id:", "id:", "name:", "providers:", "health:", "usage_attribution:"])
    value = st.sampled_from(["", " a", ' "b"', " [c, d]", " {id: e}", " {}", " []", " 7", " 'f' # g", " h: i", "j"])
    lines = st.tuples(st.integers(0, 4), key, value).map(lambda line: "  " * line[0] + line[1] + line[2])
    return "\n".join(["edge:", *draw(st.lists(lines, max_size=5))])


@given(st.one_of(_damaged(), _lined()), st.booleans())
def test_what_is_read_is_what_the_decoder_reads(text: str, private: bool) -> None:
    source = Source("edge.yaml", text.encode(), private=private)
    tree = read_plain(source)
    if tree is not None:
        decoded = decode(source)
        assert decoded.findings == []
        assert repr(tree) == repr(decoded.tree)
