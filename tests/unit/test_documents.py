"""JSON documents come from the dataclasses, and so does their JSON Schema."""

import json

import jsonschema
import pytest

from iop_edge.documents import adapter, document, json_text
from iop_edge.errors import Report, Span, Violation
from tests.golden import samples

VALUES = [*samples.RESULTS.values(), *samples.ATTEMPTS, samples.TROUBLED]


@pytest.mark.contract("REF-06")
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_document_fits_the_json_schema_of_its_dataclass(value: object) -> None:
    kind: type = type(value)
    schema = adapter(kind).json_schema(mode="serialization")
    jsonschema.Draft202012Validator(schema).validate(json.loads(json_text(document(value))))
    assert "line" in json.dumps(schema) or kind not in {type(item) for item in samples.RESULTS.values()}


def test_field_is_left_out_on_demand_and_a_span_is_flat() -> None:
    report = Report((Violation("r", "p", Span("f", 1, 2), "m"),), total=1)
    assert document(report, without="excerpts") == {
        "violations": [{"rule": "r", "path": "p", "file": "f", "line": 1, "column": 2, "message": "m", "hint": ""}],
        "warnings": [],
        "total": 1,
    }


def test_name_that_is_not_utf_8_stays() -> None:
    assert document(Violation("r", "", Span("\udcff.yaml"), "m"))["file"] == "\udcff.yaml"
