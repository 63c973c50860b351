"""What a command is: a function, its arguments and its exit code. Also the arguments that several commands share."""

import argparse
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeVar

from iop_edge.cli.console import Console, Style
from iop_edge.documents import document

CONFIG_VARIABLE: Final = "IOP_EDGE_CONFIG"
ADMIN_VARIABLE: Final = "IOP_EDGE_ADMIN"
DEFAULT_FILES: Final = ("edge.yaml", "/etc/iop-edge/edge.yaml")

_MOST_DIGITS: Final = 15

_T = TypeVar("_T")


class ExitCode(IntEnum):
    """How a command ended, for scripts; `meaning` is what `--help` says."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Make a member of its code and meaning."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    FINE = 0, "fine: valid, applied, no difference"
    REJECTED = 1, "rejected, or violations"
    USAGE = 2, "wrong arguments"
    RESTART_REQUIRED = 3, "restart required"
    FAULT = 4, "the Edge cannot be reached, or the system or the program failed"
    LIVE_CHANGES = 10, "config diff: live changes only"


RESULT_CODES: Final[Mapping[str, ExitCode]] = {
    "applied": ExitCode.FINE,
    "restart_required": ExitCode.RESTART_REQUIRED,
    "rejected": ExitCode.REJECTED,
}
"""Exit codes by the status of a refresh result."""


class UsageError(Exception):
    """Wrong arguments that the parser alone cannot detect."""

    def __init__(self, message: str, *hints: str) -> None:
        super().__init__("; ".join((message, *filter(None, hints))))


Argument = Callable[[argparse.ArgumentParser], object]
Run = Callable[[argparse.Namespace, Console], ExitCode]


class _Parser(argparse.ArgumentParser):
    """Raises usage errors, which the command then reports like all others."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\nsee {self.prog} --help")


@dataclass(frozen=True, slots=True)
class Command:
    """A function that runs a command, with its arguments. The function's docstring is the description in `--help`."""

    run: Run
    arguments: tuple[Argument, ...]

    def parser(self, name: str) -> argparse.ArgumentParser:
        """Return the parser of the arguments; `name` is what the user types."""
        parser = _Parser(
            prog=f"iop-edge {name}",
            description=inspect.cleandoc(self.run.__doc__ or ""),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        for add_to in self.arguments:
            add_to(parser)
        return parser


def command(*arguments: Argument) -> Callable[[Run], Command]:
    """Turn a function into a command with these arguments."""
    return lambda run: Command(run, arguments)


def argument(*names: str, **settings: Any) -> Argument:
    """Declare an argument in the terms of argparse."""
    return lambda parser: parser.add_argument(*names, **settings)


PRIVATE: Final = argument(
    "--private",
    action="append",
    default=[],
    metavar="FILE",
    help="a private overlay, the only file that may hold raw secrets; may be repeated",
)
OFFLINE: Final = argument(
    "--offline", action="store_true", help="leave references unresolved, for a machine without the secrets"
)


def _positive(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")


MAX_BYTES: Final = argument(
    "--max-bytes", type=_positive, metavar="N", help="the largest config file that is read, in bytes (default: 256 MiB)"
)
ADMIN: Final = argument(
    "--admin",
    metavar="ADDRESS",
    help=f"the admin address of the running Edge (default: ${ADMIN_VARIABLE}, then the default of listen.admin)",
)


def layers(without: str = f"default: ${CONFIG_VARIABLE}, then {', then '.join(DEFAULT_FILES)}") -> Argument:
    """Declare the files of a config; `without` says what happens when none is given."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "files", nargs="*", metavar="FILE", help=f"tracked config files, '-' for standard input; {without}"
        )
        PRIVATE(parser)

    return add


def formats(*names: str) -> Argument:
    """Declare the output formats; the first is the default."""
    return argument("--format", choices=names, default=names[0], help=f"the output format (default: {names[0]})")


def show(value: _T, text: Callable[[_T, Style], str], form: str, console: Console) -> None:
    """Print a result as a JSON document, or as text for people."""
    if form == "json":
        console.document(document(value))
    else:
        console.result(text(value, console.style))


def config_files(given: list[str], environ: Mapping[str, str]) -> list[str]:
    """Return the config files: those given, else that of the environment, else the first default that exists.

    Raises:
        UsageError: there is none.
    """
    if given:
        return given
    named = environ.get(CONFIG_VARIABLE)
    if named:
        return [named]
    for path in DEFAULT_FILES:
        if Path(path).exists():
            return [path]
    raise UsageError(f"no FILE: ${CONFIG_VARIABLE} is not set, and neither {' nor '.join(DEFAULT_FILES)} exists")


def admin_address(given: str | None, environ: Mapping[str, str]) -> str:
    """Return the admin address of the running Edge."""
    if address := given or environ.get(ADMIN_VARIABLE):
        return address
    from iop_edge.schema import table

    return str(table.root().fields["listen"].message().fields["admin"].default)
