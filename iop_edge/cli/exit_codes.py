"""The exit codes of the command."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script can tell from how the command ends."""

    FINE = 0
    """It is done: valid, applied, or without a difference."""

    REJECTED = 1
    """The config is not valid, or the refresh is refused."""

    USAGE = 2
    """The command was called in a wrong way."""

    RESTART_REQUIRED = 3
    """Something in the candidate needs a restart of the Edge."""

    FAULT = 4
    """The Edge could not be reached, or the system or the program itself failed."""

    LIVE_CHANGES = 10
    """`config diff` alone: there are differences, and all are live."""


class UsageError(Exception):
    """The command was called in a wrong way that its parser alone could not see."""
