from pathlib import Path

import pytest

from codegen import trees


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    return _filled(tmp_path / "fresh", {"part/same": "1", "part/changed": "new", "part/deep/added": "1", "file": "new"})


@pytest.fixture
def present(tmp_path: Path) -> Path:
    return _filled(
        tmp_path / "present",
        {"part/same": "1", "part/changed": "old", "part/left": "1", "other/kept": "1", "file": "o"},
    )


def _filled(base: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text, encoding="utf-8")
    return base


def test_differences_are_changed_added_and_left_over_files(fresh: Path, present: Path) -> None:
    assert trees.differences(fresh, present, ("part", "file")) == [
        "file",
        "part/changed",
        "part/deep/added",
        "part/left",
    ]


def test_installed_parts_are_equal_to_the_fresh_ones(fresh: Path, present: Path) -> None:
    trees.install(fresh, present, ("part", "file"))
    assert trees.differences(fresh, present, ("part", "file")) == []


def test_other_parts_are_left_alone(fresh: Path, present: Path) -> None:
    trees.install(fresh, present, ("part",))
    assert (present / "other" / "kept").exists()
    assert (present / "file").read_text(encoding="utf-8") == "o"


def test_equal_file_is_not_written_again(fresh: Path, present: Path) -> None:
    before = (present / "part" / "same").stat().st_mtime_ns
    trees.install(fresh, present, ("part",))
    assert (present / "part" / "same").stat().st_mtime_ns == before
