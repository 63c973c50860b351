"""The result of a refresh as a type and as JSON."""

import json

import pytest

from iop_edge.config.snapshot import Snapshot
from iop_edge.documents import document
from iop_edge.errors import Span, Violation
from iop_edge.refresh.plan import plan
from iop_edge.refresh.result import (
    Change,
    ChangeKind,
    Mask,
    Mode,
    NodeOutcome,
    NodeReport,
    RefreshResult,
    Status,
)
from iop_edge.schema.table import RefreshClass
from tests.trees import edge, node, provider

LISTS = (
    "changes",
    "masks",
    "changed_nodes",
    "changed_providers",
    "changed_models",
    "violations",
    "warnings",
    "pending",
    "reports",
)


def change(path: str) -> Change:
    return Change(path, ChangeKind.MODIFIED, 1, 2, RefreshClass.LIVE)


@pytest.mark.contract("REF-06")
@pytest.mark.contract("REF-09")
def test_a_result_without_anything_has_every_list_in_json_and_none_is_null() -> None:
    printed = document(RefreshResult(Status.APPLIED, Mode.DRY_RUN))

    assert {name: printed[name] for name in LISTS} == {name: [] for name in LISTS}
    assert None not in printed.values()


@pytest.mark.contract("REF-06")
def test_lists_are_sorted_whatever_order_they_come_in() -> None:
    result = RefreshResult(
        Status.APPLIED,
        Mode.APPLY,
        changes=(change("b"), change("a")),
        masks=(Mask("b"), Mask("a")),
        changed_nodes=("b", "a"),
        changed_providers=("b", "a"),
        changed_models=("b", "a"),
        pending=(change("b"), change("a")),
        reports=(NodeReport("b", NodeOutcome.COMMITTED), NodeReport("a", NodeOutcome.UNKNOWN)),
    )

    assert [item.path for item in result.changes] == ["a", "b"]
    assert [item.path for item in result.masks] == ["a", "b"]
    assert [item.path for item in result.pending] == ["a", "b"]
    assert [item.node_id for item in result.reports] == ["a", "b"]
    assert result.changed_nodes == result.changed_providers == result.changed_models == ("a", "b")


@pytest.mark.contract("REF-06")
def test_violations_keep_the_order_of_their_places() -> None:
    violations = (Violation("b", "x", Span("f", 1, 1), "m"), Violation("a", "x", Span("f", 2, 1), "m"))

    assert RefreshResult(Status.REJECTED, Mode.APPLY, violations=violations).violations == violations


@pytest.mark.contract("REF-06")
def test_json_has_numbers_as_numbers_and_enums_as_lower_case_words() -> None:
    result = RefreshResult(
        Status.RESTART_REQUIRED,
        Mode.DRY_RUN,
        revision_before=6,
        revision_after=6,
        candidate_hash="ab",
        changes=(Change("a", ChangeKind.ADDED, None, {"k": [1, True]}, RefreshClass.RESTART),),
        masks=(Mask("", live=("x",), restart=("y",)),),
        violations=(Violation("rule", "p", Span("f.yaml", 3, 4), "message", "hint"),),
        warnings=(Violation("rule", "p", None, "message"),),
        reports=(NodeReport("n", NodeOutcome.ROLLBACK_FAILED, "lost", 9),),
    )

    assert json.loads(json.dumps(document(result))) == {
        "status": "restart_required",
        "mode": "dry_run",
        "committed": False,
        "revision_before": 6,
        "revision_after": 6,
        "candidate_hash": "ab",
        "changes": [
            {"path": "a", "kind": "added", "before": None, "after": {"k": [1, True]}, "refresh_class": "restart"}
        ],
        "masks": [{"path": "", "live": ["x"], "restart": ["y"]}],
        "changed_nodes": [],
        "changed_providers": [],
        "changed_models": [],
        "violations": [
            {
                "rule": "rule",
                "path": "p",
                "file": "f.yaml",
                "line": 3,
                "column": 4,
                "message": "message",
                "hint": "hint",
            }
        ],
        "warnings": [
            {"rule": "rule", "path": "p", "file": "", "line": 0, "column": 0, "message": "message", "hint": ""}
        ],
        "pending": [],
        "reports": [{"node_id": "n", "outcome": "rollback_failed", "reason": "lost", "generation": 9}],
        "violations_total": 1,
    }


@pytest.mark.contract("REF-06")
@pytest.mark.parametrize("mode", Mode)
def test_a_plan_is_the_result_of_a_refresh_that_has_not_committed(mode: Mode) -> None:
    outcome = plan(Snapshot(edge(node("n", provider("p")))), Snapshot(edge(node("n", provider("p", capacity=2)))))

    result = outcome.result(mode)

    assert (result.status, result.mode, result.committed) == (Status.APPLIED, mode, False)
    assert (result.changes, result.masks, result.changed_nodes, result.changed_providers, result.changed_models) == (
        outcome.changes,
        outcome.masks,
        ("n",),
        ("p",),
        (),
    )
