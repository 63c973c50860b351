"""A tracked file holds no raw credential (CFG-07)."""

import pytest

from iop_edge.schema.redact import is_key_like
from tests.unit.config.loading import BASE, World, check, found, load, rules

ENV = {"A": "one", "B": "two"}

RAW = [
    ("token", "secret"),
    ("token", "${env:A:-secret}"),
    ("token", "${env:A:-}"),
    ("token", "x${env:A}"),
    ("token", "${env:A}x"),
    ("token", "Bearer x ${env:A}"),
    ("token", "s3cret9x ${env:A}"),
    ("token", "$$secret"),
    ("header Authorization", "Bearer secret"),
    ("header authorization", "secret"),
    ("header X-Api-Key", "secret"),
    ("header X-Api-Key", "${env:A}-secret"),
    ("url", "http://user:secret@h.test"),
    ("url", "http://user@h.test"),
    ("url", "http://user:${env:A}@h.test"),
    ("url", "http://h.test/?api_key=secret"),
    ("url", "http://h.test/?apiKey=x${env:A}"),
    ("url", "http://h.test/?a=1&sig=secret"),
    ("url", "http://${env:A:-u:secret}@h.test"),
]

REFERENCES = [
    ("token", "${env:A}"),
    ("token", "${file:f}"),
    ("token", "Bearer ${env:A}"),
    ("token", "Basic ${env:A}:${env:B}"),
    ("header Authorization", "Bearer ${env:A}"),
    ("header X-Tenant", "platform"),
    ("header x-tenant", "platform"),
    ("header user-agent", "iop ${env:A:-x}"),
    ("url", "http://${env:A}:${env:B}@h.test"),
    ("url", "http://h.test/?key=${env:A}"),
    ("url", "http://h.test/?api-version=modern"),
    ("url", "http://${env:GONE:-h.test}/v1"),
]


def config(field: str, value: str) -> str:
    """The small config with a value in one of its places."""
    if field == "token":
        return BASE.replace("- id: n\n", f"- id: n\n    token: '{value}'\n", 1)
    if field == "url":
        return BASE.replace("http://127.0.0.1:11434", value)
    header = field.removeprefix("header ")
    return BASE.replace("type: ollama, base_url", f"type: ollama, headers: {{{header}: '{value}'}}, base_url", 1)


@pytest.mark.contract("CFG-07")
@pytest.mark.parametrize(("field", "value"), RAW)
def test_raw_credential_in_a_tracked_file_is_an_error_that_does_not_show_it(field: str, value: str) -> None:
    report = check(config(field, value), world=World(ENV))
    assert "credential.tracked" in rules(report)
    assert "secret" not in repr(report)


@pytest.mark.contract("CFG-07")
@pytest.mark.parametrize(("field", "value"), RAW)
def test_private_overlay_may_hold_it(field: str, value: str) -> None:
    report = check(private=(config(field, value),), world=World(ENV))
    assert "credential.tracked" not in rules(report)


@pytest.mark.contract("CFG-07")
@pytest.mark.parametrize(("field", "value"), REFERENCES)
def test_reference_and_harmless_value_may_be_tracked(field: str, value: str) -> None:
    world = World(ENV, {("/dir1", "f"): "t"})
    assert rules(check(config(field, value), world=world)) == []


@pytest.mark.contract("CFG-07")
def test_credential_is_found_at_its_value_and_also_where_an_overlay_replaces_it() -> None:
    report = check(config("token", "secret"), private=("nodes: [{id: n, token: t}]",))
    assert found(report) == [("credential.tracked", "nodes[0].token", 4)]


@pytest.mark.contract("CFG-07")
@pytest.mark.parametrize("url", ["http://[::1", "http://[zz]/"])
def test_url_that_cannot_be_read_is_no_credential_but_for_what_may_be_one(url: str) -> None:
    assert rules(check(config("url", f"'{url}'"))) == ["value.url"]
    assert rules(check(config("url", f"'{url}?key=x'"))) == ["credential.tracked", "value.url"]


@pytest.mark.contract("CFG-07")
def test_credential_in_provider_first_fields_is_found() -> None:
    provider = "{id: q, type: vllm, category: api, base_url: 'http://h.test', headers: {Authorization: x}, models: [m]}"
    report = check(BASE.replace("models:\n", f"      - {provider}\nmodels:\n", 1))
    assert [(v.rule, v.path) for v in report.violations] == [
        ("credential.tracked", "nodes[0].providers[1].headers[Authorization]")
    ]


@pytest.mark.contract("CFG-08")
def test_loaded_secret_is_in_no_text_form() -> None:
    overlay = "nodes: [{id: n, token: hush-hush}]"
    snapshot = load(BASE, private=(overlay,))
    assert snapshot.tree["nodes"][0]["token"] == "hush-hush"
    shown = f"{snapshot!r} {snapshot} {snapshot.dump()} {snapshot.config!r} {snapshot.digest(b'k')}"
    assert "hush" not in shown


@pytest.mark.contract("CFG-07")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("key", True),
        ("api_key", True),
        ("apiKey", True),
        ("X-Goog-Signature", True),
        ("SIG", True),
        ("design", False),
        ("monkey", False),
        ("assignment", False),
        ("", False),
    ],
)
def test_parameter_name_is_like_a_key_by_whole_words(name: str, *, expected: bool) -> None:
    assert is_key_like(name) is expected
