"""Files that commands write whole or not at all, and examples that are shipped with the library."""

import contextlib
import errno
import os
import tempfile
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file atomically: afterwards there is either the whole new file or the old one.

    A symbolic link stays, and what it leads to is written. Only a regular file is ever replaced: a rename over a device
    would take the device away.

    Raises:
        OSError: the file cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    # mkstemp creates the file with mode 0600, so nobody whom `mode` excludes can read it at any time.
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


def example(name: str) -> str:
    """Return the text of an example config, from the installed package or, in a checkout, from `examples/`."""
    package = resources.files("iop_edge")
    shipped: Traversable = package / "_examples" / name
    if not shipped.is_file():
        shipped = Path(str(package)).parent / "examples" / name
    return shipped.read_text(encoding="utf-8")
