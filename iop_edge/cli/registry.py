"""Which commands there are.

Only words and summaries stand here, so that `--help` imports no command.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from iop_edge.cli.exit_codes import UsageError


class Command(NamedTuple):
    """A command: the words that call it, and what it does in a few words."""

    words: tuple[str, ...]
    summary: str

    @property
    def name(self) -> str:
        """The words as a person types them."""
        return " ".join(self.words)

    @property
    def module(self) -> str:
        """The module that carries it out."""
        return f"iop_edge.cli.commands.{'_'.join(self.words).replace('-', '_')}"


COMMANDS: Final = (
    Command(("config", "check"), "say whether a config is valid, and all that is wrong with it"),
    Command(("config", "show"), "print a config in its normalized form, without secrets"),
    Command(("config", "diff"), "say what differs between two configs, and what it costs"),
    Command(("config", "explain"), "describe a field: type, default, constraints, refresh class"),
    Command(("config", "schema"), "print the JSON Schema for editors"),
    Command(("config", "export"), "write a config as protobuf, with its secrets, for Go services"),
    Command(("config", "init"), "write a small starting config"),
    Command(("config", "migrate"), "turn a file of an old release into the current shape"),
    Command(("config", "hash-token"), "make a principal_tokens entry from a token"),
    Command(("config", "refresh"), "propose a config to the running Edge: dry run or apply"),
    Command(("config", "confirm"), "keep a revision that would be reverted otherwise"),
    Command(("config", "history"), "list what was tried on the running Edge"),
    Command(("config", "rollback"), "go back to the config of an old revision"),
    Command(("serve",), "run an Edge"),
    Command(("status",), "say what the running Edge runs"),
    Command(("explain-dispatch",), "say which provider a new request would get, or wait for, and why"),
    Command(("node", "run"), "run a reference Node"),
    Command(("node", "payload"), "print what the Edge would push to a Node, without secrets"),
    Command(("demo",), "one Edge and three Nodes on this machine: push, dry run, apply, status"),
)


class Selection(NamedTuple):
    """What the first words of a command line name: a command, or a group of commands that begin with the same words."""

    words: tuple[str, ...]
    command: Command | None
    rest: Sequence[str]


def below(words: tuple[str, ...]) -> Iterator[Command]:
    """Yield the commands that begin with these words."""
    return (command for command in COMMANDS if command.words[: len(words)] == words)


def select(argv: Sequence[str]) -> Selection:
    """Find the command that the arguments begin with; an option or the end of the arguments ends the search.

    Raises:
        UsageError: there is no such command.
    """
    words: tuple[str, ...] = ()
    for position, word in enumerate(argv):
        if word.startswith("-"):
            return Selection(words, None, argv[position:])
        candidates = sorted({command.words[len(words)] for command in below(words)})
        if word not in candidates:
            raise UsageError(_unknown(words, word, candidates))
        words = (*words, word)
        command = next((command for command in below(words) if command.words == words), None)
        if command is not None:
            return Selection(words, command, argv[position + 1 :])
    return Selection(words, None, ())


def _unknown(words: tuple[str, ...], word: str, candidates: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, candidates, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(candidates)}"
    return f"no command {' '.join((*words, word))!r}; {hint}"
