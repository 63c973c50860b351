"""The project's checks.

`nox` runs `check`: all that needs nothing but Python, in one environment. `nox -l` lists the rest. Environments are
kept and reused: a second run installs nothing that is there.
"""

import os
import shutil

import nox

nox.needs_version = ">=2026.10.20"
nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["check"]

_PYPROJECT = nox.project.load_toml("pyproject.toml")
_RUNTIME: list[str] = _PYPROJECT["project"]["dependencies"]


_COMES_FROM_THE_WHEEL = """
import iop_edge, iop_pb, sys
assert all(module.__file__.startswith(sys.prefix) for module in (iop_edge, iop_pb)), (iop_edge, iop_pb)
"""


def _groups(*names: str) -> list[str]:
    return list(nox.project.dependency_groups(_PYPROJECT, *names))


@nox.session
def check(session: nox.Session) -> None:
    """Run every check below up to `tests`, in one environment."""
    _install_project(session, "test", "oracle", "generate", "typecheck")
    for step in (_lint, _proto, _gen_check, _typecheck, _contract, _tests):
        step(session)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and form of the Python code."""
    session.install(*_groups("lint"))
    _lint(session)


def _lint(session: nox.Session) -> None:
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def proto(session: nox.Session) -> None:
    """Check style and form of the protos, and that they break no client of the last release."""
    session.install(*_groups("proto"))
    _proto(session)


def _proto(session: nox.Session) -> None:
    session.run("buf", "lint")
    session.run("buf", "format", "--diff", "--exit-code")
    release = _last_release(session)
    if release:
        session.run("buf", "breaking", "--against", f".git#tag={release}")
    else:
        session.log("no release yet: there is no client to break")


@nox.session
def generate(session: nox.Session) -> None:
    """Write `gen/` from `proto/`; the Go part only where Go is."""
    session.install(*_RUNTIME, *_groups("generate"))
    session.run("python", "-m", "codegen", *session.posargs)


@nox.session
def gen_check(session: nox.Session) -> None:
    """Fail where `gen/` is not what `proto/` gives; the Go part is checked where Go is."""
    session.install(*_RUNTIME, *_groups("generate"))
    _gen_check(session)


def _gen_check(session: nox.Session) -> None:
    session.run("python", "-m", "codegen", "--check")


@nox.session
def typecheck(session: nox.Session) -> None:
    """Check types, strictly, of the library, its tests and its tools."""
    session.install(*_RUNTIME, *_groups("typecheck"))
    _typecheck(session)


def _typecheck(session: nox.Session) -> None:
    session.run("mypy")


@nox.session
def contract(session: nox.Session) -> None:
    """List the rules of docs/contract.md with the number of tests that prove each."""
    session.install(*_RUNTIME, *_groups("test", "oracle", "generate"))
    _contract(session)


def _contract(session: nox.Session) -> None:
    session.run("pytest", "--contract-report")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests that need no Go, the commands from an installed wheel; `-- PATH ...` chooses."""
    _install_project(session, "test", "oracle", "generate")
    _tests(session)


def _tests(session: nox.Session) -> None:
    session.run("python", "-I", "-c", _COMES_FROM_THE_WHEEL)
    session.run("pytest", "-m", "not go", "--numprocesses=auto", "--dist=worksteal", *session.posargs)


@nox.session
def interop(session: nox.Session) -> None:
    """Compare with Go's official protobuf; where CI is set, a missing Go is a failure."""
    if shutil.which("go") is None:
        if os.environ.get("CI"):
            session.error("Go is missing: it must be on PATH where CI is set")
        session.skip("Go is missing: the Go side of the wire is not compared")
    _install_project(session, "test", "oracle", "generate")
    session.run("python", "-m", "codegen", "--check", "go")
    for module in ("gen/go", "tests/interop/go"):
        session.run("go", "-C", module, "vet", "./...", external=True)
    session.run("pytest", "-m", "go", "tests/interop", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try to break the loader with thousands of made-up files, then for some seconds (`-- 120`) guided by coverage."""
    _install_project(session, "test", "fuzz")
    session.run("pytest", "--hypothesis-profile=fuzz", "tests/property/test_fuzz.py")
    seconds = session.posargs[0] if session.posargs else "120"
    session.run("python", "-m", "tests.fuzz.guided", seconds, session.create_tmp())


@nox.session
def soak(session: nox.Session) -> None:
    """Run the property tests with 1,000 examples each, 25 times as many as by default; `-- PATH ...` chooses."""
    _install_project(session, "test", "oracle")
    patience = ("-o", "faulthandler_timeout=0", "--numprocesses=auto", "--dist=worksteal")
    session.run("pytest", "--hypothesis-profile=soak", *patience, *(session.posargs or ["tests/property"]))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure loading, planning, dispatch and, where Go is, pushing, as ratios to a yardstick of the same run."""
    _install_project(session, "test", "oracle")
    for subject in ("load", "plan", "pool", "push") if shutil.which("go") else ("load", "plan", "pool"):
        session.run("python", "-m", f"bench.{subject}", *session.posargs)


def _install_project(session: nox.Session, *groups: str) -> None:
    """Install the project as its users do, from a wheel: anew each time, since its version does not change."""
    session.install(*_RUNTIME, *_groups(*groups))
    session.install("--force-reinstall", "--no-deps", ".")


def _last_release(session: nox.Session) -> str:
    tags = session.run("git", "tag", "--list", "v*", "--sort=-version:refname", external=True, silent=True)
    return str(tags or "").partition("\n")[0].strip()
