"""The entry of the command: finds the command, runs it, and turns every outcome into an exit code.

Only words and summaries of commands are here: `--help` imports no command, neither gRPC nor the generated messages.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, NoReturn

from iop_edge.cli.command import Command, ExitCode, UsageError
from iop_edge.cli.console import Console
from iop_edge.errors import ConfigError, EdgeError

INTERRUPTED: Final = 130
"""The exit code of a command that the user interrupted, by the convention of shells."""

TRACEBACK_VARIABLE: Final = "IOP_EDGE_TRACEBACK"


class Entry(NamedTuple):
    """A command in the list: the words that call it, the module of its function, and a summary for `--help`."""

    words: tuple[str, ...]
    module: str
    summary: str

    @property
    def name(self) -> str:
        """The words as a person types them."""
        return " ".join(self.words)

    def load(self) -> Command:
        """Import the command."""
        module = importlib.import_module(f"iop_edge.cli.commands.{self.module}")
        found: Command = getattr(module, "_".join(self.words).replace("-", "_"))
        return found


COMMANDS: Final = (
    Entry(("config", "check"), "configs", "check a config and list everything that is wrong with it"),
    Entry(("config", "show"), "configs", "print a config in its normalized form, without secrets"),
    Entry(("config", "diff"), "configs", "compare two configs, and tell what the changes cost"),
    Entry(("config", "explain"), "authoring", "describe a field: type, default, constraints, refresh class"),
    Entry(("config", "schema"), "authoring", "print the JSON Schema for editors"),
    Entry(("config", "export"), "configs", "write a config as protobuf, with its secrets, for Go services"),
    Entry(("config", "init"), "authoring", "write a small config to start from"),
    Entry(("config", "migrate"), "authoring", "turn a file of an old release into the current shape"),
    Entry(("config", "hash-token"), "authoring", "make a principal_tokens entry from a token"),
    Entry(("config", "refresh"), "edge", "propose a config to the running Edge: dry run or apply"),
    Entry(("config", "confirm"), "edge", "keep a revision that would otherwise be reverted"),
    Entry(("config", "history"), "edge", "list past attempts to change the running config"),
    Entry(("config", "rollback"), "edge", "go back to the config of an old revision"),
    Entry(("serve",), "run", "run an Edge"),
    Entry(("status",), "edge", "show the state of the running Edge"),
    Entry(("explain-dispatch",), "dispatch", "explain which provider a new request would get or wait for"),
    Entry(("node", "run"), "run", "run a reference Node"),
    Entry(("node", "payload"), "configs", "print what the Edge would push to a Node, without secrets"),
    Entry(("demo",), "demo", "one Edge and three Nodes on this machine: push, dry run, apply, status"),
)


class Selection(NamedTuple):
    """What the first words of a command line name: a command, or a group of commands."""

    words: tuple[str, ...]
    entry: Entry | None
    rest: Sequence[str]


def entry() -> NoReturn:
    """Run the command of this process and exit with its code."""
    console = Console.of_process()
    code = run(sys.argv[1:], console)
    console.settle()
    sys.exit(code)


def run(argv: Sequence[str], console: Console) -> int:
    """Run a command and return its exit code. It never raises, and shows a traceback only on demand."""
    try:
        return _dispatch(argv, console)
    except SystemExit as stop:
        # argparse has already printed why.
        return stop.code if isinstance(stop.code, int) else ExitCode.FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as fault:  # noqa: BLE001 - the last resort of the process; it hides nothing
        return _conclude(fault, console)


def _conclude(fault: Exception, console: Console) -> ExitCode:
    """Print why a command failed, and return its exit code."""
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
    words, chosen, rest = select(argv)
    if chosen is not None:
        command = chosen.load()
        return command.run(command.parser(chosen.name).parse_intermixed_args(rest), console)
    option = rest[0] if rest else ""
    if option == "--version" and not words:
        from importlib.metadata import version

        console.result(f"iop-edge {version('iop_edge')}")
        return ExitCode.FINE
    if option in ("-h", "--help"):
        console.result(_group_help(words))
        return ExitCode.FINE
    if option:
        raise UsageError(f"no option {option} before a command; see iop-edge --help")
    console.note(_group_help(words))
    return ExitCode.USAGE


def below(words: tuple[str, ...]) -> Iterator[Entry]:
    """Yield the commands that begin with these words."""
    return (entry for entry in COMMANDS if entry.words[: len(words)] == words)


def select(argv: Sequence[str]) -> Selection:
    """Find the command that the arguments begin with; an option ends the search.

    Raises:
        UsageError: there is no such command.
    """
    words: tuple[str, ...] = ()
    for position, word in enumerate(argv):
        if word.startswith("-"):
            return Selection(words, None, argv[position:])
        candidates = sorted({entry.words[len(words)] for entry in below(words)})
        if word not in candidates:
            from iop_edge.cli.render.text import did_you_mean

            hint = did_you_mean(word, candidates) or f"there are: {', '.join(candidates)}"
            raise UsageError(f"no command {' '.join((*words, word))!r}", hint)
        words = (*words, word)
        found = next((entry for entry in below(words) if entry.words == words), None)
        if found is not None:
            return Selection(words, found, argv[position + 1 :])
    return Selection(words, None, ())


def _group_help(words: tuple[str, ...]) -> str:
    prefix = " ".join(("iop-edge", *words))
    listed = list(below(words))
    width = max(len(entry.name) for entry in listed)
    lines = "".join(f"  {entry.name:{width}}  {entry.summary}\n" for entry in listed)
    codes = "".join(f"  {code:<2}  {code.meaning}\n" for code in ExitCode)
    return f"usage: {prefix} COMMAND [--help] ...\n\n{lines}\nexit codes:\n{codes}"


def _internal(fault: Exception, wants_traceback: str) -> str:
    """Name a fault by its type and place only: its text could quote a config, and a config holds secrets (CFG-08)."""
    import traceback

    frames = traceback.extract_tb(fault.__traceback__)
    line = f"iop-edge: internal fault: {type(fault).__name__} at {frames[-1].filename}:{frames[-1].lineno}"
    if wants_traceback:
        return f"{''.join(traceback.format_list(frames))}{line}"
    return f"{line} (set {TRACEBACK_VARIABLE}=1 for a traceback)"
