import os
from pathlib import Path

import pytest

from iop_edge.cli.files import write_whole

pytestmark = pytest.mark.contract("CFG-08")


def test_file_is_for_its_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        write_whole(tmp_path / "out", b"data")
    finally:
        os.umask(mask)
    assert (tmp_path / "out").read_bytes() == b"data"
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


def test_file_that_others_could_read_is_replaced_and_not_reopened(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    target.chmod(0o644)
    with target.open("rb") as reader:
        write_whole(target, b"new")
        assert reader.read() == b"old"
    assert target.stat().st_mode & 0o777 == 0o600


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_missing_directory_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "out", b"data")


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError, match="not a regular file"):
            write_whole(target, b"data")
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"old")
    (tmp_path / "link").symlink_to("out")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out").read_bytes() == b"new"
