"""What is left of a secret that ends early may read as keys, which are not shown then."""

import pytest

from iop_edge.cli.console import PLAIN
from iop_edge.cli.render.report import report_text
from iop_edge.config import excerpt
from iop_edge.config.pipeline import check_sources
from iop_edge.config.source import Source
from iop_edge.errors import MAX_LISTED
from iop_edge.schema.table import Message

_NODE = "edge: {{id: e}}\nnodes:\n  - id: n\n    address: 127.0.0.1:1\n    {}\n"
_ADAPTER = "adapters:\n      - name: a\n        type: ollama\n        base_url: {}\n        headers: {}\n{}"


def _told(text: str, *, private: bool = True) -> str:
    return report_text(check_sources([Source("e.yaml", text.encode(), private=private)], None), PLAIN, ok=False)


def _adapter(rest: str, url: str = "http://a", headers: str = "{Authorization: abc}") -> str:
    return _ADAPTER.format(url, headers, rest)


LEFT_OVER = [
    pytest.param("token: abc\n    s3cr3t: x", id="behind a plain scalar"),
    pytest.param("token: 'abc\n    def'\n    s3cr3t: x", id="behind quotes over two lines"),
    pytest.param("token: |\n      abc\n    s3cr3t: x", id="behind a block that ends early"),
    pytest.param("token: |\n      abc\ns3cr3t: x", id="at the margin"),
    pytest.param("token: abc\n\n    # why\n    s3cr3t: x", id="behind an empty line and a comment"),
    pytest.param("token: abc\n    s3cr3t: x\n    more-s3cr3t: y\n    s3cr3t+2/a=: z", id="several lines"),
    pytest.param("token: abc\n    tokn: b\n    s3cr3t: x", id="behind a slip"),
    pytest.param("token: |\n      abc\nx-s3cr3t: a\ns3cr3t: x", id="behind a key that is ignored"),
    pytest.param("token:\n    s3cr3t: x", id="behind a value in another line"),
    pytest.param("token: {abc: d, s3cr3t: x}\n    s3cr3t: x", id="behind braces"),
    pytest.param("token: &t abc\n    s3cr3t: x", id="behind an anchor"),
    pytest.param("token: a1b2c3 ${env:A}\n    s3cr3t: x", id="behind text and a reference"),
    pytest.param("tls:\n      ca: '${file:ca}'\n      key: |\n        -----BEGIN\n      s3cr3t: x", id="in a PEM text"),
    pytest.param(
        "tls:\n      key: |\n        -----BEGIN\n    s3cr3t: x\n  s3cr3t: y\ns3cr3t: z", id="below a PEM text"
    ),
    pytest.param(_adapter("        s3cr3t: x"), id="behind a header"),
    pytest.param(_adapter("s3cr3t: x", headers="{X-Tenant: a, Authorization: ''}"), id="behind headers, at the margin"),
    pytest.param(_adapter("        s3cr3t: x", headers=""), id="behind headers in other lines"),
    pytest.param(
        "adapters:\n      - name: a\n        type: ollama\n        base_url: 'http://u:p@h'\n        s3cr3t: x",
        id="behind a URL with a password",
    ),
    pytest.param("tokken: |\n      abc\n    s3cr3t: x", id="behind a slip for a secret's key"),
    pytest.param("api_key: abc\n    s3cr3t: x", id="behind an unknown key that is named like a credential's"),
    pytest.param("alias: n\nconsole:\n  token: abc\n  s3cr3t: x", id="behind a secret under the wrong parent"),
]


@pytest.mark.contract("CFG-04", "CFG-08")
@pytest.mark.parametrize("private", [True, False], ids=["private", "tracked"])
@pytest.mark.parametrize("fields", LEFT_OVER)
def test_unknown_key_behind_a_secret_is_not_shown(fields: str, private: bool) -> None:
    told = _told(_NODE.format(fields), private=private)
    assert "field.unknown" in told
    assert "s3cr3t" not in told


@pytest.mark.contract("CFG-01")
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param("token: ${env:TOKEN}\n    nope: x", id="behind a reference"),
        pytest.param("token: abc\n    alias: b\n    nope: x", id="behind another key"),
        pytest.param("tls: {key: abc, server_name: a}\n    nope: x", id="behind a key of what holds the secret"),
        pytest.param("tokken: ${env:TOKEN}\n    nope: x", id="behind a slip for a secret's key with a reference"),
        pytest.param("colour: abc\n    nope: x", id="behind another unknown key"),
        pytest.param("api_keys: {a: b}\n    nope: x", id="behind a mapping that is named like a credential"),
        pytest.param(_adapter("        nope: x", headers="{X-Tenant: a}"), id="behind a harmless header"),
        pytest.param(_adapter("        nope: x", headers="{A: '${env:A}'}"), id="behind a header that is a reference"),
        pytest.param(_adapter("", headers="{A: '${env:A}'}") + "\nnope: x", id="at the top level"),
    ],
)
def test_unknown_key_behind_anything_else_is_shown(fields: str) -> None:
    assert 'there is no field "nope" here' in _told(_NODE.format(fields))


@pytest.mark.contract("CFG-01")
@pytest.mark.parametrize("key", ["adress", "alais", "base_url", "args"])
def test_slip_behind_a_secret_is_shown(key: str) -> None:
    assert f"{key}: " in _told(_NODE.format(f"token: abc\n    {key}: x"))


@pytest.mark.contract("CFG-10")
def test_only_keys_that_are_listed_are_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()

    def may_hold_value(_: Message, name: str) -> bool:
        asked.add(name)
        return True

    monkeypatch.setattr(excerpt, "may_hold_value", may_hold_value)
    keys = "".join(f"\n    k{number}: x" for number in range(2 * MAX_LISTED))
    report = check_sources([Source("e.yaml", _NODE.format(f"token: abc{keys}").encode(), private=True)], None)
    assert (report.total, len(report.violations)) == (2 * MAX_LISTED, MAX_LISTED)
    assert len(asked) == MAX_LISTED
