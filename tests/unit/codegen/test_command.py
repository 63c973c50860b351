import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen import __main__ as command
from codegen import compilers
from codegen.compilers import GenerationError
from tests.support import ROOT

Edit = Callable[[str, str], None]

NO_GO = "/nowhere"
"""A search path without Go; the generators that are pinned are found beside the interpreter all the same."""


def codegen(project: Path, *arguments: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    """Run the command as a person does, on a project of the test's own."""
    return subprocess.run(
        [sys.executable, "-m", "codegen", "--root", str(project), *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_empty_tree_is_filled_with_what_the_project_holds_whatever_style_is_set_around_it(project: Path) -> None:
    (project / "ruff.toml").write_text("line-length = 40\n", encoding="utf-8")
    done = codegen(project, "python")
    written = {
        path.relative_to(project).as_posix(): path.read_bytes()
        for part in ("gen", "docs")
        for path in (project / part).rglob("*")
        if path.is_file()
    }
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == sorted(written)
    assert {name: (ROOT / name).read_bytes() for name in written} == written


def test_check_without_go_names_a_stale_file_and_changes_nothing(project: Path) -> None:
    shutil.copytree(ROOT / "gen", project / "gen")
    shutil.copytree(ROOT / "docs", project / "docs")
    stale = project / "gen" / "refresh-classes.txt"
    stale.write_text("old", encoding="utf-8")
    done = codegen(project, "--check", path=NO_GO)
    assert (done.returncode, done.stdout) == (1, "gen/refresh-classes.txt\n")
    assert done.stderr.splitlines()[0] == "gen/go is left as it is: Go is missing"
    assert stale.read_text(encoding="utf-8") == "old"


def test_go_that_is_asked_for_and_missing_is_a_failure(project: Path) -> None:
    (project / "codegen" / "go").mkdir(parents=True)
    done = codegen(project, "go", path=NO_GO)
    assert (done.returncode, done.stderr) == (1, "codegen: go is missing\n")


@pytest.mark.contract("REF-02")
def test_field_without_a_refresh_class_fails_and_writes_nothing(project: Path, edit: Edit) -> None:
    edit(
        "option (iop.options.v1.message) = {refresh: REFRESH_CLASS_RESTART};\n\n  // Whether the endpoint", "// Whether"
    )
    done = codegen(project, "python")
    assert done.returncode == 1
    assert done.stderr == "codegen: no refresh class: Metrics.enabled, Metrics.listen\n"
    assert not (project / "gen").exists()


def test_warning_of_a_compiler_fails_and_writes_nothing(project: Path, edit: Edit) -> None:
    colliding = "// N.\nmessage Console {\n  // O.\n  message Page {}\n"
    edit("// The web console.\nmessage Console {\n", f"// C.\nmessage ConsolePage {{}}\n\n{colliding}")
    done = codegen(project, "python")
    assert done.returncode == 1
    assert "[WARNING]" in done.stderr
    assert "ConsolePage" in done.stderr
    assert not (project / "gen").exists()


def test_proto_that_does_not_compile_fails_with_its_place(project: Path, edit: Edit) -> None:
    edit("message Metrics {", "message Metrics {{")
    done = codegen(project, "python")
    assert done.returncode == 1
    assert "config.proto" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_target_is_a_usage_error() -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["rust"])


def test_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match=r"^no-such-compiler is missing$"):
        compilers.run(["no-such-compiler"], tmp_path)
