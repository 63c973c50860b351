"""What an Edge starts with when its own files cannot be used, and somebody has asked for that (REF-10)."""

import logging
from contextlib import closing
from pathlib import Path
from typing import Final

from iop_edge.config.files import FileResolver
from iop_edge.config.snapshot import Snapshot
from iop_edge.edge.restore import present_secrets, restore
from iop_edge.errors import ConfigError, Report
from iop_edge.serve.own_files import OwnFiles
from iop_edge.store.sqlite import SqliteStore

_LOG: Final = logging.getLogger(__name__)
_MOST_LOGGED: Final = 20


def last_good(state_dir: Path, files: OwnFiles, found: Report) -> Snapshot:
    """Return the config that was applied last, and that nobody still has to confirm.

    History holds no raw secrets: they are those of the private overlays, as far as these can be used.

    Args:
        state_dir: where the history is.
        files: the files.
        found: what is wrong with them.

    Raises:
        ConfigError: there is none, or it cannot be used; then the report tells of the files too.
        EdgeError: the history cannot be used.
    """
    with closing(SqliteStore(state_dir)) as store:
        newest = store.newest_confirmed()
    if newest is None:
        raise ConfigError(found)
    try:
        return restore(newest, present_secrets(files), FileResolver())
    except ConfigError as error:
        both = (*found.violations, *error.violations)
        raise ConfigError(Report(both, found.warnings, found.total + error.total, found.excerpts)) from None


def tell_of_last_good(found: Report) -> None:
    """Log that the files are not what runs, and why."""
    _LOG.error("the config files cannot be used: starting with the newest applied revision instead")
    for violation in found.violations[:_MOST_LOGGED]:
        _LOG.error("%s", violation)
