"""Files that only their owner may read."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Write a file with mode 0600: after it, the file is there whole, or what was there before is.

    Raises:
        OSError: it cannot be written.
    """
    # mkstemp opens with mode 0600, so that the bytes are at no moment for anybody else.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
