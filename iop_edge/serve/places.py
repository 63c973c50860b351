"""Where in the file system something may happen that makes a path lead to another content."""

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_MOST_LINKS: Final = 40
"""As many symbolic links as Linux follows on one path."""

Place = tuple[str, int]
"""A directory with its inode number: one that was made anew is another place."""


def places(paths: Iterable[Path]) -> frozenset[Place]:
    """Return the directories that hold the files, and each symbolic link on the way to one.

    For what is not there it is the nearest directory that is.
    """
    found: set[Path] = set()
    for path in paths:
        _trace(path.absolute(), found)
    return frozenset((str(place), number) for place in found if (number := _inode(place)))


def _trace(path: Path, found: set[Path]) -> None:
    here, names, links = Path("/"), deque(path.parts[1:]), 0
    while names:
        name = names.popleft()
        if name == "..":
            here = here.parent
            continue
        step = here / name
        target = _link(step)
        if target is not None and links < _MOST_LINKS:
            links += 1
            found.add(here)
            if target.is_absolute():
                here = Path("/")
            names.extendleft(reversed([part for part in target.parts if part != "/"]))
        elif names and step.is_dir():
            here = step
        else:
            found.add(here)
            return


def _link(path: Path) -> Path | None:
    try:
        return path.readlink()
    except OSError:
        return None


def _inode(place: Path) -> int:
    try:
        return place.stat().st_ino
    except OSError:
        return 0
