"""The entry of the command: finds the command, runs it, and turns every outcome into an exit code.

Nothing heavy is imported here: `iop-edge --help` loads neither gRPC nor the generated messages.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Sequence
from typing import Final, NoReturn, Protocol, cast

from iop_edge.cli import registry
from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.errors import ConfigError, EdgeError

INTERRUPTED: Final = 130
"""The exit code of a command that the user stopped, as shells have it."""

TRACEBACK_VARIABLE: Final = "IOP_EDGE_TRACEBACK"

_EXIT_CODES: Final = """\
exit codes:
  0   fine: valid, applied, no difference
  1   rejected, or violations
  2   called in a wrong way
  3   restart required
  4   the Edge cannot be reached, or a fault of the system or the program
  10  config diff: live changes only
"""


class _CommandModule(Protocol):
    """What each module of `iop_edge.cli.commands` has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace, console: Console) -> ExitCode: ...


class _Parser(argparse.ArgumentParser):
    """Reports a usage error as the command reports all faults: argparse would write to standard error by itself."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\nsee {self.prog} --help")


def entry() -> NoReturn:
    """Run the command of this process and exit with its code."""
    console = Console.of_process()
    code = run(sys.argv[1:], console)
    console.settle()
    sys.exit(code)


def run(argv: Sequence[str], console: Console) -> int:
    """Run a command and return its exit code. No outcome is an exception, and no traceback is shown unasked."""
    try:
        return _dispatch(argv, console)
    except SystemExit as stop:
        # From argparse, which has said what there is to say.
        return stop.code if isinstance(stop.code, int) else ExitCode.FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as fault:  # noqa: BLE001 - the last resort of the process; it hides nothing
        return _conclude(fault, console)


def _conclude(fault: Exception, console: Console) -> ExitCode:
    """Say why a command ended early, and return the exit code for it."""
    match fault:
        case UsageError():
            console.note(f"iop-edge: {fault}")
            return ExitCode.USAGE
        case ConfigError():
            from iop_edge.cli.render.report import report_text

            console.note(report_text(fault.report, console.note_style, ok=False))
            return ExitCode.REJECTED
        case EdgeError():
            console.note(f"iop-edge: {fault}")
        case OSError() if fault.strerror:
            place = f"{fault.filename}: " if fault.filename else ""
            console.note(f"iop-edge: {place}{fault.strerror}")
        case _:
            console.note(_internal(fault, console.environ.get(TRACEBACK_VARIABLE, "")))
    return ExitCode.FAULT


def _dispatch(argv: Sequence[str], console: Console) -> int:
    selection = registry.select(argv)
    if selection.command is not None:
        return _run_command(selection.command, selection.rest, console)
    option = selection.rest[0] if selection.rest else ""
    if option == "--version" and not selection.words:
        from importlib.metadata import version

        console.result(f"iop-edge {version('iop_edge')}")
        return ExitCode.FINE
    if option in ("-h", "--help"):
        console.result(_group_help(selection.words))
        return ExitCode.FINE
    if option:
        raise UsageError(f"no option {option} before a command; see iop-edge --help")
    console.note(_group_help(selection.words))
    return ExitCode.USAGE


def _run_command(command: registry.Command, argv: Sequence[str], console: Console) -> int:
    module = importlib.import_module(command.module)
    parser = _Parser(
        prog=f"iop-edge {command.name}",
        description=inspect.cleandoc(module.__doc__ or command.summary),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    implementation = cast("_CommandModule", module)
    implementation.add_arguments(parser)
    return implementation.run(parser.parse_intermixed_args(argv), console)


def _group_help(words: tuple[str, ...]) -> str:
    prefix = " ".join(("iop-edge", *words))
    commands = list(registry.below(words))
    width = max(len(command.name) for command in commands)
    listed = "".join(f"  {command.name:{width}}  {command.summary}\n" for command in commands)
    return f"usage: {prefix} COMMAND [--help] ...\n\n{listed}\n{_EXIT_CODES}"


def _internal(fault: Exception, wants_traceback: str) -> str:
    """Name a fault by its type and place: its text could quote a config, and a config holds secrets (CFG-08)."""
    import traceback

    frames = traceback.extract_tb(fault.__traceback__)
    line = f"iop-edge: internal fault: {type(fault).__name__} at {frames[-1].filename}:{frames[-1].lineno}"
    if wants_traceback:
        return f"{''.join(traceback.format_list(frames))}{line}"
    return f"{line} ({TRACEBACK_VARIABLE}=1 shows the way there)"
