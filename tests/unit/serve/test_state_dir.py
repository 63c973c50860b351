import subprocess
import sys
from pathlib import Path

import pytest

from iop_edge.errors import EdgeError
from iop_edge.serve.serve import owned


def test_a_state_directory_belongs_to_one_at_a_time(tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    with owned(state_dir):
        assert state_dir.stat().st_mode & 0o777 == 0o700
        with pytest.raises(EdgeError, match="another Edge"), owned(state_dir):
            pass
        with pytest.raises(EdgeError, match="another Edge"), owned(state_dir):
            pass
    with owned(state_dir):
        pass


def test_a_process_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from iop_edge.serve.serve import owned\n"
        "with owned(Path(sys.argv[1])):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert done.returncode == -9
    with owned(tmp_path):
        pass


def test_an_error_inside_is_passed_on_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), owned(tmp_path):
        raise BlockingIOError


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EdgeError, match="state directory"), owned(tmp_path / name):
        pass
