"""Config files, standard input, the environment, and files that values refer to."""

import io
import os
from pathlib import Path

import pytest

from iop_edge.config import files
from iop_edge.config.source import Limits
from iop_edge.errors import ConfigError
from iop_edge.schema.references import ReferenceFailure
from tests.unit.config.loading import BASE


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


class Stdin:
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.contract("CFG-10")
def test_all_files_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as failure:
        files.load([tmp_path / "gone.yaml", write(tmp_path / "edge.yaml", BASE)], [tmp_path])
    assert [(v.rule, str(v.span)) for v in failure.value.violations] == [
        ("file.missing", str(tmp_path / "gone.yaml")),
        ("file.unreadable", str(tmp_path)),
    ]
    assert files.check(tmp_path / "gone.yaml").total == 1


@pytest.mark.contract("CFG-10")
def test_limits_of_a_load_are_the_callers(tmp_path: Path) -> None:
    file = write(tmp_path / "edge.yaml", BASE)
    assert files.check(file, limits=Limits(max_bytes=len(BASE))).ok
    assert [v.rule for v in files.check(file, limits=Limits(max_bytes=len(BASE) - 1)).violations] == ["yaml.size"]
    with pytest.raises(ConfigError, match=r"\[layer\.limit\]"):
        files.load([file, file], limits=Limits(max_layers=1))


def test_one_overlay_needs_no_list(tmp_path: Path) -> None:
    overlay = str(write(tmp_path / "private.yaml", "edge: {name: from the overlay}"))
    snapshot = files.load(write(tmp_path / "edge.yaml", BASE), overlay)
    assert snapshot.tree["edge"]["name"] == "from the overlay"


def test_file_is_called_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "edge.yaml", "opnai: {}\nedge: {id: e}")
    monkeypatch.chdir(tmp_path)
    assert str(files.check("edge.yaml").violations[0].span) == "edge.yaml:1:1"


def test_standard_input_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "alias", "Rack")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Stdin(BASE.replace("- id: n", "- id: n\n    alias: ${file:alias}", 1).encode()))
    assert files.load("-").tree["nodes"][0]["alias"] == "Rack"


@pytest.mark.contract("CFG-06")
def test_reference_is_relative_to_the_directory_of_its_file_as_it_is_given(tmp_path: Path) -> None:
    text = BASE.replace("- id: n", "- id: n\n    alias: ${file:sub/alias}", 1)
    real = write(tmp_path / "real" / "edge.yaml", text)
    write(tmp_path / "link" / "sub" / "alias", "beside the link\n")
    (tmp_path / "link" / "edge.yaml").symlink_to(real)
    assert files.load(tmp_path / "link" / "edge.yaml").tree["nodes"][0]["alias"] == "beside the link"


@pytest.mark.contract("CFG-06")
def test_environment_of_the_process_is_used_unless_another_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "edge.yaml", BASE.replace("- id: n", "- id: n\n    alias: ${env:IOP_TEST_ALIAS}", 1))
    monkeypatch.setenv("IOP_TEST_ALIAS", "from the process")
    assert files.load(path).tree["nodes"][0]["alias"] == "from the process"
    assert files.load(path, env={"IOP_TEST_ALIAS": "given"}).tree["nodes"][0]["alias"] == "given"
    assert not files.check(path, env={}).ok
    assert files.check(path, env={}, offline=True).ok


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize(
    ("content", "text"),
    [("x", "x"), ("x\n", "x"), ("x\r\n", "x"), ("x\n\n", "x\n"), ("x\r", "x\r"), ("", ""), ("\n", ""), (" x ", " x ")],
)
def test_one_line_break_at_the_end_of_a_file_is_dropped(tmp_path: Path, content: str, text: str) -> None:
    write(tmp_path / "f", content)
    assert files.FileResolver({}).file("f", str(tmp_path)) == text


@pytest.mark.contract("CFG-06")
def test_file_of_the_largest_size_is_read_and_a_larger_one_is_not(tmp_path: Path) -> None:
    write(tmp_path / "f", "x" * files.MAX_REFERENCED_BYTES)
    assert len(files.FileResolver({}).file("f", str(tmp_path))) == files.MAX_REFERENCED_BYTES
    write(tmp_path / "f", "x" * files.MAX_REFERENCED_BYTES + "y")
    with pytest.raises(ReferenceFailure):
        files.FileResolver({}).file("f", str(tmp_path))


@pytest.mark.contract("CFG-06")
@pytest.mark.parametrize("kind", ["missing", "directory", "pipe", "loop", "NUL", "not UTF-8", "below a file"])
def test_what_is_no_regular_text_file_is_a_failure(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "f"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "not UTF-8":
            path.write_bytes(b"s3cr3t\xff")
        case "below a file":
            write(path, "x")
    name = {"NUL": "f\0", "below a file": "f/g"}.get(kind, "f")
    with pytest.raises(ReferenceFailure) as failure:
        files.FileResolver({}).file(name, str(tmp_path))
    assert "s3cr3t" not in str(failure.value)


@pytest.mark.contract("CFG-06")
def test_roots_bound_what_may_be_read(tmp_path: Path) -> None:
    write(tmp_path / "in" / "data" / "f", "inside")
    write(tmp_path / "out" / "f", "outside")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "in" / "data")
    (tmp_path / "in" / "escape").symlink_to(tmp_path / "out")
    resolver = files.FileResolver({}, roots=[tmp_path / "in"])
    base = str(tmp_path / "in")
    assert resolver.file("data/f", base) == "inside"
    assert resolver.file("link/f", base) == "inside"
    for name in ("../out/f", "escape/f", str(tmp_path / "out" / "f")):
        with pytest.raises(ReferenceFailure):
            resolver.file(name, base)


@pytest.mark.contract("CFG-10")
@pytest.mark.parametrize("data", [b"", b"\n# nothing\n", b"\xff\xfe", b"[]", b"a: b\n---\nc: d\n", b"\0"])
def test_file_that_is_no_config_is_an_error_and_no_traceback(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "edge.yaml").write_bytes(data)
    with pytest.raises(ConfigError) as failure:
        files.load(tmp_path / "edge.yaml")
    assert failure.value.total >= 1
