"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Write a file with a mode: after it, the file is there whole, or what was there before is.

    Raises:
        OSError: it cannot be written.
    """
    # mkstemp opens with mode 0600, so that the bytes are at no moment for anybody whom the mode does not name.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
