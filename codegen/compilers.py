"""Runs buf and the compilers that it calls.

The compilers run in an empty directory, so that neither the project's own style nor a person's settings change their
output, and a word of warning from any of them is a failure.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_WARNING = "[WARNING]"


class GenerationError(Exception):
    """A generator failed, or warned."""


def build_descriptors(root: Path, out: Path) -> None:
    """Write the descriptor set of the protos of a project, with their comments.

    Raises:
        GenerationError: the protos do not compile.
    """
    run(["buf", "build", str(root), "--output", str(out)], out.parent)


def generate(root: Path, template: str, out: Path, extra_path: Path | None = None) -> None:
    """Run the compilers that a template of the project names, and write their output below `out`.

    Raises:
        GenerationError: a compiler failed, or warned.
    """
    (out / "ruff.toml").touch()
    command = ["buf", "generate", str(root), "--template", str(root / template), "--output", str(out)]
    run(command, out, search_path(extra_path))
    (out / "ruff.toml").unlink()


def run(command: list[str], directory: Path, path: str = "") -> None:
    """Run one generator.

    Raises:
        GenerationError: it is missing, failed, or warned.
    """
    env = {**os.environ, "PATH": path or search_path()}
    program = shutil.which(command[0], path=env["PATH"])
    if program is None:
        raise GenerationError(f"{command[0]} is missing")
    done = subprocess.run([program, *command[1:]], cwd=directory, env=env, capture_output=True, text=True, check=False)
    if done.returncode or _WARNING in done.stderr:
        raise GenerationError(f"{' '.join(command[:2])}: {done.stderr.strip() or done.stdout.strip()}")


def search_path(extra: Path | None = None) -> str:
    """Return where programs are looked for: beside the interpreter first, since that is where the pinned ones are."""
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
    if extra is not None:
        places.insert(0, str(extra))
    return os.pathsep.join(places)


def formatted(source: str) -> str:
    """Return Python code in the project's form.

    Raises:
        GenerationError: the code does not parse.
    """
    command = ["ruff", "format", "--isolated", "--line-length", "120", "-"]
    program = shutil.which(command[0], path=search_path())
    if program is None:
        raise GenerationError("ruff is missing")
    done = subprocess.run([program, *command[1:]], input=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise GenerationError(done.stderr.strip())
    return done.stdout
