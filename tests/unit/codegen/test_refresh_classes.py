import pytest

from codegen import refresh_classes
from iop_edge.schema import table


def lines() -> dict[str, list[str]]:
    rows = [line.split("|") for line in refresh_classes.render().splitlines() if not line.startswith("#")]
    return {row[0].strip(): [column.strip() for column in row[1:]] for row in rows}


@pytest.mark.contract("REF-02")
def test_every_leaf_has_a_line_with_its_class() -> None:
    classes = {path: row[0] for path, row in lines().items()}
    expected = {leaf.pattern: leaf.field.refresh.value for leaf in table.leaves() if leaf.field.refresh}
    assert expected.items() <= classes.items()
    assert len(expected) == len(list(table.leaves()))


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("nodes[].providers[].capacity", ["live", "1", "", "gte 1"]),
        ("nodes[].token", ["restart", "", "sensitive", "format bearer_token"]),
        ("long_context_threshold_tokens", ["live", "100000", "", "gt 0"]),
        ("models[]", ["live", "", "", ""]),
        ("nodes[]", ["restart", "", "", ""]),
        ("openai.provider_auth.scheme", ["restart", "Bearer (when enabled)", "", "format auth_scheme"]),
        (
            "openai.principal_tokens[].token_hash_sha256",
            ["restart", "", "masked", "required, format sha256_hex, unique list"],
        ),
        ("logging.format", ["restart", "json", "", "one of json text"]),
    ],
)
def test_line_says_class_default_secrecy_and_constraints(path: str, row: list[str]) -> None:
    assert lines()[path] == row


def test_harmless_keys_of_a_sensitive_map_are_listed() -> None:
    assert "x-tenant" in lines()["nodes[].adapters[].headers[]"][2]
