"""The shape of the house: imports point downwards, the core does no I/O, files stay small (docs/decisions/)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import imports
from tests.imports import ROOT, Import

CORE_FLOORS = (
    {"clock", "documents", "errors", "ids", "rules"},
    {"net"},
    {"schema"},
    {"config"},
    {"payload", "refresh", "pool", "requests"},
)
FLOORS = (
    *CORE_FLOORS,
    {"transport"},
    {"client", "push", "store"},
    {"edge"},
    {"node", "serve"},
    {""},
    {"cli"},
    {"__main__"},
)
"""The packages and modules of the library from the ground up; the empty name is the public front, `iop_edge` itself."""

FLOOR = {unit: number for number, units in enumerate(FLOORS) for unit in units}

IO_MODULES = frozenset(
    {
        "grpclib",
        "h2",
        "http",
        "logging",
        "multiprocessing",
        "os",
        "pathlib",
        "random",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib.request",
    }
)
"""Modules that do I/O, read the environment or the clock, or draw lots: the core is handed what these give."""

IO_CALLS = frozenset({"open", "input", "print", "datetime.now", "datetime.utcnow", "date.today"})

MAY_IMPORT = {
    "iop_edge.clock": {"time"},  # the one source of time
    "iop_edge.net": {"os", "ssl"},  # makes TLS contexts of PEM texts, which OpenSSL takes from (memory) files only
}

READS_TIME = re.compile(r"(datetime\.now|datetime\.utcnow|date\.today|loop(\(\))?\.time|asyncio\.sleep)")
"""What only the clock may use; everything else is given a clock. Formatting a given time is fine."""

PURE_NAMES = frozenset({"PurePath", "PurePosixPath"})
"""What may be imported from a module that does I/O, since it does none itself."""

HEAVY = ("iop_pb.iop", "betterproto2", "pydantic", "grpclib", "h2")

LIGHT_MODULES = (
    "iop_edge",
    "iop_edge.cli.main",
    "iop_edge.config.files",
    "iop_edge.config.pipeline",
    "iop_edge.refresh.plan",
    "iop_edge.schema.explain",
    "iop_edge.schema.json_schema",
)
"""Where `--help`, `config check|show|diff|explain|schema` and `import iop_edge` begin."""

MOST_LINES = 450


def _unit(module: str) -> str:
    """Return the part of a module's name that has a floor."""
    return module.removeprefix("iop_edge").lstrip(".").partition(".")[0]


def _own_imports(module: str) -> Iterator[Import]:
    yield from (item for item in imports.imports(module) if item.module.partition(".")[0] == "iop_edge")


def _is_within(module: str, packages: frozenset[str] | tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


OUTERMOST = frozenset({"iop_edge.config.files"})
"""Modules of the core's packages that read files for it."""

CORE = [name for name in imports.modules() if FLOOR.get(_unit(name), 0) < len(CORE_FLOORS) and name not in OUTERMOST]


def test_every_package_has_a_floor() -> None:
    assert {_unit(module) for module in imports.modules()} <= FLOOR.keys()


@pytest.mark.parametrize("module", imports.modules())
def test_module_imports_only_from_floors_below_its_own(module: str) -> None:
    upwards = [
        f"line {item.line}: {item.module}"
        for item in _own_imports(module)
        if _unit(item.module) != _unit(module) and FLOOR[_unit(item.module)] >= FLOOR[_unit(module)]
    ]
    assert not upwards


@pytest.mark.parametrize("module", imports.modules())
def test_imports_are_absolute(module: str) -> None:
    relative = [
        node.lineno for node in ast.walk(imports.syntax(module)) if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


@pytest.mark.parametrize("module", CORE)
def test_core_module_imports_nothing_that_does_io(module: str) -> None:
    forbidden = IO_MODULES - MAY_IMPORT.get(module, set())
    found = [
        f"line {item.line}: {item.module}"
        for item in imports.imports(module)
        if _is_within(item.module, forbidden) and item.name not in PURE_NAMES
    ]
    assert not found


@pytest.mark.parametrize("module", CORE)
def test_core_module_calls_nothing_that_does_io(module: str) -> None:
    calls = [node for node in ast.walk(imports.syntax(module)) if isinstance(node, ast.Call)]
    found = [f"line {call.lineno}: {name}()" for call in calls if (name := ast.unparse(call.func)) in IO_CALLS]
    assert not found


@pytest.mark.parametrize("module", [name for name in imports.modules() if name != "iop_edge.clock"])
def test_only_the_clock_reads_the_time(module: str) -> None:
    found = [f"line {item.line}: {item.module}" for item in imports.imports(module) if item.module == "time"]
    nodes = [node for node in ast.walk(imports.syntax(module)) if isinstance(node, ast.Attribute)]
    found += [f"line {node.lineno}: {name}" for node in nodes if READS_TIME.fullmatch(name := ast.unparse(node))]
    assert not found


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_light_module_loads_no_generated_messages(module: str) -> None:
    loaded = imports.loaded_with(module)
    assert [imports.chain(loaded, name) for name in loaded if _is_within(name, HEAVY)] == []


def test_only_the_schema_floor_reads_the_field_table() -> None:
    readers = {
        _unit(module)
        for module in imports.modules()
        for item in imports.imports(module)
        if _is_within(item.module, ("iop_pb",)) and "field_table" in item.module
    }
    assert readers <= {"schema"}


def test_marks_of_the_loader_stay_in_it() -> None:
    outside = {
        module
        for module in imports.modules()
        for item in imports.imports(module)
        if item.module == "iop_edge.config.marks" and not module.startswith("iop_edge.config.")
    }
    assert outside == set()


@pytest.mark.parametrize(
    "path",
    [path for part in ("iop_edge", "codegen", "bench", "tests") for path in sorted((ROOT / part).rglob("*.py"))],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_file_can_be_read_at_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
