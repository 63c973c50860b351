from pathlib import Path

import pytest

from iop_edge.cli import command
from iop_edge.cli.command import UsageError, admin_address, config_files
from iop_edge.schema.explain import explain


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with neither of the usual files; the second default is inside the directory that is returned."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "DEFAULT_FILES", ("edge.yaml", str(tmp_path / "etc.yaml")))
    return tmp_path


def test_files_that_are_given_win(empty_machine: Path) -> None:
    (empty_machine / "edge.yaml").touch()
    assert config_files(["a.yaml", "-"], {"IOP_EDGE_CONFIG": "b.yaml"}) == ["a.yaml", "-"]


def test_the_variable_comes_before_the_usual_places(empty_machine: Path) -> None:
    (empty_machine / "edge.yaml").touch()
    assert config_files([], {"IOP_EDGE_CONFIG": "b.yaml"}) == ["b.yaml"]


def test_the_working_directory_comes_before_etc(empty_machine: Path) -> None:
    (empty_machine / "etc.yaml").touch()
    assert config_files([], {"IOP_EDGE_CONFIG": ""}) == [str(empty_machine / "etc.yaml")]
    (empty_machine / "edge.yaml").touch()
    assert config_files([], {}) == ["edge.yaml"]


@pytest.mark.usefixtures("empty_machine")
def test_no_file_anywhere_is_a_usage_error_that_names_the_places() -> None:
    with pytest.raises(UsageError, match=r"IOP_EDGE_CONFIG.*edge\.yaml.*etc\.yaml"):
        config_files([], {})


@pytest.mark.parametrize(
    ("given", "environ", "expected"),
    [
        ("unix:/a", {"IOP_EDGE_ADMIN": "unix:/b"}, "unix:/a"),
        (None, {"IOP_EDGE_ADMIN": "unix:/b"}, "unix:/b"),
        (None, {"IOP_EDGE_ADMIN": ""}, explain("listen.admin").default),
        (None, {}, explain("listen.admin").default),
    ],
)
def test_admin_address_is_given_or_set_or_the_default_of_the_schema(
    given: str | None, environ: dict[str, str], expected: str
) -> None:
    assert admin_address(given, environ) == expected
