"""Files in plain style are read as the decoder reads them; all others are left to it."""

import pytest

from bench.fleet import fleet
from iop_edge.config import plain
from iop_edge.config.decode import decode
from iop_edge.config.plain import IS_READ, read_plain
from iop_edge.config.source import Limits, Source
from iop_edge.schema.values import Sourced
from tests.support import EXAMPLES

_EDGE = "edge:\n  id: e\n"

is_read = pytest.mark.skipif(not IS_READ, reason="the regular expressions of this Python cannot read plain style")

PLAIN = {
    "comments and blank lines": "# a\n\nedge: # b\n  # c\n  id: e # d\n   \n",
    "carriage returns": "edge:\r\n  id: e\r\n  # c\r\n",
    "a byte order mark": "\ufeffedge:\n  id: e\n",
    "a document's start": "# a\n---\nedge:\n  id: e\n",
    "no line break at the end": "edge:\n  id: e",
    "more spaces than needed": "edge:\n       id:   e   \n",
    "a flow mapping": "edge: {id: e, name: 'a b'}\n",
    "empty collections": "edge: {id: e}\nmodels: []\nopenai: {}\n",
    "double quotes": 'edge:\n  id: "e"\n  name: "yes # no: [1]"\n',
    "single quotes": "edge:\n  id: 'e'\n  name: 'a \"b\" \\ c'\n",
    "an empty text": 'edge:\n  id: e\n  name: ""\n',
    "text beyond ASCII": 'edge: # 서울\n  id: e\n  name: "서울 \U0001f600"\n',
    "text with colons and spaces": "edge:\n  id: e\n  name: a:b c:d -e (f) ?\n",
    "words of YAML 1.1": "edge:\n  id: yes\n  name: off\n",
    "a number in quotes": 'edge:\n  id: "1.10"\n',
    "an address": _EDGE + "listen:\n  grpc: 127.0.0.1:7400\n",
    "numbers and bools": _EDGE + "long_context_threshold_tokens: +7\nmetrics:\n  enabled: TRUE\n",
    "a list in the column of its key": "models:\n- id: m\n  display_name: M\n- id: n\n" + _EDGE,
    "a list that is indented": "models:\n    -   id: m\n        display_name: M\n    -   id: n\n" + _EDGE,
    "a list of texts": "openai:\n  provider_auth:\n    providers:\n      - a\n      - 'b'\n" + _EDGE,
    "a flow list": "openai:\n  provider_auth:\n    providers: [a, 'b',  \"1\"]\n" + _EDGE,
    "a scalar for a message": "models:\n  - id: m\n    providers: [a, b]\n" + _EDGE,
    "scalars as items for messages": "models:\n  - id: m\n    providers:\n      - a\n      - id: b\n" + _EDGE,
    "flow mappings as items": "models:\n  - id: m\n    providers:\n      - {id: a, target: t}\n" + _EDGE,
    "a map": "models:\n  - id: m\n    usage_attribution:\n      a_b: c d\n      yes: no\n" + _EDGE,
    "a flow list with spaces and a comma at its end": "models:\n  - id: m\n    providers: [ a ,  b ,]\n" + _EDGE,
    "a flow map": "nodes:\n  - id: n\n    adapters:\n      - name: a\n        headers: {X-A: b, y: 'n'}\n",
    "references": (
        "nodes:\n  - id: ${env:A}\n    token: Bearer ${file:a b}\n    alias: '$$'\n    address: \"${env:B:-c}\"\n"
    ),
}

OTHER = {
    "an unknown key": "edge:\n  id: e\n  nope: 1\n",
    "a legacy key": "nodes:\n  - id: n\n    shell: sh\n",
    "a duplicate key": "edge:\n  id: e\n  id: f\n",
    "a duplicate in a flow mapping": "edge: {id: e, id: f}\n",
    "a duplicate header in another case": (
        "nodes:\n  - id: n\n    adapters:\n      - name: a\n        headers:\n          X-A: b\n          x-a: c\n"
    ),
    "a duplicate key far apart": "edge:\n  id: e\nmodels: []\nedge:\n  id: e\n",
    "a null": "edge:\n  id: e\n  name: ~\n",
    "a value that is missing": "edge:\n  id: e\n  name:\n",
    "a section that is missing": "edge:\nmodels: []\n",
    "a null in a list": "openai:\n  provider_auth:\n    providers: [a, null]\n",
    "a null in a map": "nodes:\n  - id: n\n    adapters:\n      - name: a\n        headers:\n          X-A:\n",
    "a null key": "nodes:\n  - id: n\n    adapters:\n      - name: a\n        headers: {null: b}\n",
    "an anchor": "edge: &a\n  id: e\n",
    "an alias": "edge:\n  id: *a\n",
    "a tag": "edge:\n  id: !!str e\n",
    "a block scalar": "edge:\n  id: |\n    e\n",
    "a scalar over two lines": "edge:\n  id: e\n   f\n",
    "an escape": 'edge:\n  id: "\\x41"\n',
    "a quote in quotes": "edge:\n  id: 'it''s'\n",
    "a mapping in a flow list": "models:\n  - id: m\n    providers: [id: a]\n" + _EDGE,
    "an item in a flow mapping": "edge: {id: e, name}\n",
    "an empty item in a flow list": "models:\n  - id: m\n    providers: [a, , b]\n" + _EDGE,
    "a comment in a flow list": "models:\n  - id: m\n    providers: [a, #b]\n" + _EDGE,
    "a flow mapping over two lines": "edge: {id: e,\n  name: f}\n",
    "a flow mapping in another": "edge: {id: e}\nopenai: {provider_auth: {enabled: true}}\n",
    "a tab": "edge:\n\tid: e\n",
    "a tab before a comment": "edge:\n  id: e\t# c\n",
    "a comment without a space": 'edge:\n  id: "e"#c\n',
    "a second document": _EDGE + "---\n" + _EDGE,
    "a directive": "%YAML 1.1\n---\n" + _EDGE,
    "the end of a document": _EDGE + "...\n",
    "a column that is not open": "edge:\n    id: e\n  name: f\n",
    "a column below a scalar": "edge:\n  id: e\n    name: f\n",
    "an item in a mapping": "edge:\n  id: e\n  - f\n",
    "a list where a mapping belongs": "edge:\n  - id: e\n",
    "a mapping where a list belongs": "nodes:\n  id: n\n",
    "a scalar where a mapping belongs": "edge: e\n",
    "a mapping where a scalar belongs": "edge:\n  id: {a: b}\n",
    "a list at the top": "- edge\n",
    "an indented top": "  edge:\n    id: e\n",
    "an empty file": "",
    "only comments": "# a\n",
    "a number for a text": "edge:\n  id: 1.10\n",
    "a bool for a text": "edge:\n  id: e\n  name: true\n",
    "a text for a number": "long_context_threshold_tokens: '7'\n",
    "a number out of range": "long_context_threshold_tokens: 99999999999\n",
    "no word of an enum": "logging:\n  level: loud\n",
    "a redacted value": 'nodes:\n  - id: n\n    token: "<redacted>"\n',
    "an empty item": "models:\n  -\n    id: m\n",
    "a list in a list": "models:\n  - - id: m\n",
    "adapters by their types": "nodes:\n  - id: n\n    adapters:\n      ollama: {base_url: 'http://a'}\n",
    "a home for anchors": "x-a: 1\n" + _EDGE,
    "a line separator in a comment": "edge: # a\u2028  id: e\n  name: f\n",
    "a next line in quotes": 'edge:\n  id: "a\x85b"\n',
    "a control character in a comment": "edge: # \x07\n  id: e\n",
    "a byte order mark in a comment": "edge: # \ufeff\n  id: e\n",
    "bytes that are no UTF-8": b"edge: # \xff\n  id: e\n",
    "a very long line": f"edge:\n  id: {'e' * 10_000}\n",
}


def _source(text: str | bytes) -> Source:
    return Source("edge.yaml", text if isinstance(text, bytes) else text.encode(), base_dir="conf")


@is_read
@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_plain_style_is_read_as_the_decoder_reads_it(text: str) -> None:
    decoded = decode(_source(text))
    assert decoded.findings == []
    tree = read_plain(_source(text))
    assert tree == decoded.tree
    assert repr(tree) == repr(decoded.tree)


@is_read
@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_any_other_style_is_left_to_the_decoder(text: str | bytes) -> None:
    assert read_plain(_source(text)) is None


@is_read
@pytest.mark.parametrize("text", [(EXAMPLES / "edge.yaml").read_text(), fleet(3)], ids=["example", "fleet"])
def test_configs_as_people_write_them_are_plain(text: str) -> None:
    tree = read_plain(_source(text))
    assert tree is not None
    assert repr(tree) == repr(decode(_source(text)).tree)


@is_read
@pytest.mark.contract("CFG-06")
def test_reference_keeps_the_directory_of_its_file() -> None:
    tree = read_plain(_source("nodes:\n  - id: n\n    token: ${file:t}\n"))
    assert tree is not None
    token = tree["nodes"][0]["token"]
    assert isinstance(token, Sourced)
    assert (token.reference, token.base_dir) == ("${file:t}", "conf")


@is_read
@pytest.mark.contract("CFG-10")
def test_file_over_the_limit_is_left_to_the_decoder() -> None:
    assert read_plain(_source(_EDGE), Limits(max_bytes=5)) is None


def test_a_python_that_cannot_read_plain_style_leaves_every_file_to_the_decoder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plain, "IS_READ", False)
    assert read_plain(_source(_EDGE)) is None
