import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from iop_edge.errors import Report
from iop_edge.serve import watch as module
from iop_edge.serve.own_files import OwnFiles
from iop_edge.serve.watch import places, watch
from tests.support import run

CONFIG = "edge: {id: e, name: '%s'}\n"


class Heard:
    """What a watch has called back about, in order."""

    def __init__(self, files: OwnFiles) -> None:
        self._files = files
        self._said: asyncio.Queue[str] = asyncio.Queue()

    async def take(self) -> None:
        found = self._files.look()
        said = found.violations[0].rule if isinstance(found, Report) else str(found.tree["edge"].get("name"))
        await self._said.put(said)

    async def next(self) -> str:
        return await self._said.get()

    async def says(self, wanted: str) -> None:
        """Wait for this, whatever comes before it."""
        while await self.next() != wanted:
            pass


@asynccontextmanager
async def watching(*paths: Path) -> AsyncIterator[Heard]:
    """Watch files that are in use; nothing of it may be left at the end."""
    files = OwnFiles([str(path) for path in paths])
    heard, before = Heard(files), asyncio.all_tasks()
    task = asyncio.create_task(watch(files, files.look(), heard.take))
    try:
        yield heard
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == before


def overwrite(path: Path, text: str) -> None:
    """Write as careless editors do: for a moment the file is empty."""
    path.write_text(text, encoding="utf-8")


def replace(path: Path, text: str) -> None:
    """Write as careful editors do: beside the file, then in its place."""
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").rename(path)


def write(path: Path, name: str) -> None:
    replace(path, CONFIG % name)


@pytest.mark.contract("REF-10")
@pytest.mark.case("A15")
@pytest.mark.parametrize("change", [overwrite, replace])
def test_a_file_that_is_written_or_replaced_is_noticed_each_time(
    tmp_path: Path, change: Callable[[Path, str], None]
) -> None:
    path = tmp_path / "edge.yaml"
    write(path, "one")

    async def scenario() -> None:
        async with watching(path) as heard:
            for name in ("two", "three", "two"):
                change(path, CONFIG % name)
                await heard.says(name)

    run(scenario())


@pytest.mark.case("A15")
def test_a_mounted_directory_that_is_swapped_by_its_link_is_noticed(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"..{name}").mkdir()
        write(tmp_path / f"..{name}" / "edge.yaml", name)
    (tmp_path / "..data").symlink_to("..one")
    (tmp_path / "edge.yaml").symlink_to("..data/edge.yaml")

    async def scenario() -> None:
        async with watching(tmp_path / "edge.yaml") as heard:
            for name in ("two", "three"):
                (tmp_path / "..next").symlink_to(f"..{name}")
                (tmp_path / "..next").rename(tmp_path / "..data")
                assert await heard.next() == name

    run(scenario())


def test_a_change_behind_a_link_to_another_directory_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    write(tmp_path / "real" / "edge.yaml", "one")
    (tmp_path / "links" / "edge.yaml").symlink_to(tmp_path / "real" / "edge.yaml")

    async def scenario() -> None:
        async with watching(tmp_path / "links" / "edge.yaml") as heard:
            write(tmp_path / "real" / "edge.yaml", "two")
            assert await heard.next() == "two"

    run(scenario())


@pytest.mark.case("R13")
def test_a_file_behind_a_reference_is_noticed_also_one_that_a_change_brought(tmp_path: Path) -> None:
    path, secrets = tmp_path / "edge.yaml", tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "name").write_text("first")
    write(path, "one")

    async def scenario() -> None:
        async with watching(path) as heard:
            write(path, "${file:secrets/name}")
            await heard.next()
            (secrets / "next").write_text("second")
            (secrets / "next").rename(secrets / "name")
            await heard.next()
            assert heard._files.load().config.edge.name == "second"  # type: ignore[union-attr]

    run(scenario())


@pytest.mark.contract("REF-10")
def test_other_bytes_of_the_same_meaning_are_no_change(tmp_path: Path) -> None:
    path = tmp_path / "edge.yaml"
    write(path, "one")

    async def scenario() -> None:
        async with watching(path) as heard:
            path.touch()
            replace(path, f"# a comment\n{CONFIG % 'one'}")
            (tmp_path / "beside").write_text("")
            write(path, "two")
            assert await heard.next() == "two"
            assert heard._said.empty()

    run(scenario())


@pytest.mark.case("A15")
def test_a_file_that_cannot_be_used_is_told_of_once_until_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "edge.yaml"
    write(path, "one")

    async def scenario() -> None:
        async with watching(path) as heard:
            replace(path, "edge: {id: e")
            assert await heard.next() == "yaml.syntax"
            path.touch()
            (tmp_path / "beside").write_text("")
            write(path, "one")
            assert await heard.next() == "one"
            path.unlink()
            assert await heard.next() == "file.missing"
            write(path, "two")
            assert await heard.next() == "two"

    run(scenario())


def test_a_directory_that_goes_and_comes_back_is_watched_again(tmp_path: Path) -> None:
    path = tmp_path / "conf" / "edge.yaml"
    path.parent.mkdir()
    write(path, "one")

    async def scenario() -> None:
        async with watching(path) as heard:
            path.unlink()
            path.parent.rmdir()
            assert await heard.next() == "file.missing"
            path.parent.mkdir()
            write(path, "two")
            assert await heard.next() == "two"
            write(path, "three")
            assert await heard.next() == "three"

    run(scenario())


def test_where_nothing_is_told_the_files_are_looked_at_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "edge.yaml"
    write(path, "one")

    def refuse(*_: object) -> None:
        raise OSError("no watches left")

    monkeypatch.setattr(module, "RustNotify", refuse)
    monkeypatch.setattr(module, "_ANYWAY_MS", 1)

    async def scenario() -> None:
        async with watching(path) as heard:
            write(path, "two")
            await heard.says("two")

    run(scenario())
    assert "no watches left" in caplog.text


def test_the_places_of_a_path_are_those_of_its_links_its_file_or_what_is_nearest(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "up").symlink_to("../a/b")
    (tmp_path / "loop").symlink_to("loop")

    def found(name: str) -> set[str]:
        return {str(Path(place).relative_to(tmp_path)) for place, _ in places([tmp_path / name])}

    assert found("a/b/file") == {"a/b"}
    assert found("a/up/file") == {"a", "a/b"}
    assert found("a/missing/deeper/file") == {"a"}
    assert found("loop") == {"."}
