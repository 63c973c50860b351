"""Compares a generated tree with the one in the project, and puts it in its place."""

from collections.abc import Iterable
from pathlib import Path


def differences(fresh: Path, present: Path, parts: Iterable[str]) -> list[str]:
    """Return the files of these parts that differ, are missing or are left over, sorted."""
    new, old = _files(fresh, parts), _files(present, parts)
    return sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))


def install(fresh: Path, present: Path, parts: Iterable[str]) -> list[str]:
    """Make these parts of the project equal to the generated ones; return the files that changed.

    Files that are equal are not touched, so that nothing which watches them wakes up.
    """
    new = _files(fresh, parts)
    changed = differences(fresh, present, parts)
    for name in changed:
        target = present / name
        if name in new:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(new[name])
        else:
            target.unlink()
    return changed


def _files(base: Path, parts: Iterable[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in parts:
        place = base / part
        paths = [place] if place.is_file() else place.rglob("*")
        found |= {
            path.relative_to(base).as_posix(): path.read_bytes()
            for path in paths
            if path.is_file() and "__pycache__" not in path.parts
        }
    return found
