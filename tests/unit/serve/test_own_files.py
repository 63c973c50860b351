import io
import sys
from pathlib import Path

import pytest

from iop_edge.config.pipeline import load_sources
from iop_edge.errors import ConfigError
from iop_edge.serve import own_files
from iop_edge.serve.own_files import OwnFiles

CONFIG = "edge: {id: e, name: '%s'}\n"


def name_of(files: OwnFiles) -> str:
    return str(files.load().config.edge.name)  # type: ignore[union-attr]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one whenever something is loaded."""
    counted: list[int] = []
    real = load_sources

    def counting(*arguments: object, **options: object) -> object:
        counted.append(1)
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(own_files, "load_sources", counting)
    return counted


def test_files_that_have_not_changed_are_not_loaded_again(tmp_path: Path, loads: list[int]) -> None:
    (tmp_path / "edge.yaml").write_text(CONFIG % "one")
    files = OwnFiles([str(tmp_path / "edge.yaml")])
    assert files.load() is files.load()
    assert len(loads) == 1


def test_a_changed_file_is_loaded_again(tmp_path: Path) -> None:
    (tmp_path / "edge.yaml").write_text(CONFIG % "one")
    files = OwnFiles([str(tmp_path / "edge.yaml")])
    assert name_of(files) == "one"
    (tmp_path / "edge.yaml").write_text(CONFIG % "two")
    assert name_of(files) == "two"


@pytest.mark.case("A15")
def test_a_link_that_leads_elsewhere_is_followed_anew(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "edge.yaml").write_text(CONFIG % name)
    (tmp_path / "data").symlink_to("one")
    (tmp_path / "edge.yaml").symlink_to("data/edge.yaml")
    files = OwnFiles([str(tmp_path / "edge.yaml")])
    assert name_of(files) == "one"
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(tmp_path / "data")
    assert name_of(files) == "two"


@pytest.mark.case("R13")
def test_a_file_behind_a_reference_that_has_changed_is_seen(tmp_path: Path) -> None:
    (tmp_path / "edge.yaml").write_text(CONFIG % "${file:name.txt}")
    (tmp_path / "name.txt").write_text("one\n")
    files = OwnFiles([str(tmp_path / "edge.yaml")])
    assert name_of(files) == "one"
    (tmp_path / "name.txt").write_text("two\n")
    assert name_of(files) == "two"


def test_a_variable_that_has_changed_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edge.yaml").write_text(CONFIG % "${env:IOP_TEST_NAME}")
    files = OwnFiles([str(tmp_path / "edge.yaml")])
    for value in ("one", "two"):
        monkeypatch.setenv("IOP_TEST_NAME", value)
        assert name_of(files) == value
    monkeypatch.setenv("IOP_TEST_NAME", "no \udcff UTF-8")
    with pytest.raises(ConfigError, match="UTF-8"):
        files.load()


def test_files_that_are_wrong_raise_each_time_until_they_are_mended(tmp_path: Path) -> None:
    path = tmp_path / "edge.yaml"
    files = OwnFiles([str(path)])
    with pytest.raises(ConfigError, match=r"file\.missing"):
        files.load()
    path.write_text("edge: {id: e, colour: red}\n")
    raised = []
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"field\.unknown") as caught:
            files.load()
        raised.append(caught.value)
    assert raised[0] is not raised[1], "an error that is raised again keeps the traceback of each time"
    path.write_text(CONFIG % "${file:name.txt}")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"name\.txt"):
            files.load()
    (tmp_path / "name.txt").write_text("one")
    assert name_of(files) == "one"


def test_standard_input_is_read_once_and_files_beside_it_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"edge: {id: e}\nx-unused: 1\n")))
    overlay = tmp_path / "private.yaml"
    overlay.write_text("edge: {name: one}\n")
    files = OwnFiles(["-"], [str(overlay)])
    assert name_of(files) == "one"
    overlay.write_text("edge: {name: two}\n")
    assert name_of(files) == "two"


def test_the_directories_are_those_of_the_files_each_once_and_none_of_standard_input(tmp_path: Path) -> None:
    files = OwnFiles([str(tmp_path / "a" / "one.yaml"), str(tmp_path / "a" / "two.yaml"), "-"], ["three.yaml"])
    assert files.directories == (tmp_path / "a", Path())
