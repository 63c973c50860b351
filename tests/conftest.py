"""Marks that name rules and cases, their listing, and the settings of property tests."""

import os

import hypothesis
import pytest

from tests import contract

# A slow machine is no failure, and CI tries the same examples each time: a new one is found at a desk.
hypothesis.settings.register_profile("desk", deadline=None, max_examples=40)
hypothesis.settings.register_profile("ci", deadline=None, max_examples=40, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=3_000, print_blob=True)
hypothesis.settings.register_profile(
    "soak", deadline=None, max_examples=1_000, stateful_step_count=100, print_blob=True
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "desk")

_ITEMS = pytest.StashKey[list[pytest.Item]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--contract-report", action="store_true", help="run nothing; list contract rules and the tests that prove them"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[_ITEMS] = list(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    return True if session.config.getoption("--contract-report") else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--contract-report"):
        return
    items = config.stash.get(_ITEMS, [])
    terminalreporter.section("contract rules and the tests that prove each")
    for line in contract.report(contract.rule_ids(), contract.proofs(items, "contract")):
        terminalreporter.write_line(line)
    terminalreporter.section("cases known from other tools and the tests that prove each")
    for case, count in sorted(contract.proofs(items, "case").items()):
        terminalreporter.write_line(f"{case:6}  {count:5d}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        # A machine at a desk may lack what a test needs; CI has everything, so that nothing goes unproved there.
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if not session.config.getoption("--contract-report"):
        return
    items = session.config.stash.get(_ITEMS, [])
    unknown = contract.proofs(items, "contract").keys() - set(contract.rule_ids())
    if unknown:
        pytest.exit(f"tests name rules that the contract does not have: {sorted(unknown)}", returncode=1)
