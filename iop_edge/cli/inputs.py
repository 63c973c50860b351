"""Arguments that several commands share."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from iop_edge.cli.exit_codes import UsageError

CONFIG_VARIABLE: Final = "IOP_EDGE_CONFIG"
ADMIN_VARIABLE: Final = "IOP_EDGE_ADMIN"
USUAL_PLACES: Final = ("edge.yaml", "/etc/iop-edge/edge.yaml")


_FILE_HELP: Final = (
    f"tracked files, '-' for standard input; without one: ${CONFIG_VARIABLE}, then {', then '.join(USUAL_PLACES)}"
)


def add_layers(parser: argparse.ArgumentParser, help: str = _FILE_HELP) -> None:  # noqa: A002 - argparse's own word
    """Add the files of one config; `help` says what happens without them."""
    parser.add_argument("files", nargs="*", metavar="FILE", help=help)
    add_private(parser)


def add_private(parser: argparse.ArgumentParser) -> None:
    """Add the private overlays."""
    parser.add_argument(
        "--private",
        action="append",
        default=[],
        metavar="FILE",
        help="a private overlay, the only place of raw secrets; may be given several times",
    )


def add_offline(parser: argparse.ArgumentParser) -> None:
    """Add the switch that leaves references alone."""
    parser.add_argument(
        "--offline", action="store_true", help="leave references unresolved, for a machine without secrets"
    )


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Add the choice of an output format; the first is the default."""
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"what to print (default: {formats[0]})")


def add_admin(parser: argparse.ArgumentParser) -> None:
    """Add the address of the Edge that is asked."""
    parser.add_argument(
        "--admin",
        metavar="ADDRESS",
        help=f"the admin address of the running Edge (default: ${ADMIN_VARIABLE}, then listen.admin's default)",
    )


def config_files(given: list[str], environ: Mapping[str, str]) -> list[str]:
    """Return the files of the config: those given, else the first of the usual places that there is.

    Raises:
        UsageError: none is given and there is none.
    """
    if given:
        return given
    named = environ.get(CONFIG_VARIABLE)
    if named:
        return [named]
    for place in USUAL_PLACES:
        if Path(place).exists():
            return [place]
    raise UsageError(f"no FILE: ${CONFIG_VARIABLE} is not set, and there is no {' and no '.join(USUAL_PLACES)}")


def admin_address(given: str | None, environ: Mapping[str, str]) -> str:
    """Return the admin address of the running Edge."""
    if given or environ.get(ADMIN_VARIABLE):
        return given or environ[ADMIN_VARIABLE]
    from iop_edge.schema import table

    return str(table.root().fields["listen"].message().fields["admin"].default)
