"""The Go programs that the generated code and the services are compared with."""

import shutil
import subprocess
from pathlib import Path

import pytest

MODULE = Path(__file__).with_name("go")
GO = shutil.which("go")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs Go where there is none. `nox -s interop` fails instead where CI is set."""
    if GO is None:
        for item in items:
            if item.get_closest_marker("go"):
                item.add_marker(pytest.mark.skip(reason="Go is missing"))


@pytest.fixture(scope="session")
def go_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the programs of the Go module were built into."""
    assert GO is not None
    place = tmp_path_factory.mktemp("go")
    subprocess.run([GO, "build", "-o", f"{place}/", "./..."], cwd=MODULE, check=True)
    return place
