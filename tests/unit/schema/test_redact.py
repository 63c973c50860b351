import pytest

from iop_edge.schema import table
from iop_edge.schema.redact import is_secret, redact_text, redact_tree, redact_value
from iop_edge.schema.values import REDACTED, Reference

NODE = table.message("Node")
ADAPTER = table.message("AdapterInstance")


@pytest.mark.parametrize(
    "url",
    [
        "https://user:pw@example.net/v1",
        "https://token@example.net/v1",
        "https://example.net/v1?api_key=abc",
        "https://example.net/v1?x=1&Access-Token=abc",
        "https://example.net/v1?api%5Fkey=abc",
        "https://example.net/v1?secret=",
        "https://example.net/v1?x=1;token=abc",
        "https://example.net/v1#access_token=abc",
        "https://example.net/v1?passphrase=abc",
        "http://u:pw@[broken",
        "http://u:p/w@example.net/v1",
        "http://u:p#w@example.net/v1",
        "http://[broken?key=abc",
        "https://example.net/v1#keyboard=x",
        "https://example.net/v1?sk-abc",
        "https://example.net/v1?hmac=abc",
        "https://example.net/v1?oauth=abc",
        "https://example.net/v1?otp=abc",
        "https://example.net/v1?pat=abc",
        "https://example.net/v1?page=2&made_up=abc",
    ],
)
@pytest.mark.contract("CFG-07")
def test_a_url_with_a_credential_in_it_is_a_secret(url: str) -> None:
    assert is_secret(ADAPTER.fields["base_url"], url)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.net/v1",
        "http://127.0.0.1:11434",
        "https://example.net/v1?page=2",
        "https://example.net/v1?api-version=2024-06-01&Region=x",
        "http://[broken",
        "http://example.net:99999/?page=2",
        "http://example.net/@scope/v1",
    ],
)
def test_a_url_without_a_credential_is_shown(url: str) -> None:
    assert redact_text(ADAPTER.fields["base_url"], url) == url


@pytest.mark.contract("CFG-07")
@pytest.mark.parametrize(
    ("header", "secret"),
    [("Authorization", True), ("X-Made-Up", True), ("X-Tenant", False), ("x-tenant", False), ("USER-AGENT", False)],
)
def test_a_header_is_a_secret_unless_its_name_is_known_to_be_harmless(header: str, secret: bool) -> None:
    assert is_secret(ADAPTER.fields["headers"], "value", header) is secret
    assert is_secret(table.message("Provider").fields["headers"], "value", header) is secret


@pytest.mark.contract("CFG-08")
@pytest.mark.case("A7")
def test_redaction_goes_by_field_and_leaves_alone_what_looks_like_the_secret() -> None:
    tree = {"id": "s3cr3t", "alias": "the s3cr3t node", "token": "s3cr3t"}
    assert redact_tree(NODE, tree) == {"id": "s3cr3t", "alias": "the s3cr3t node", "token": REDACTED}


@pytest.mark.contract("CFG-08")
def test_a_tree_is_redacted_at_every_depth() -> None:
    tree = {
        "nodes": [
            {
                "id": "n",
                "tls": {"ca": "PEM", "key": "s3cr3t"},
                "adapters": [{"name": "a", "headers": {"Authorization": "s3cr3t", "X-Tenant": "t"}}],
                "providers": [{"id": "p", "models": ["m"], "capacity": 2}],
            }
        ]
    }
    assert redact_tree(table.root(), tree) == {
        "nodes": [
            {
                "id": "n",
                "tls": {"ca": "PEM", "key": REDACTED},
                "adapters": [{"name": "a", "headers": {"Authorization": REDACTED, "X-Tenant": "t"}}],
                "providers": [{"id": "p", "models": ["m"], "capacity": 2}],
            }
        ]
    }


@pytest.mark.contract("CFG-08")
def test_a_referenced_value_is_shown_as_its_reference() -> None:
    assert redact_value(NODE.fields["token"], "s3cr3t", "", Reference("${env:TOKEN}")) == "${env:TOKEN}"


def test_no_value_of_any_sensitive_field_is_ever_shown() -> None:
    sensitive = [leaf.field for leaf in table.leaves() if leaf.field.sensitive]
    assert sensitive
    for field in sensitive:
        value = {"X-Unheard-Of": "s3cr3t"} if field.kind is table.Kind.MAP else "s3cr3t"
        assert "s3cr3t" not in repr(redact_value(field, value)), field.name
