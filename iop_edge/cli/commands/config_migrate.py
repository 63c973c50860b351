"""Turn a file with keys and spellings of old releases into the current shape, and print it.

The text is edited where it has to be; all else stays as it is, with its comments. What an adapter mapping, another
spelling of a key, an alias of a type or a bare type name stands for is written out; a key that was removed leaves a
comment. A FILE that holds secrets is printed without them: --write keeps them.

What could not be carried over goes to standard error, with its place in FILE, and so does what is wrong with the
result. A tracked FILE is checked as the only one of a config, its references unresolved.

Exit code 0: all was carried over, and the result is valid; 1: it was not, or is not.
"""

import argparse
import stat
from pathlib import Path

from iop_edge.cli.console import Console
from iop_edge.cli.exit_codes import ExitCode, UsageError
from iop_edge.cli.render.report import report_text, violation_lines
from iop_edge.cli.render.text import counted
from iop_edge.cli.whole_file import write_whole
from iop_edge.config import files
from iop_edge.config.migrate.migration import Migration, migrate
from iop_edge.config.migrate.shown import shown
from iop_edge.config.source import Source


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="FILE", help="the file, '-' for standard input")
    parser.add_argument("--write", action="store_true", help="write the result to FILE instead of printing it")
    parser.add_argument(
        "--private", action="store_true", help="FILE is a private overlay: no whole config, and it may hold raw secrets"
    )


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:
    """Migrate the file, print or write it, and say what could not be carried over."""
    if arguments.write and arguments.file == files.STDIN:
        raise UsageError("config migrate: --write needs a FILE that is no standard input")
    tracked, private = ([], [arguments.file]) if arguments.private else ([arguments.file], [])
    migration = migrate(files.read_sources(tracked, private)[0])
    hidden = 0
    if arguments.write:
        _write(Path(arguments.file), migration)
    elif migration.is_readable:
        hidden = _print(migration.source, console)
    _tell(migration, console)
    return ExitCode.FINE if migration.is_complete and not hidden else ExitCode.REJECTED


def _write(path: Path, migration: Migration) -> None:
    if migration.is_changed:
        # Behind a symbolic link, so that the link stays one.
        target = path.resolve()
        write_whole(target, migration.source.data, stat.S_IMODE(target.stat().st_mode))


def _print(source: Source, console: Console) -> int:
    printed = shown(source)
    console.result(printed.text)
    if printed.hidden:
        values = counted(printed.hidden, "value")
        console.note(f"iop-edge: {values} printed as <redacted>: what may be a secret is not shown; --write keeps it")
    return printed.hidden


def _tell(migration: Migration, console: Console) -> None:
    style = console.note_style
    if migration.lost:
        lines = [*violation_lines(migration.lost, migration.excerpts, style)]
        unlisted = migration.lost_total - len(migration.lost)
        lines += [f"... and {unlisted} more"] if unlisted else []
        console.note("\n".join(["iop-edge: not carried over, by its place in the old text:", *lines]))
    if not migration.report.ok:
        heading = "the result is not valid, by its own lines" if migration.is_readable else "the file cannot be read"
        console.note(f"iop-edge: {heading}:\n{report_text(migration.report, style, ok=False)}")
