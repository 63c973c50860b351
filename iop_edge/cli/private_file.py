"""Files that only their owner may read."""

from pathlib import Path

from iop_edge.cli.whole_file import write_whole


def write_private(path: Path, data: bytes) -> None:
    """Write a file with mode 0600: after it, the file is there whole, or what was there before is.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(path, data, 0o600)
