"""The import graph of the library, read from its source: nothing is executed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "iop_edge"


@dataclass(frozen=True)
class Import:
    """One import: the module, what is taken from it, the line, and whether it runs when the importing module loads."""

    module: str
    name: str
    line: int
    at_load: bool


@cache
def modules() -> dict[str, Path]:
    """Return the library's modules by their dotted names."""
    return {_dotted(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def syntax(module: str) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> tuple[Import, ...]:
    """Return every import of a module, those inside functions and those for types alone too."""
    return tuple(_imports_in(syntax(module), at_load=True))


def _imports_in(node: ast.AST, *, at_load: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, "", child.lineno, at_load) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = child.module or ""
            yield from (Import(_imported(base, alias.name), alias.name, child.lineno, at_load) for alias in child.names)
        elif isinstance(child, ast.Call) and _is_import_module(child.func):
            first = child.args[0] if child.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield Import(first.value, "", child.lineno, at_load)
        inner = at_load and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports_in(child, at_load=inner and not _is_for_types(child))


def _imported(base: str, name: str) -> str:
    """Return the module that `from base import name` loads: a submodule where there is one, else the base."""
    dotted = f"{base}.{name}"
    return dotted if dotted in modules() else base


def _is_import_module(function: ast.expr) -> bool:
    return ast.unparse(function) in {"importlib.import_module", "import_module"}


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def loaded_with(module: str) -> dict[str, str]:
    """Return all modules that loading this one loads, each with the module that imports it."""
    found = {module: ""}
    queue = [module]
    while queue:
        current = queue.pop()
        targets = [item.module for item in imports(current) if item.at_load]
        parents = [current.rpartition(".")[0]] if "." in current else []
        for target in [*targets, *parents]:
            if target not in found:
                found[target] = current
                if target in modules():
                    queue.append(target)
    return found


def chain(found: dict[str, str], module: str) -> str:
    """Return how a module came to be loaded, for a failure's message."""
    steps = [module]
    while found[steps[-1]]:
        steps.append(found[steps[-1]])
    return " <- ".join(steps)
