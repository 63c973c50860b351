"""`python -m codegen`: writes `gen/` and `docs/rules.md`, or with `--check` says what is out of date."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from codegen import artefacts, trees
from codegen.compilers import GenerationError, search_path

_TARGETS: dict[str, tuple[Callable[[Path, Path], None], tuple[str, ...]]] = {
    "python": (artefacts.write_python, artefacts.PYTHON_PARTS),
    "go": (artefacts.write_go, artefacts.GO_PARTS),
}


def main(arguments: list[str]) -> int:
    """Run the command; return its exit code: 1 where generation fails, or a check finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="python, go; none: all that can be made here")
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a file is out of date")
    parser.add_argument("--root", type=Path, default=Path(), help="the project's directory; default: this one")
    options = parser.parse_args(arguments)
    unknown = set(options.targets) - _TARGETS.keys()
    if unknown:
        parser.error(f"unknown target: {', '.join(sorted(unknown))}")
    act = _check if options.check else trees.install
    try:
        stale = [name for target in _chosen(options.targets) for name in _run(target, options.root.resolve(), act)]
    except (GenerationError, ValueError) as error:
        print(f"codegen: {error}", file=sys.stderr)
        return 1
    return 1 if options.check and stale else 0


def _chosen(named: list[str]) -> Iterable[str]:
    """Return the targets that were named, else all; of these Go only where it is installed."""
    if named:
        return named
    if shutil.which("go", path=search_path()) is None:
        print("gen/go is left as it is: Go is missing", file=sys.stderr)
        return ["python"]
    return _TARGETS


def _run(target: str, root: Path, act: Callable[[Path, Path, Iterable[str]], list[str]]) -> list[str]:
    write, parts = _TARGETS[target]
    with tempfile.TemporaryDirectory(prefix="codegen-") as directory:
        work = Path(directory)
        write(root, work)
        names = act(work, root, parts)
    for name in names:
        print(name)
    return names


def _check(fresh: Path, present: Path, parts: Iterable[str]) -> list[str]:
    names = trees.differences(fresh, present, parts)
    if names:
        print("out of date; `nox -s generate` writes it:", file=sys.stderr)
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
