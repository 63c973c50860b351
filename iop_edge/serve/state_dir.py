"""The directory that an Edge keeps what must outlive it in. One process has it at a time."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from iop_edge.errors import EdgeError

_LOCK_NAME: Final = "lock"


@contextmanager
def owned(state_dir: Path) -> Iterator[Path]:
    """Own a state directory for as long as the block runs; it becomes readable for its owner alone.

    Raises:
        EdgeError: the directory cannot be used, or another process owns it.
    """
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        state_dir.chmod(0o700)
        lock = os.open(state_dir / _LOCK_NAME, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise EdgeError(f"cannot use the state directory {state_dir}: {error.strerror}") from None
    try:
        _lock(lock, state_dir)
        yield state_dir
    finally:
        os.close(lock)


def _lock(descriptor: int, state_dir: Path) -> None:
    try:
        # The kernel drops the lock with its process, however that ends: no stale lock is ever in the way.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise EdgeError(f"another Edge uses the state directory {state_dir}") from None
