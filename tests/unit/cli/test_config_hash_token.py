import getpass
import hashlib
import io
import warnings
from collections.abc import Callable

import pytest
import yaml

from iop_edge.cli.console import Console
from iop_edge.cli.main import run
from tests.unit.cli.invoke import Invocation, Terminal, invoke
from tests.unit.config.loading import check

pytestmark = pytest.mark.contract("VAL-08", "CFG-08")

COMMAND = ("config", "hash-token")


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], str]) -> Invocation:
    """Run the command on a terminal where the question for the token ends like this."""
    monkeypatch.setattr(getpass, "getpass", ask)
    out, err = io.StringIO(), io.StringIO()
    code = run(COMMAND, Console(Terminal("not read"), out, err, {}))
    return Invocation(code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize("typed", ["s3cr3t", "s3cr3t\n", "s3cr3t\r\n"])
def test_entry_has_the_hash_and_not_the_token(typed: str) -> None:
    outcome = invoke(*COMMAND, "--token-ref", "ci", "--principal-ref", "team: a", stdin=typed)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        '- token_ref: "ci"\n'
        "  token_hash_sha256: 4e738ca5563c06cfd0018299933d58db1dd8bf97f6973dc99bf6cdc64b5550bd\n"
        '  principal_ref: "team: a"\n'
    )


@pytest.mark.parametrize(
    "names", [(), ("--token-ref", "a#b:'c'", "--principal-ref", 'é "x" $${env:A} ${'), ("--principal-ref", "yes")]
)
def test_entry_loads_as_it_is(names: tuple[str, ...]) -> None:
    entry = invoke(*COMMAND, *names, stdin="s3cr3t").out
    indented = "".join(f"    {line}\n" for line in entry.splitlines())
    report = check(f"edge: {{id: e}}\nopenai:\n  principal_tokens:\n{indented}")
    assert report.violations == ()


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "no token"),
        ("\n", "no token"),
        (" \n", "white space"),
        ("s3cr3t word\n", "white space"),
        (" s3cr3t\n", "white space"),
        ("s3cr3t\n\n", "white space"),
        ("s3cr3t\ts3cr3t", "white space"),
        ("s3cr3t\nanother\n", "one line"),
        ("s3cr3t\0", "control characters"),
        ("s3cr3t\u00a0", "white space"),
        ("s3cr3t" * 100_000, "white space"),
    ],
)
def test_what_is_no_token_is_refused_and_not_shown(typed: str, why: str) -> None:
    outcome = invoke(*COMMAND, stdin=typed)
    assert (outcome.code, outcome.out) == (2, "")
    assert why in outcome.err
    assert "s3cr3t" not in outcome.err


@pytest.mark.parametrize("option", [("--token-ref", "two words"), ("--token-ref", ""), ("--principal-ref", " ")])
def test_name_that_no_config_can_have_is_a_usage_error(option: tuple[str, str]) -> None:
    outcome = invoke(*COMMAND, *option, stdin="s3cr3t")
    assert (outcome.code, outcome.out) == (2, "")


def test_terminal_is_asked_without_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = on_a_terminal(monkeypatch, lambda _: "s3cr3t")
    assert (outcome.code, outcome.err) == (0, "")
    assert yaml.safe_load(outcome.out)[0]["token_hash_sha256"] == hashlib.sha256(b"s3cr3t").hexdigest()


def test_end_of_input_on_a_terminal_is_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_: str) -> str:
        raise EOFError

    assert on_a_terminal(monkeypatch, ended).code == 2


def test_terminal_that_would_show_the_token_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def echoing(_: str) -> str:
        warnings.warn("Can not control echo on the terminal.", getpass.GetPassWarning, stacklevel=2)
        return "s3cr3t"

    outcome = on_a_terminal(monkeypatch, echoing)
    assert (outcome.code, outcome.out) == (2, "")
    assert "pipe" in outcome.err
