from dataclasses import fields
from typing import Any

import betterproto2
import pytest

from iop_edge.client import convert
from iop_edge.client.convert import ConvertError, from_message, to_message, to_number, to_word
from iop_edge.client.status import NodeStatus, StatusSnapshot
from iop_edge.config.source import Source
from iop_edge.documents import document
from iop_edge.errors import Span, Violation
from iop_edge.ids import EdgeId, NodeId, ProviderId
from iop_edge.pool.errors import RefusalReason
from iop_edge.pool.explain import Candidate, DispatchExplanation, DispatchKind
from iop_edge.pool.status import Health, NodeConnection, ProviderState, ProviderStatus
from iop_edge.refresh.result import (
    Attempt,
    Change,
    ChangeKind,
    Mask,
    Mode,
    NodeOutcome,
    NodeReport,
    RefreshOptions,
    RefreshResult,
    Status,
    Trigger,
)
from iop_edge.schema import table
from iop_edge.schema.table import RefreshClass
from iop_pb.iop.admin import v1 as pb

CHANGES = (
    Change("models[a]", ChangeKind.ADDED, None, {"id": "a", "providers": [{"id": "p"}]}, RefreshClass.LIVE),
    Change("models[b]", ChangeKind.REMOVED, {"id": "b"}, None, RefreshClass.LIVE),
    Change("nodes[n].providers[p].capacity", ChangeKind.MODIFIED, 1, 2, RefreshClass.LIVE),
    Change("nodes[n].token", ChangeKind.MODIFIED, None, None, RefreshClass.RESTART),
)
WARNING = Violation("model.no_provider", "models[0]", Span("edge.yaml", 3, 5), "nobody serves it", "enable one")
RESULT = RefreshResult(
    status=Status.RESTART_REQUIRED,
    mode=Mode.APPLY,
    committed=True,
    revision_before=3,
    revision_after=4,
    candidate_hash="ab" * 32,
    changes=CHANGES,
    masks=(Mask("", live=("models",)), Mask("nodes[n]", restart=("token",))),
    changed_nodes=("n",),
    changed_providers=("p",),
    changed_models=("a", "b"),
    violations=(Violation("refresh.mode", "", None, "no such mode"),),
    warnings=(WARNING,),
    pending=CHANGES[3:],
    reports=(NodeReport("n", NodeOutcome.ROLLED_BACK, "it had taken it", 17),),
    violations_total=1234,
)
FREE = Candidate(
    ProviderId("p"), NodeId("n"), "m-7b", ProviderState.AVAILABLE, Health.HEALTHY, 1, 2, 0, 0, 100, 1, False, "a", None
)
BUSY = Candidate(
    ProviderId("q"), NodeId("n"), "m", ProviderState.BUSY, Health.UNKNOWN, 2, 2, 3, 4, 5, None, True, "b", 1
)
CHOSEN = DispatchExplanation("m", DispatchKind.MODEL, ProviderId("p"), candidates=(FREE, BUSY))
UNKNOWN = DispatchExplanation("x", refusal=RefusalReason.UNKNOWN, known_models=("m",), known_routes=("r",))
STATUS = StatusSnapshot(
    edge_id=EdgeId("edge-1"),
    revision=4,
    config_hash="cd" * 32,
    started_at_ms=1_700_000_000_000,
    drift=True,
    drift_error="edge.yaml: not found",
    pending=CHANGES[3:],
    nodes=(NodeStatus(NodeId("n"), "Rack 1", "127.0.0.1:7501", NodeConnection.DIVERGED, 17, 4, False, "refused"),),
    providers=(
        ProviderStatus(
            ProviderId("p"), NodeId("n"), ProviderState.BUSY, Health.HEALTHY, 2, 2, 5, 1, ("m", "n"), "answers 200"
        ),
    ),
    confirm_until_ms=1_700_000_060_000,
    reverts_to=3,
)
ATTEMPT = Attempt(
    1, "root", Trigger.ROLLBACK, Status.APPLIED, True, 3, 4, "aa", "bb", ("models[a]",), ("refresh.mode",), id=9
)
MESSAGES: dict[type, type[betterproto2.Message]] = {
    Attempt: pb.HistoryEntry,
    Candidate: pb.DispatchCandidate,
    Change: pb.Change,
    DispatchExplanation: pb.DispatchExplanation,
    Mask: pb.MessageMask,
    NodeReport: pb.NodeReport,
    NodeStatus: pb.NodeStatus,
    RefreshOptions: pb.RefreshOptions,
    ProviderStatus: pb.ProviderStatus,
    RefreshResult: pb.RefreshResult,
    Source: pb.ConfigLayer,
    StatusSnapshot: pb.StatusSnapshot,
    Violation: pb.Violation,
}
SAMPLES = (
    *(RESULT, RESULT.masks[0], RESULT.reports[0], CHANGES[0], WARNING, STATUS, STATUS.nodes[0], STATUS.providers[0]),
    *(ATTEMPT, CHOSEN, FREE, RefreshOptions(), Source("edge.yaml", b"")),
)
ENUMS = [
    (ChangeKind, pb.ChangeKind),
    (DispatchKind, pb.DispatchKind),
    (Health, pb.ProviderHealth),
    (Mode, pb.RefreshMode),
    (NodeConnection, pb.NodeConnection),
    (NodeOutcome, pb.NodeOutcome),
    (ProviderState, pb.ProviderState),
    (RefreshClass, pb.ChangeClass),
    (RefusalReason, pb.RefusalReason),
    (Status, pb.RefreshStatus),
]


@pytest.mark.parametrize(
    "value",
    [
        RESULT,
        RefreshResult(Status.APPLIED, Mode.DRY_RUN),
        STATUS,
        ATTEMPT,
        CHOSEN,
        DispatchExplanation("r", DispatchKind.ROUTE, queues=(ProviderId("q"),), candidates=(BUSY,)),
        UNKNOWN,
        RefreshOptions(),
        RefreshOptions(expected_revision=0),
        RefreshOptions(
            expected_revision=2**64 - 1, expected_candidate="ab", live_only=True, require_all=True, confirm_within_ms=9
        ),
        Source("edge.yaml", b"edge: {id: e}\n\xff", private=True, base_dir="/etc/iop-edge"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_survives_the_way_over_the_wire(value: Any) -> None:
    cls = MESSAGES[type(value)]
    received = cls.parse(bytes(to_message(cls, value)))
    assert from_message(type(value), received) == value


@pytest.mark.contract("REF-06")
def test_an_empty_result_arrives_with_every_list() -> None:
    received = from_message(
        RefreshResult,
        pb.RefreshResult.parse(bytes(to_message(pb.RefreshResult, RefreshResult(Status.APPLIED, Mode.APPLY)))),
    )
    lists = [getattr(received, field.name) for field in fields(received) if str(field.type).startswith("tuple")]
    assert lists
    assert all(value == () for value in lists)


@pytest.mark.parametrize("value", SAMPLES, ids=lambda value: type(value).__name__)
def test_every_field_of_a_message_is_written(value: Any) -> None:
    """A field that the proto gains is not left out in silence."""
    written = {name for name, _ in convert._parts(value)}
    assert written == set(table.message(MESSAGES[type(value)].__name__).fields)


@pytest.mark.parametrize(("words", "numbers"), ENUMS, ids=lambda cls: cls.__name__)
def test_words_and_numbers_match_but_for_the_unspecified(words: Any, numbers: type[betterproto2.Enum]) -> None:
    assert {to_number(numbers, word) for word in words} == set(numbers) - {numbers(0)}
    assert all(to_word(words, to_number(numbers, word)) is word for word in words)


@pytest.mark.parametrize("number", [0, 77])
def test_a_number_that_stands_for_no_word_is_refused(number: int) -> None:
    with pytest.raises(ConvertError, match="this version"):
        from_message(RefreshResult, pb.RefreshResult(status=pb.RefreshStatus(number), mode=pb.RefreshMode.APPLY))


def test_a_trigger_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConvertError, match="this version"):
        from_message(Attempt, pb.HistoryEntry(trigger="moon", status=pb.RefreshStatus.APPLIED))


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_a_value_that_is_no_json_is_refused(text: str) -> None:
    change = pb.Change(path="x", kind=pb.ChangeKind.ADDED, refresh_class=pb.ChangeClass.LIVE, after_json=text)
    with pytest.raises(ConvertError):
        from_message(Change, change)


def test_the_json_of_a_status_has_the_names_of_the_proto() -> None:
    shown = document(STATUS)
    assert set(shown) == set(table.message("StatusSnapshot").fields)
    assert set(shown["nodes"][0]) == set(table.message("NodeStatus").fields)
    assert set(shown["providers"][0]) == set(table.message("ProviderStatus").fields)
    assert shown["nodes"][0]["connection"] == "diverged"
    assert shown["pending"][0]["refresh_class"] == "restart"


def test_the_json_of_an_explanation_has_the_names_of_the_proto() -> None:
    shown = document(CHOSEN)
    assert set(shown) == set(table.message("DispatchExplanation").fields)
    assert set(shown["candidates"][0]) == set(table.message("DispatchCandidate").fields)
    assert [(item["status"], item["queue_timeout_ms"]) for item in shown["candidates"]] == [
        ("available", None),
        ("busy", 1),
    ]
    assert (shown["kind"], shown["refusal"]) == ("model", None)
    assert (document(UNKNOWN)["kind"], document(UNKNOWN)["refusal"]) == (None, "unknown")
