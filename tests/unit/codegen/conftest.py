"""A copy of the protos that a test may break."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen import compilers, descriptors
from tests.support import ROOT

CONFIG = Path("proto/iop/config/v1/config.proto")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that has what generation reads, and nothing else."""
    place = tmp_path / "project"
    shutil.copytree(ROOT / "proto", place / "proto")
    for template in ROOT.glob("buf*.yaml"):
        shutil.copy(template, place)
    return place


@pytest.fixture
def edit(project: Path) -> Callable[[str, str], None]:
    """Replaces a text in the config's proto."""

    def replace(old: str, new: str) -> None:
        source = (project / CONFIG).read_text(encoding="utf-8")
        assert old in source
        (project / CONFIG).write_text(source.replace(old, new), encoding="utf-8")

    return replace


@pytest.fixture
def read_schema(project: Path) -> Callable[[], descriptors.Schema]:
    """Compiles the project's protos."""

    def read() -> descriptors.Schema:
        compilers.build_descriptors(project, project / "descriptors.binpb")
        return descriptors.read(project / "descriptors.binpb", "iop.")

    return read
