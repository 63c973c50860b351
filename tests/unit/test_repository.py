"""What a reader of the repository may rely on, whatever file is opened."""

import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.support import ROOT

PERMISSIVE = re.compile(r"apache|\bmit\b|bsd|isc|psf|python software", re.IGNORECASE)

LEFTOVERS = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b|^(?:<{7}|>{7}) |/home/\w|/root/", re.MULTILINE)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def tracked_texts() -> dict[str, str]:
    """Return the project's own text files that git knows."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    paths = [Path(name) for name in names if name and not name.startswith("gen/") and (ROOT / name).is_file()]
    return {path.as_posix(): (ROOT / path).read_text(encoding="utf-8") for path in paths if path.suffix != ".sum"}


def test_no_file_holds_leftovers_of_work() -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    found = {name: LEFTOVERS.findall(text) for name, text in tracked_texts().items() if name != here}
    assert {name: words for name, words in found.items() if words} == {}


def test_every_text_ends_with_one_line_break() -> None:
    assert [
        name for name, text in tracked_texts().items() if text and (not text.endswith("\n") or text.endswith("\n\n"))
    ] == []


def test_licence_that_is_declared_is_the_one_that_is_enclosed() -> None:
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("Apache License")


@pytest.mark.parametrize("requirement", PROJECT["project"]["dependencies"])
def test_dependency_has_a_permissive_licence(requirement: str) -> None:
    name = re.split(r"[=<>~!,; \[]", requirement, maxsplit=1)[0]
    metadata = importlib.metadata.metadata(name)
    declared = [*metadata.get_all("License-Expression", []), *metadata.get_all("License", [])]
    classifiers = [line for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]
    assert PERMISSIVE.search(" ".join([*declared, *classifiers])), f"{name}: {declared} {classifiers}"


def test_every_tool_is_pinned_exactly() -> None:
    groups = PROJECT["dependency-groups"].values()
    loose = [tool for group in groups for tool in group if isinstance(tool, str) and "==" not in tool]
    assert loose == []


def test_ci_runs_the_test_command_that_the_readme_gives() -> None:
    commands = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.endswith("/nox")]
    assert len(commands) == 1
    assert commands[0] in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
