"""`iop-edge serve`: an Edge as a process of its own."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What a serving Edge is told from outside its config.

    Args:
        files: the tracked config files; `-` is standard input.
        private: the private overlays.
        state_dir: the directory that the Edge keeps its history in; it belongs to one process at a time.
        admin: the address of the admin service, instead of the config's `listen.admin`.
        secrets_dir: a directory besides those of the config files that `${file:}` of a sent candidate may read.
    """

    files: tuple[str, ...]
    private: tuple[str, ...] = ()
    state_dir: Path = Path("/var/lib/iop-edge")
    admin: str = ""
    secrets_dir: Path | None = None


async def serve(options: ServeOptions) -> None:
    """Run an Edge until SIGTERM or SIGINT; SIGHUP makes it read its files again.

    Once it serves, it writes one line to standard error: `iop-edge: ready`, with the admin address.

    Raises:
        ConfigError: the config files cannot be used.
        EdgeError: an address is taken, or another process has the state directory.
    """
    raise NotImplementedError
