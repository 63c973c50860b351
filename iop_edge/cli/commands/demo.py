"""Show an Edge and three Nodes at work on this machine: push, dry run, apply, restart required, rejected, status.

They are real processes on free loopback ports, with the example config that comes with iop-edge. Every step is checked
to be what is said of it; nothing is left behind.

Exit code 0: every step did what it shows; 4: one did not.
"""

import argparse
import asyncio

from iop_edge.cli.console import Console
from iop_edge.cli.demo.story import tell_story
from iop_edge.cli.exit_codes import ExitCode
from iop_edge.cli.running import until_stopped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments: there are none."""


def run(arguments: argparse.Namespace, console: Console) -> ExitCode:  # noqa: ARG001 - every command has this form
    """Tell the story."""
    if not asyncio.run(until_stopped(tell_story(console.result, console.environ))):
        raise KeyboardInterrupt
    return ExitCode.FINE
