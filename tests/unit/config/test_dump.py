"""A dump is a config: redacted, and read again by the same loader (NRM-07)."""

from typing import Any

import pytest

from iop_edge.config import files
from iop_edge.config.decode import decode
from iop_edge.config.events import C_PARSER, PYTHON_PARSER
from iop_edge.config.snapshot import Snapshot
from iop_edge.config.source import Source
from tests.support import EXAMPLES
from tests.unit.config.loading import BASE, World, check, load, rules

ENV = {
    "IOP_NODE_OLD_TOKEN": "t",
    "IOP_NODE_GPU_A_TOKEN": "t",
    "IOP_NODE_GPU_B_TOKEN": "t",
    "IOP_NODE_RELAY_TOKEN": "t",
    "IOP_CLOUD_AUTH": "t",
    "IOP_GATEWAY_AUTH": "t",
}


@pytest.mark.contract("NRM-07")
@pytest.mark.parametrize("name", ["edge.yaml", "edge.legacy.yaml"])
def test_dump_loads_to_the_same_config_and_dump(name: str) -> None:
    first = files.load(EXAMPLES / name, env=ENV)
    second = load(first.dump(), world=World(ENV))
    assert second == first
    assert second.dump() == first.dump()
    assert second.digest(b"key") == first.digest(b"key")


@pytest.mark.contract("NRM-07")
@pytest.mark.contract("CFG-08")
def test_dump_of_a_raw_secret_is_refused_when_it_is_loaded() -> None:
    first = load(BASE, private=("nodes: [{id: n, token: hush}]",))
    report = check(first.dump())
    assert "hush" not in first.dump()
    assert rules(report) == ["value.redacted"]


TEXTS = [
    "plain",
    "",
    " ",
    "a b",
    "a: b",
    "a:b",
    ":a",
    "a:",
    "a #b",
    "#a",
    "- a",
    "-",
    "?",
    "[a]",
    "{a: b}",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a`",
    "|",
    ">",
    "'",
    '"',
    "\\",
    "a\\nb",
    "true",
    "Yes",
    "no",
    "null",
    "~",
    "1",
    "1.10",
    "0x1F",
    "1e3",
    ".inf",
    "12:30:45",
    "2024-01-02",
    "=",
    "<<",
    "a\nb",
    "a\r\nb",
    "\ttab",
    "tab\t",
    "\u0085",
    "\u2028",
    "\ufeffa",
    "\u00a0",
    "\u202e",
    "\x7f",
    "\x1b[31m",
    "é",
    "\U0001f600",
    "\ue000",
    "${env:X}",
    "$${x}",
    "$",
    "$$",
    "a$b",
    "x" * 5000,
    "---",
    "...",
    "https://h.test/a?b=c#d",
]


def with_text(text: str) -> Snapshot:
    """The small config with a text in a field, in a list, and in a map, also as its key where it may be one."""
    tree: dict[str, Any] = dict(load(BASE).tree)
    attribution = {"k": text} if "${" in text else {"k": text, text: "v"}
    tree["models"] = [{**tree["models"][0], "display_name": text, "usage_attribution": attribution}]
    return Snapshot(tree)


@pytest.mark.contract("NRM-07")
@pytest.mark.case("Y8")
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_any_text_survives(text: str) -> None:
    snapshot = with_text(text)
    assert load(snapshot.dump()) == snapshot


@pytest.mark.contract("NRM-07")
@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_both_parsers_read_any_text_alike(text: str) -> None:
    source = Source("dump", with_text(text).dump().encode())
    by_c, by_python = (decode(source, parser=parser) for parser in (C_PARSER, PYTHON_PARSER) if parser is not None)
    assert by_c.tree is not None
    assert by_c == by_python


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_dump_holds_nothing_that_a_terminal_would_obey(text: str) -> None:
    assert with_text(text).dump().replace("\n", "").isprintable()


@pytest.mark.contract("REF-11")
def test_dump_for_history_has_absolute_files_and_no_secret() -> None:
    tracked = BASE.replace("- id: n\n", "- id: n\n    token: '${file:token}'\n", 1)
    overlay = "nodes: [{id: n, adapters: [{name: a, headers: {Authorization: hush}}]}]"
    snapshot = load(tracked, private=(overlay,), world=World(files={("/dir1", "token"): "t"}))
    dumped = snapshot.dump_for_history()
    assert 'token: "${file:/dir1/token}"' in dumped
    assert "hush" not in dumped
    assert 'token: "${file:token}"' in snapshot.dump()


@pytest.mark.contract("CFG-08")
def test_value_from_a_reference_is_dumped_as_the_reference() -> None:
    text = BASE.replace("models: [m]}", 'models: [m, "${env:M}"], capacity: "${env:C}"}')
    snapshot = load(text, world=World({"M": "k", "C": "4"}))
    assert 'models: [m, "${env:M}"]' in snapshot.dump()
    assert 'capacity: "${env:C}"' in snapshot.dump()
