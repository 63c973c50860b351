import importlib
import importlib.metadata
import types
from collections.abc import Callable

import pytest

from iop_edge.cli import main
from iop_edge.cli.command import Command, ExitCode, UsageError
from iop_edge.errors import ConfigError, EdgeError, Report, Span, Violation
from tests.unit.cli.invoke import invoke


@pytest.fixture
def command_raises(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Puts a command in place of `status` that raises."""

    def install(fault: BaseException) -> None:
        def raise_it(*_: object) -> ExitCode:
            raise fault

        module = types.SimpleNamespace(status=Command(raise_it, ()))
        monkeypatch.setattr(importlib, "import_module", lambda _: module)

    return install


@pytest.mark.parametrize("argv", [("--help",), ("-h",), ("config", "--help"), ("node", "-h")])
def test_help_lists_the_commands_and_is_fine(argv: tuple[str, ...]) -> None:
    outcome = invoke(*argv)
    assert outcome.code == ExitCode.FINE
    listed = [command.name in outcome.out for command in main.below(tuple(word for word in argv if word[0] != "-"))]
    assert listed
    assert all(listed)


def test_version_is_that_of_the_package() -> None:
    outcome = invoke("--version")
    assert outcome.code == ExitCode.FINE
    assert outcome.out == f"iop-edge {importlib.metadata.version('iop_edge')}\n"


@pytest.mark.parametrize("argv", [(), ("config",)])
def test_without_a_command_help_goes_to_standard_error(argv: tuple[str, ...]) -> None:
    outcome = invoke(*argv)
    assert (outcome.code, outcome.out) == (ExitCode.USAGE, "")
    assert "config check" in outcome.err


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("confg",), "did you mean config?"),
        (("config", "chekc"), "did you mean check?"),
        (("config", "zzz"), "there are: check, confirm"),
        (("--loud", "status"), "--loud"),
    ],
)
def test_unknown_command_is_a_usage_error_with_a_hint(argv: tuple[str, ...], expected: str) -> None:
    outcome = invoke(*argv)
    assert outcome.code == ExitCode.USAGE
    assert expected in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    "argv",
    [
        ("config", "check", "--format", "xml"),
        ("config", "check", "--nonsense"),
        ("config", "check", "--off"),
        ("config", "diff", "only-one.yaml"),
        ("config", "export"),
        ("config", "refresh", "--expected-revision", "-1"),
        ("config", "refresh", "--private", "p.yaml"),
        ("config", "rollback"),
        ("config", "rollback", "x"),
        ("config", "rollback", str(2**64)),
        ("config", "rollback", f"{'0' * 20}{2**64}"),
        ("config", "history", "--limit", "0"),
        ("node", "run", "--id", "n"),
        ("node", "payload"),
    ],
)
def test_wrong_arguments_are_a_usage_error(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    outcome = invoke(*argv)
    assert outcome.code == ExitCode.USAGE
    assert outcome.out == ""
    assert outcome.err or capsys.readouterr().err


@pytest.mark.contract("REF-05")
@pytest.mark.parametrize("command", [("config", "refresh"), ("config", "rollback", "1")])
def test_mode_that_there_is_not_is_a_usage_error(command: tuple[str, ...]) -> None:
    outcome = invoke(*command, "--mode", "maybe")
    assert outcome.code == ExitCode.USAGE
    assert "dry-run" in outcome.err


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (UsageError("no FILE"), ExitCode.USAGE, "iop-edge: no FILE\n"),
        (EdgeError("cannot reach the Edge"), ExitCode.FAULT, "iop-edge: cannot reach the Edge\n"),
        (PermissionError(13, "Permission denied", "out"), ExitCode.FAULT, "iop-edge: out: Permission denied\n"),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit(2), ExitCode.USAGE, ""),
    ],
)
def test_fault_becomes_one_line_and_its_exit_code(
    command_raises: Callable[[BaseException], None], fault: BaseException, code: int, said: str
) -> None:
    command_raises(fault)
    outcome = invoke("status")
    assert (outcome.code, outcome.out, outcome.err) == (code, "", said)


def test_invalid_config_is_reported_on_standard_error_where_it_is_no_result(
    command_raises: Callable[[BaseException], None],
) -> None:
    violation = Violation("value.gte", "nodes[0].capacity", Span("edge.yaml", 3, 5), "must be >= 1, got 0")
    command_raises(ConfigError(Report(violations=(violation,), total=1)))
    outcome = invoke("status")
    assert (outcome.code, outcome.out) == (ExitCode.REJECTED, "")
    assert outcome.err.startswith("edge.yaml:3:5: nodes[0].capacity: must be >= 1, got 0 [value.gte]\n")


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize("environ", [{}, {"IOP_EDGE_TRACEBACK": "1"}])
def test_internal_fault_shows_its_type_and_place_but_never_its_text(
    command_raises: Callable[[BaseException], None], environ: dict[str, str]
) -> None:
    command_raises(ValueError("invalid literal: 's3cr3t'"))
    outcome = invoke("status", environ=environ)
    assert outcome.code == ExitCode.FAULT
    assert "internal fault: ValueError at " in outcome.err
    assert "s3cr3t" not in outcome.err


def test_internal_fault_shows_no_traceback_unasked(command_raises: Callable[[BaseException], None]) -> None:
    command_raises(RuntimeError())
    assert invoke("status").err.count("\n") == 1
    assert "in raise_it" in invoke("status", environ={"IOP_EDGE_TRACEBACK": "1"}).err


@pytest.mark.parametrize("entry", main.COMMANDS, ids=lambda entry: entry.name)
def test_every_command_describes_itself(entry: main.Entry, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(*entry.words, "--help").code == ExitCode.FINE
    shown = capsys.readouterr().out
    description = entry.load().run.__doc__
    assert description
    assert description.strip().splitlines()[0] in shown
