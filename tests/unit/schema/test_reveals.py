"""Which texts with references in them may be shown, and which hold a secret themselves."""

import pytest

from iop_edge.schema import table
from iop_edge.schema.redact import redact_value, reveals
from iop_edge.schema.values import REDACTED, Reference

HEADERS = table.message("AdapterInstance").fields["headers"]
TOKEN = table.message("Node").fields["token"]
URL = table.message("AdapterInstance").fields["base_url"]
ALIAS = table.message("Node").fields["alias"]


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("field", "reference"),
    [
        (TOKEN, "${env:TOKEN}"),
        (TOKEN, "${env:TOKEN:-}"),
        (TOKEN, "${file:secrets/token}"),
        (HEADERS, "Bearer ${env:KEY}"),
        (HEADERS, "Basic ${env:USER}:${env:PASSWORD}"),
        (HEADERS, "Api-Key ${env:KEY}"),
        (HEADERS, "OAuth2 ${env:KEY}"),
        (URL, "${env:URL}"),
        (URL, "${env:URL:-http://127.0.0.1:8000}"),
        (URL, "http://${env:HOST}:8000/v1"),
        (URL, "http://${env:USER}:${env:PASSWORD}@h.test/v1"),
        (URL, "http://h.test/v1?api_key=${env:KEY}&v=1"),
        (URL, "http://h.test/v1?v=1&token=${env:KEY}"),
        (URL, "http://h.test/v1?v=1;token=${env:KEY};version=2"),
        (ALIAS, "any ${env:TEXT:-text} $${at all}"),
    ],
)
def test_a_reference_without_a_secret_is_shown_as_it_is_written(field: table.Field, reference: str) -> None:
    assert redact_value(field, "s3cr3t", "", Reference(reference)) == reference


@pytest.mark.contract("CFG-08")
@pytest.mark.parametrize(
    ("field", "reference"),
    [
        (TOKEN, "${env:TOKEN:-s3cr3t}"),
        (TOKEN, "s3cr$$3t"),
        (TOKEN, "s3cr3t-${env:TOKEN}"),
        (TOKEN, "${env:TOKEN}s3cr3t"),
        (HEADERS, "Bearer s3cr3t ${env:KEY}"),
        (HEADERS, "Bearer ${env:KEY:-s3cr3t}"),
        (HEADERS, "sk-l1ve-s3cr3t ${env:KEY}"),
        (HEADERS, "averylongwordthatmaywellbeakey ${env:KEY}"),
        (URL, "http://user:s3cr3t@${env:HOST}/v1"),
        (URL, "http://${env:USER}:s3cr3t@h.test/v1"),
        (URL, "http://${env:USER}@user:s3cr3t@h.test/v1"),
        (URL, "http://user:s3cr3t@h.test/v1/x=${env:X}"),
        (URL, "http://${env:USER:-u}:${env:PASSWORD:-s3cr3t}@h.test/v1"),
        (URL, "${env:URL:-http://user:s3cr3t@h.test}"),
        (URL, "http://h.test/v1?api_key=s3cr3t&x=${env:X}"),
        (URL, "http://h.test/v1?api_key=s3cr3t${env:X}"),
        (URL, "http://h.test/v1?x=${env:X};token=s3cr3t"),
        (URL, "http://h.test/${env:X}#token=s3cr3t"),
        (URL, "http://h.test/v1?api_key=${env:KEY:-s3cr3t}"),
    ],
)
def test_a_secret_beside_a_reference_or_as_its_default_is_not_shown(field: table.Field, reference: str) -> None:
    assert redact_value(field, "whatever", "", Reference(reference)) == REDACTED


@pytest.mark.contract("CFG-08")
def test_a_harmless_header_is_shown_whatever_is_in_it() -> None:
    assert not reveals(HEADERS, "team ${env:TEAM:-a}", "X-Tenant")
    assert reveals(HEADERS, "team ${env:TEAM:-a}", "X-Api-Key")
